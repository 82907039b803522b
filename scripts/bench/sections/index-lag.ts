import pg from "pg";
import { createPublicClient, http } from "viem";
import { getHead } from "../../../api/index/index.ts";
import type { Stack } from "../../local-stack/stack.ts";

type IndexLag = {
  /** Resolves once the newest block is in the index. */
  none: () => Promise<void>;
  stop: () => Promise<number[]>;
};

/** Waits until the index has every block: a backlog of what came before would take processor time from what is measured next. */
export async function indexCaughtUp(stack: Stack): Promise<void> {
  const lag = await watchIndexLag(stack);
  await lag.none();
  await lag.stop();
}

/**
 * Watches how long a block takes from the node to the index; ends with all lags seen, ms. Looks every `everyMs`: each look costs node and
 * database a request, which a load should not have to share them with.
 */
export async function watchIndexLag(stack: Stack, everyMs = 5): Promise<IndexLag> {
  const chain = createPublicClient({ transport: http(stack.info.rpc_url) });
  const database = new pg.Client({ connectionString: stack.info.database_url as string });
  await database.connect();
  const seen = new Map<number, number>();
  const lags: number[] = [];
  let newest = Number(await chain.getBlockNumber({ cacheTime: 0 }));
  let behind = Number.POSITIVE_INFINITY;
  let stopped = false;
  const run = async (): Promise<void> => {
    while (!stopped) {
      const head = Number(await chain.getBlockNumber({ cacheTime: 0 }));
      const now = performance.now();
      for (let block = newest + 1; block <= head; block++) seen.set(block, now);
      newest = Math.max(newest, head);
      const indexed = Number((await getHead(database))?.blockNumber ?? 0);
      behind = newest - indexed;
      for (const [block, at] of seen) {
        if (block > indexed) break;
        lags.push(performance.now() - at);
        seen.delete(block);
      }
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  };
  const running = run();
  return {
    none: async () => {
      while (behind > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    },
    stop: async () => {
      stopped = true;
      await running;
      await database.end();
      return lags;
    },
  };
}
