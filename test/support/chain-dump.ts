import { gunzipSync } from "node:zlib";
import type { Hex } from "viem";

/** The chain as it is now, in the form of the node's own state file. */
export async function dumpChain(rpcUrl: string): Promise<Buffer> {
  const response = await fetch(rpcUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "anvil_dumpState", params: [] }),
    signal: AbortSignal.timeout(60_000),
  });
  const { result } = (await response.json()) as { result: Hex };
  return gunzipSync(Buffer.from(result.slice(2), "hex"));
}
