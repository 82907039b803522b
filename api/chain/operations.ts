/** The calls of the escrow, one for each step of a job, and the outcome of each in a mined batch. */
import { type Address, type Hex, hexToNumber, isHex, zeroHash } from "viem";
import { escrowCall } from "../../protocol/calls.ts";
import { type SignedDelivery, withDelivery } from "../../protocol/delivery.ts";
import { type DecodedEvent, type DecodedRevert, decodeProtocolEvent, decodeRevert } from "../../protocol/events.ts";
import { chainPosition } from "../../protocol/index-schema.ts";
import type { FailureReason } from "../../protocol/job-status.ts";
import { type Assignment, type Authorization, type Completion, compactSignature } from "../../protocol/messages.ts";
import { type AccountWord, decodeAccountWord } from "../../protocol/words.ts";
import type { RawReceipt } from "./rpc.ts";

export type OperationKind =
  | "lock"
  | "lockAuthorized"
  | "acknowledge"
  | "complete"
  | "finalize"
  | "fail"
  | "refund"
  | "openDispute"
  | "proveEquivocation"
  | "expire"
  | "collectDebt";

/** One call of the escrow on its way into a batch. */
export type Operation = {
  kind: OperationKind;
  jobId: Hex;
  data: Hex;
  /** Wall-clock time (ms) after which it is no use, or urgent: the queue serves the earliest first. */
  deadline: number;
};

/**
 * Static gas ceilings of one item, measured with cold slots and a plain token, rounded up. Never an estimate: the items of a batch are
 * caught one by one, and an estimate can starve them.
 */
export const GAS_CEILING: Record<OperationKind, bigint> = {
  lock: 120_000n,
  lockAuthorized: 140_000n,
  acknowledge: 100_000n,
  complete: 220_000n,
  finalize: 220_000n,
  fail: 70_000n,
  refund: 70_000n,
  openDispute: 130_000n,
  proveEquivocation: 260_000n,
  expire: 220_000n,
  collectDebt: 220_000n,
};
/** Gas that must be left before each item (`ITEM_GAS` of the contract), plus what the batch itself needs. */
export const BATCH_RESERVE = 800_000n;

/** Lock the price of `maxTokens` output tokens; void if mined at or after `validUntil` (chain time, seconds). */
export function lockOperation(lock: {
  jobId: Hex;
  wallet: Address;
  model: number;
  maxTokens: number;
  maxCredits: number;
  validUntil: number;
}): Operation {
  const { jobId, wallet, model, maxTokens, maxCredits, validUntil } = lock;
  const data = escrowCall("lock", [wallet, model, jobId, maxTokens, maxCredits, validUntil]);
  return { kind: "lock", jobId, data, deadline: validUntil * 1000 };
}

/**
 * The same on the terms that the wallet's authorization key signed; void if mined at or after `expiresAt`. `wantedBy`: chain time until
 * which the client waits.
 */
export function lockAuthorizedOperation(authorization: Authorization, byKey: Hex, wantedBy: number): Operation {
  const data = escrowCall("lockAuthorized", [authorization, compactSignature(byKey)]);
  return { kind: "lockAuthorized", jobId: authorization.jobId, data, deadline: wantedBy * 1000 };
}

const UNSIGNED = { r: zeroHash, vs: zeroHash };

/**
 * Relay a worker's acknowledgement of a job of ours. The contract does not check the Assignment's signature when a key
 * of the operator calls. So `minedBefore` (chain time, seconds) may be later than in the worker's offer.
 */
export function acknowledgeOperation(assignment: Assignment, byWorker: Hex, minedBefore: number): Operation {
  const { jobId, acknowledgeBy } = assignment;
  const relayed = { ...assignment, acknowledgeBy: minedBefore };
  const data = escrowCall("acknowledge", [relayed, UNSIGNED, compactSignature(byWorker)]);
  return { kind: "acknowledge", jobId, data, deadline: acknowledgeBy * 1000 };
}

/** Settle an answered job. `deadline`: from when on the contract refuses it, in ms. */
export function completeOperation(
  settlement: { completion: Completion; signature: Hex; countedTokens: number; wallet: Address },
  deadline: number,
): Operation {
  const { completion, signature, countedTokens, wallet } = settlement;
  const data = escrowCall("complete", [completion, countedTokens, compactSignature(signature), wallet]);
  return { kind: "complete", jobId: completion.jobId, data, deadline };
}

/** Charge a job for the answer that its worker proved, once nobody can dispute it any more. Anyone may. */
export function finalizeOperation(completion: Completion): Operation {
  const data = escrowCall("finalize", [completion]);
  return { kind: "finalize", jobId: completion.jobId, data, deadline: Date.now() + 5_000 };
}

/** End a job without a charge. */
export function failOperation(jobId: Hex, reason: FailureReason): Operation {
  return { kind: "fail", jobId, data: escrowCall("fail", [jobId, reason]), deadline: Date.now() + 5_000 };
}

/** Return the escrow of a job that nobody completed. */
export function refundOperation(jobId: Hex): Operation {
  return { kind: "refund", jobId, data: escrowCall("refund", [jobId]), deadline: Date.now() + 5_000 };
}

/**
 * Dispute a job of ours for its client. `byWorker`: the worker's signature as the contract takes it; null for a proven Completion, which
 * needs none. `delivery`: what we sent; null if that is not known. `deadline`: end of the contract's window in ms.
 */
export function openDisputeOperation(
  receivedHash: Hex,
  { completion, byWorker }: { completion: Completion; byWorker: { r: Hex; vs: Hex } | null },
  delivery: SignedDelivery | null,
  deadline: number,
): Operation {
  const call = escrowCall("openDispute", [receivedHash, completion, byWorker ?? UNSIGNED]);
  const data = delivery === null ? call : withDelivery(call, delivery);
  return { kind: "openDispute", jobId: completion.jobId, data, deadline };
}

/** Show that a worker signed another answer of a job than the one that it proved: it is slashed, and the escrow returns. Anyone may. */
export function proveEquivocationOperation(
  signed: { completion: Completion; signature: Hex },
  proven: Completion,
): Operation {
  const { completion, signature } = signed;
  // The proven one is on record: its signature is not looked at.
  const data = escrowCall("proveEquivocation", [completion, compactSignature(signature), proven, UNSIGNED]);
  return { kind: "proveEquivocation", jobId: completion.jobId, data, deadline: Date.now() + 60_000 };
}

/** End a dispute on which nobody ruled in time. Anyone may. */
export function expireOperation(jobId: Hex): Operation {
  return { kind: "expire", jobId, data: escrowCall("expire", [jobId]), deadline: Date.now() + 60_000 };
}

/** Have the treasury pay what it owes for a job after a ruling. Anyone may. */
export function collectDebtOperation(jobId: Hex): Operation {
  return { kind: "collectDebt", jobId, data: escrowCall("collectDebt", [jobId]), deadline: Date.now() + 60_000 };
}

/** Calldata of one batch. Always `execute`, also for one item: a failed item then says why in its own event. */
export function batchCalldata(operations: readonly Operation[]): Hex {
  return escrowCall("execute", [operations.map((o) => o.data)]);
}

/** Gas limit of one batch. */
export function batchGas(operations: readonly Operation[]): bigint {
  return operations.reduce((sum, operation) => sum + GAS_CEILING[operation.kind], BATCH_RESERVE);
}

/** The transaction and block in which an operation succeeded, and its events there. */
type Success = { hash: Hex; blockNumber: number; blockTime: number; events: PlacedEvent[] };

/** The outcome of one operation. It is known or not: there is no "probably failed". */
export type Outcome =
  | ({ status: "mined" } & Success)
  | { status: "reverted"; hash: Hex; blockNumber: number; revert: DecodedRevert };

/** An operation succeeds in the block that the sequencer is building. It can still vanish from there. */
export type Promised = { status: "promised" } & Success;

/** The operation did not leave this process: nothing happened on chain, nothing will. */
export class NotSent extends Error {
  constructor(reason: string, cause?: unknown) {
    super(`the operation was not sent: ${reason}`, { cause });
    this.name = "NotSent";
  }
}

/**
 * A submitted operation. `signed`: hash of the transaction it is to leave in, before that is recorded. `mined`: its outcome. `promised`: that the
 * sequencer promises its success, or its outcome if that is known before. All reject only with NotSent.
 */
export type Submission = { signed: Promise<Hex>; promised: Promise<Promised | Outcome>; mined: Promise<Outcome> };

/** An event with its place on chain, comparable across blocks. */
export type PlacedEvent = DecodedEvent & { position: number };

/** Position of a block's end: every log of it is before. */
export function endOfBlock(blockNumber: number): number {
  return chainPosition(blockNumber + 1, 0) - 1;
}

/** A mined batch: its place, every event by job, every failed item by index. */
export type MinedBatch = {
  hash: Hex;
  blockNumber: number;
  blockHash: Hex;
  /** Unix seconds. */
  blockTime: number;
  /** The fee that the transaction cost, wei; a rollup's part for its data included. */
  fee: bigint;
  success: boolean;
  eventsByJob: Map<Hex, PlacedEvent[]>;
  failures: Map<number, DecodedRevert>;
};

/** Reads a receipt of `execute` in a block of this time. */
export function readReceipt(receipt: RawReceipt, blockTime: number): MinedBatch {
  const blockNumber = hexToNumber(receipt.blockNumber);
  const eventsByJob = new Map<Hex, PlacedEvent[]>();
  const failures = new Map<number, DecodedRevert>();
  for (const log of receipt.logs) {
    const event = decodeProtocolEvent(log as { topics: Hex[]; data: Hex });
    if (event === null) continue;
    if (event.name === "BatchItemFailed") {
      failures.set(Number(event.args.index), decodeRevert(event.args.reason as Hex));
      continue;
    }
    const jobId = event.args.jobId as Hex | undefined;
    if (jobId === undefined) continue;
    const placed = { ...event, position: chainPosition(blockNumber, hexToNumber(log.logIndex ?? "0x0")) };
    const events = eventsByJob.get(jobId);
    if (events) events.push(placed);
    else eventsByJob.set(jobId, [placed]);
  }
  const success = receipt.status === "0x1";
  const { transactionHash: hash, blockHash } = receipt;
  const fee = feeOf(receipt);
  return { hash, blockNumber, blockHash, blockTime, fee, success, eventsByJob, failures };
}

export const isLock = ({ kind }: Operation): boolean => kind === "lock" || kind === "lockAuthorized";

/** Operations that the contract refuses after their deadline. */
export const HAS_DEADLINE: ReadonlySet<OperationKind> = new Set(["lock", "lockAuthorized", "complete", "openDispute"]);

/** Operations that the contract takes a second time without effect and without an event. */
const MAY_BE_SILENT: ReadonlySet<OperationKind> = new Set(["acknowledge", "complete", "finalize"]);

/**
 * Says if a receipt lacks the logs of its batch, as some nodes' receipts do for a while. A batch that succeeded leaves an event of each
 * operation or of its failure; `perhaps`: its operations may all have been repetitions, which leave none.
 */
export function lacksLogs({ status, logs }: RawReceipt, operations: readonly Operation[]): "no" | "perhaps" | "yes" {
  if (status !== "0x1" || logs.length > 0 || operations.length === 0) return "no";
  return operations.every(({ kind }) => MAY_BE_SILENT.has(kind)) ? "perhaps" : "yes";
}

/** The fee of a transaction, wei. It is only shown and counted: a field that a node leaves out counts as 0. */
export function feeOf({ gasUsed, effectiveGasPrice, l1Fee }: RawReceipt): bigint {
  const number = (hex: unknown): bigint => (isHex(hex) && hex !== "0x" ? BigInt(hex) : 0n);
  return number(gasUsed) * number(effectiveGasPrice) + number(l1Fee);
}

/** The event of that name in a mined or promised outcome. */
export function eventOf(outcome: Outcome | Promised, name: string): PlacedEvent | undefined {
  return outcome.status === "reverted" ? undefined : outcome.events.find((event) => event.name === name);
}

/** The account of a job's wallet after an event: the whole of it where the event has its word, else the two balances; null without any. */
export function accountIn({ name, args }: DecodedEvent): AccountWord | Pick<AccountWord, "free" | "escrowed"> | null {
  if (name === "JobLocked" || name === "JobSettled") return decodeAccountWord(args.account as bigint);
  const { free, escrowed } = args;
  return typeof free === "number" && typeof escrowed === "number" ? { free, escrowed } : null;
}
