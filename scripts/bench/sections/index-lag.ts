import pg from "pg";
import { createPublicClient, http } from "viem";
import { getHead } from "../../../api/index/index.ts";
import type { Stack } from "../../local-stack/stack.ts";

/** Watches how long a block takes from the node to the index; ends with all lags seen, ms. */
export async function watchIndexLag(stack: Stack): Promise<{ stop: () => Promise<number[]> }> {
  const chain = createPublicClient({ transport: http(stack.info.rpc_url) });
  const database = new pg.Client({ connectionString: stack.info.database_url as string });
  await database.connect();
  const seen = new Map<number, number>();
  const lags: number[] = [];
  let newest = Number(await chain.getBlockNumber({ cacheTime: 0 }));
  let stopped = false;
  const run = async (): Promise<void> => {
    while (!stopped) {
      const head = Number(await chain.getBlockNumber({ cacheTime: 0 }));
      const now = performance.now();
      for (let block = newest + 1; block <= head; block++) seen.set(block, now);
      newest = Math.max(newest, head);
      const indexed = Number((await getHead(database))?.blockNumber ?? 0);
      for (const [block, at] of seen) {
        if (block > indexed) break;
        lags.push(performance.now() - at);
        seen.delete(block);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const running = run();
  return {
    stop: async () => {
      stopped = true;
      await running;
      await database.end();
      return lags;
    },
  };
}
