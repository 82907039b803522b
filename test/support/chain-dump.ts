import { gunzipSync } from "node:zlib";
import { createTestClient, http } from "viem";

/** The chain as it is now, in the form of the node's own state file. */
export async function dumpChain(rpcUrl: string): Promise<Buffer> {
  // The dump of a long chain can take more than viem's ten seconds, and more than its 10 MiB.
  const node = createTestClient({
    mode: "anvil",
    transport: http(rpcUrl, { timeout: 60_000, maxResponseBodySize: false }),
  });
  return gunzipSync(Buffer.from((await node.dumpState()).slice(2), "hex"));
}
