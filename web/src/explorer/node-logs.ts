/** Reads of the visitor's own node that the explorer's pages make, in small steps: this service is not asked. */
import type { Address, Hex } from "viem";
import type { ChainLog } from "../../contract.ts";
import { app } from "../data/app.ts";

const ANSWER_MS = 10_000;

/** One question to a node; rejects with its own words. */
export async function askNode<T>(url: string, method: string, params: readonly unknown[]): Promise<T> {
  const signal = AbortSignal.timeout(ANSWER_MS);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body, signal }).catch(() => {
    throw new Error(
      signal.aborted ? `The node has not answered for ${ANSWER_MS / 1_000} seconds.` : "The node cannot be reached.",
    );
  });
  const answer = (await response.json().catch(() => null)) as { result?: T; error?: { message?: string } } | null;
  if (answer === null) throw new Error(`The node answered with status ${response.status}.`);
  if (answer.error !== undefined) throw new Error(`The node refused: ${answer.error.message ?? "without a reason"}`);
  return answer.result as T;
}

/** A log with the place of its transaction. */
export type PlacedLog = ChainLog & { block: number; tx: Hex };

type RawLog = { address: Address; topics: Hex[]; data: Hex; logIndex: Hex; blockNumber: Hex; transactionHash: Hex };

export type LogFilter = { address: Address | readonly Address[]; topics?: readonly (Hex | readonly Hex[] | null)[] };

/** Blocks of one question, as many as public nodes answer, and questions of one step. */
const BLOCKS = 5_000;
const STEPS = 8;
const ENOUGH = 25;

/** Logs that match one of the filters, newest first. `next`: the block to go on below, null where the contracts began. */
type LogPage = { logs: PlacedLog[]; from: number; next: number | null };

/** Reads backwards from a block, or from the newest one, until there are enough logs or the step is over. */
export async function logsBefore(url: string, filters: readonly LogFilter[], before: number | null): Promise<LogPage> {
  let end = before ?? Number(await askNode<Hex>(url, "eth_blockNumber", []));
  const logs: PlacedLog[] = [];
  for (let step = 0; step < STEPS && logs.length < ENOUGH && end >= app.start_block; step++) {
    const begin = Math.max(app.start_block, end - BLOCKS + 1);
    const range = { fromBlock: hex(begin), toBlock: hex(end) };
    const found = await Promise.all(
      filters.map((one) => askNode<RawLog[]>(url, "eth_getLogs", [{ ...one, ...range }])),
    );
    logs.push(...placed(found.flat()));
    end = begin - 1;
  }
  return { logs, from: end + 1, next: end >= app.start_block ? end : null };
}

const hex = (value: number): Hex => `0x${value.toString(16)}`;

/** Each log once, newest first. */
function placed(found: readonly RawLog[]): PlacedLog[] {
  const logs = found.map(({ logIndex, blockNumber, transactionHash, address, topics, data }) => ({
    address,
    topics,
    data,
    log_index: Number(logIndex),
    block: Number(blockNumber),
    tx: transactionHash,
  }));
  const each = new Map(logs.map((log) => [`${log.block} ${log.log_index}`, log]));
  return [...each.values()].sort((a, b) => b.block - a.block || b.log_index - a.log_index);
}
