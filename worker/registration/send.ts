import { BaseError, createWalletClient, type Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { decodeRevert } from "../../protocol/events.ts";
import { nodeTransport } from "../../protocol/node-url.ts";
import { receiptOf } from "../../protocol/receipt.ts";
import type { Chain } from "../chain/connect.ts";
import { ConfigError } from "../errors.ts";
import type { Step } from "./steps.ts";

/** Sends the owner's transactions one after the other and waits for each. Throws a ConfigError that says which one failed and why. */
export async function sendSteps(chain: Chain, ownerKey: Hex, steps: readonly Step[], say: (text: string) => void) {
  const { client, rpcUrl } = chain;
  const account = privateKeyToAccount(ownerKey);
  const wallet = createWalletClient({ account, chain: client.chain, transport: nodeTransport(rpcUrl) });
  for (const { what, to, data } of steps) {
    let hash: Hex;
    try {
      hash = await wallet.sendTransaction({ to, data, chain: client.chain ?? null });
    } catch (error) {
      throw new ConfigError(`cannot ${what}: ${reasonOf(error)}`);
    }
    const receipt = await receiptOf(client, hash);
    if (receipt.status !== "success") throw new ConfigError(`cannot ${what}: transaction ${hash} reverted`);
    say(`done: ${what} (${hash})`);
  }
}

/** The contract's error by name, or the node's own words. */
function reasonOf(error: unknown): string {
  if (!(error instanceof BaseError)) return error instanceof Error ? error.message : String(error);
  const found = error.walk((cause) => typeof (cause as { data?: unknown }).data === "string");
  const data = (found as { data?: Hex } | null)?.data;
  const revert = data !== undefined && data.length >= 10 ? decodeRevert(data) : null;
  if (revert !== null && revert.name !== "Unknown") return `${revert.name}(${revert.args.map(String).join(", ")})`;
  return error.shortMessage;
}
