import { getHead } from "../../api/db/index-reads.ts";
import { rpc } from "../../scripts/dev/chain.ts";
import { eventually, type KnownStack } from "./api-client.ts";
import { openStore } from "./client.ts";

/** Waits until the index has every block that the chain has now. Blocks that come meanwhile are not waited for. */
export async function untilIndexed(stack: KnownStack): Promise<void> {
  const head = Number(await rpc<string>(stack.info.rpc_url, "eth_blockNumber"));
  const store = openStore(stack);
  try {
    await eventually(
      async () => (await getHead(store))?.blockNumber ?? -1,
      (block) => block >= head,
    );
  } finally {
    await store.end();
  }
}
