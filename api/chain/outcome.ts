import { type Hex, hexToNumber } from "viem";
import { type DecodedEvent, type DecodedRevert, decodeProtocolEvent, decodeRevert } from "../../protocol/events.ts";
import { type AccountWord, decodeAccountWord } from "../../protocol/words.ts";
import type { RawReceipt } from "./rpc.ts";

/** What became of one operation. An outcome is known or it is not: there is no "probably failed". */
export type Outcome =
  | { status: "mined"; hash: Hex; blockNumber: number; blockTime: number; events: PlacedEvent[] }
  | { status: "reverted"; hash: Hex; blockNumber: number; revert: DecodedRevert };

/** An event with its place on chain, comparable across blocks. */
export type PlacedEvent = DecodedEvent & { position: number };

/** Position of a log on chain as one number: block × 10^6 + log index. */
export function logPosition(blockNumber: number, logIndex: number): number {
  return blockNumber * 1_000_000 + logIndex;
}

/** Position of a block's end: every log of it is before. */
export function endOfBlock(blockNumber: number): number {
  return logPosition(blockNumber + 1, 0) - 1;
}

/** A mined batch: its place and its signer's nonce, every event by job, every failed item by index. */
export type MinedBatch = {
  hash: Hex;
  nonce: number;
  blockNumber: number;
  blockHash: Hex;
  blockTime: number | null;
  success: boolean;
  eventsByJob: Map<Hex, PlacedEvent[]>;
  failures: Map<number, DecodedRevert>;
};

/** Reads a receipt of `execute`, a transaction of this nonce. `blockTime` is null where the node's logs carry no time. */
export function readReceipt(receipt: RawReceipt, nonce: number): MinedBatch {
  const blockNumber = hexToNumber(receipt.blockNumber);
  const eventsByJob = new Map<Hex, PlacedEvent[]>();
  const failures = new Map<number, DecodedRevert>();
  let blockTime: number | null = null;
  for (const log of receipt.logs) {
    if (log.blockTimestamp) blockTime = hexToNumber(log.blockTimestamp);
    const event = decodeProtocolEvent(log as { topics: Hex[]; data: Hex });
    if (event === null) continue;
    if (event.name === "BatchItemFailed") {
      failures.set(Number(event.args.index), decodeRevert(event.args.reason as Hex));
      continue;
    }
    const jobId = event.args.jobId as Hex | undefined;
    if (jobId === undefined) continue;
    const placed = { ...event, position: logPosition(blockNumber, hexToNumber(log.logIndex ?? "0x0")) };
    const events = eventsByJob.get(jobId);
    if (events) events.push(placed);
    else eventsByJob.set(jobId, [placed]);
  }
  const success = receipt.status === "0x1";
  const { transactionHash: hash, blockHash } = receipt;
  return { hash, nonce, blockNumber, blockHash, blockTime, success, eventsByJob, failures };
}

/** The event of that name in a mined outcome. */
export function eventOf(outcome: Outcome, name: string): PlacedEvent | undefined {
  return outcome.status === "mined" ? outcome.events.find((event) => event.name === name) : undefined;
}

/** The account of a job's wallet after an event: the whole of it where the event has its word, else the two balances; null without any. */
export function accountIn({ name, args }: DecodedEvent): AccountWord | Pick<AccountWord, "free" | "escrowed"> | null {
  if (name === "JobLocked" || name === "JobSettled") return decodeAccountWord(args.account as bigint);
  const { free, escrowed } = args;
  return typeof free === "number" && typeof escrowed === "number" ? { free, escrowed } : null;
}
