import { type Client, createClient } from "viem";
import { nodeTransport } from "../../../shared/node-transport.ts";
import { chainIdOf } from "../../../verify/chain.ts";
import { app } from "../data/app.ts";
import { unlessSilent } from "./silence.ts";

/** Asks the visitor's node; rejects if it is a node of another chain. Calls that `ask` makes at the same time are one request. */
export async function askNode<T>(node: string, ask: (client: Client) => Promise<T>): Promise<T> {
  const client = createClient({ transport: nodeTransport(node, { batch: true, retryCount: 2, timeout: 20_000 }) });
  const answer = ask(client);
  // A wrong chain is said before what follows from it.
  answer.catch(() => undefined);
  const chainId = await unlessSilent(node, chainIdOf(client, node));
  if (chainId !== app.chain_id) throw new Error(`The node is of chain ${chainId}, and not of chain ${app.chain_id}.`);
  return await answer;
}
