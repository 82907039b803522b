/** Reads logs from the visitor's own node, newest first and in small steps: this service is not asked. */
import type { Hex } from "viem";
import { getBlockNumber } from "viem/actions";
import { type LogFilter, LogReader } from "../../../verify/chain.ts";
import type { ChainLog as AuditedLog } from "../../../verify/events.ts";
import type { ChainLog } from "../../contract.ts";
import { app } from "../data/app.ts";
import { askNode } from "./ask-node.ts";

/** A log with the place of its transaction. */
export type PlacedLog = ChainLog & { block: number; tx: Hex };

/** Blocks of a step's first range, of which a busy contract fills many; each range is ten times as long as the one before it. */
const FIRST_BLOCKS = 50;
const MOST_BLOCKS = 5_000;
/** Ranges of one step. */
const RANGES = 8;
/** With so many logs a step is over, at the end of a block. */
const ENOUGH = 25;

/** `from`: the oldest block that was read. `next`: the block to go on with, null where the contracts began. */
type LogPage = { logs: PlacedLog[]; from: number; next: number | null };

/** Reads logs that match one of the filters backwards from a block, or from the newest one, until there are enough or the step is over. */
export const logsBefore = (node: string, filters: readonly LogFilter[], before: number | null): Promise<LogPage> =>
  askNode(node, async (client) => {
    const reader = new LogReader(client, BigInt(MOST_BLOCKS));
    const logs: PlacedLog[] = [];
    let end = before ?? Number(await getBlockNumber(client));
    let blocks = FIRST_BLOCKS;
    for (let range = 0; range < RANGES && logs.length < ENOUGH && end >= app.start_block; range++) {
      const begin = Math.max(app.start_block, end - blocks + 1);
      const found = await Promise.all(filters.map((one) => reader.read(one, BigInt(begin), BigInt(end))));
      logs.push(...newestFirst(found.flat()));
      end = begin - 1;
      blocks = Math.min(blocks * 10, MOST_BLOCKS);
    }
    const from = logs[ENOUGH - 1]?.block ?? end + 1;
    return {
      logs: logs.filter(({ block }) => block >= from),
      from,
      next: from > app.start_block ? from - 1 : null,
    };
  });

/** Each log once: it can match several filters. */
function newestFirst(found: readonly AuditedLog[]): PlacedLog[] {
  const logs = found.map(({ logIndex, blockNumber, transactionHash, address, topics, data }) => ({
    address,
    topics: [...topics],
    data,
    log_index: logIndex,
    block: Number(blockNumber),
    tx: transactionHash,
  }));
  const each = new Map(logs.map((log) => [`${log.block} ${log.log_index}`, log]));
  return [...each.values()].sort((a, b) => b.block - a.block || b.log_index - a.log_index);
}
