import { rpc } from "../../scripts/dev/chain.ts";
import { freePorts } from "../../scripts/dev/ports.ts";
import { behindSequencer } from "../../scripts/dev/sequencer.ts";
import { type Repeated, repeat } from "../../shared/repeat.ts";
import { chainReader } from "./chain-reader.ts";
import { Client, openStore } from "./client.ts";
import { startTestStack, type TestStackOptions } from "./stack.ts";

/** Between two blocks. */
export const BLOCK_SECONDS = 2;
/** Of the client. */
export const CREDITS = 10_000;

export type PromisedStack = Awaited<ReturnType<typeof startPromisedStack>>;
type Options = Required<Pick<TestStackOptions, "workers" | "env">> & Pick<TestStackOptions, "gatewayKeys">;

/**
 * Starts a stack whose gateways and workers begin jobs on the promises of a sequencer, the stand-in of scripts/dev/sequencer.ts. The test makes the
 * blocks, one by `mine` or all by `mineBlocks`: what happens before one happens without it.
 */
export async function startPromisedStack(given: Options) {
  const plain = { ...given, ports: await freePorts(given.workers.length) };
  const { options, sequencer } = await behindSequencer(plain, BLOCK_SECONDS);
  const stack = await startTestStack(options);
  const store = openStore(stack);
  const client = await Client.funded(stack, store, CREDITS);
  await rpc(stack.info.rpc_url, "evm_setAutomine", [false]);
  const mine = () => rpc(stack.info.rpc_url, "evm_mine");
  let mining: Repeated | undefined;
  const mineBlocks = (): void => {
    mining = repeat(() => mine().catch(() => {}), BLOCK_SECONDS * 1_000);
  };
  const stopMining = async (): Promise<void> => await mining?.stop();
  const remove = async (): Promise<void> => {
    await store.end();
    await stack.remove();
    await sequencer.close();
  };
  return { sequencer, stack, store, chain: chainReader(stack), client, mine, mineBlocks, stopMining, remove };
}
