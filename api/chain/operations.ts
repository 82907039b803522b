import { type Address, encodeFunctionData, type Hex, zeroHash } from "viem";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import type { FailureReason } from "../../protocol/job-status.ts";
import { type Assignment, type Authorization, type Completion, compactSignature } from "../../protocol/messages.ts";

export type OperationKind = "lock" | "lockAuthorized" | "acknowledge" | "complete" | "fail" | "refund" | "openDispute";

/** One call of the escrow on its way into a batch. */
export type Operation = {
  kind: OperationKind;
  jobId: Hex;
  data: Hex;
  /** Wall-clock time (ms) after which it is no use, or urgent: the queue serves the earliest first. */
  deadline: number;
};

/**
 * Static gas ceilings of one item, measured with cold slots and a plain token and rounded up. Never an estimate: an
 * estimate of a batch in which items are caught can starve them.
 */
export const GAS_CEILING: Record<OperationKind, bigint> = {
  lock: 120_000n,
  lockAuthorized: 140_000n,
  acknowledge: 100_000n,
  complete: 220_000n,
  fail: 70_000n,
  refund: 70_000n,
  openDispute: 130_000n,
};
/** Gas that must be left before each item (`ITEM_GAS` of the contract), plus what the batch itself needs. */
export const BATCH_RESERVE = 800_000n;

const encode = (functionName: string, args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi: inferenceEscrowAbi, functionName, args } as Parameters<typeof encodeFunctionData>[0]);

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
  const data = encode("lock", [wallet, model, jobId, maxTokens, maxCredits, validUntil]);
  return { kind: "lock", jobId, data, deadline: validUntil * 1000 };
}

/**
 * The same on the terms that the wallet's authorization key signed; void if mined at or after `expiresAt`. `wantedBy`: chain time until
 * which the client waits.
 */
export function lockAuthorizedOperation(authorization: Authorization, byKey: Hex, wantedBy: number): Operation {
  const data = encode("lockAuthorized", [authorization, compactSignature(byKey)]);
  return { kind: "lockAuthorized", jobId: authorization.jobId, data, deadline: wantedBy * 1000 };
}

const UNSIGNED = { r: zeroHash, vs: zeroHash };

/**
 * Relay a worker's acknowledgement of a job of ours. The contract does not look at the Assignment's signature when one of the operator's
 * keys calls, so `minedBefore` (chain time, seconds) can be later than the offer that the worker has.
 */
export function acknowledgeOperation(assignment: Assignment, byWorker: Hex, minedBefore: number): Operation {
  const { jobId, acknowledgeBy } = assignment;
  const relayed = { ...assignment, acknowledgeBy: minedBefore };
  const data = encode("acknowledge", [relayed, UNSIGNED, compactSignature(byWorker)]);
  return { kind: "acknowledge", jobId, data, deadline: acknowledgeBy * 1000 };
}

/** Settle an answered job. `deadline` is lockedAt + 150 s in ms. */
export function completeOperation(
  completion: Completion,
  signature: Hex,
  countedTokens: number,
  wallet: Address,
  deadline: number,
): Operation {
  const data = encode("complete", [completion, countedTokens, compactSignature(signature), wallet]);
  return { kind: "complete", jobId: completion.jobId, data, deadline };
}

/** End a job without a charge. */
export function failOperation(jobId: Hex, reason: FailureReason): Operation {
  return { kind: "fail", jobId, data: encode("fail", [jobId, reason]), deadline: Date.now() + 5_000 };
}

/** Return the escrow of a job that nobody completed. */
export function refundOperation(jobId: Hex): Operation {
  return { kind: "refund", jobId, data: encode("refund", [jobId]), deadline: Date.now() + 5_000 };
}

/**
 * Dispute a job of ours for its client. `byWorker`: the worker's signature as the contract takes it; null for a proven Completion, which
 * needs none. `deadline`: end of the contract's window in ms.
 */
export function openDisputeOperation(
  receivedHash: Hex,
  completion: Completion,
  byWorker: { r: Hex; vs: Hex } | null,
  deadline: number,
): Operation {
  const data = encode("openDispute", [receivedHash, completion, byWorker ?? UNSIGNED]);
  return { kind: "openDispute", jobId: completion.jobId, data, deadline };
}

/** Calldata of one batch. Always `execute`, also for one item: a failed item then says why in its own event. */
export function batchCalldata(operations: readonly Operation[]): Hex {
  return encodeFunctionData({
    abi: inferenceEscrowAbi,
    functionName: "execute",
    args: [operations.map((o) => o.data)],
  });
}

/** Gas limit of one batch. */
export function batchGas(operations: readonly Operation[]): bigint {
  return operations.reduce((sum, operation) => sum + GAS_CEILING[operation.kind], BATCH_RESERVE);
}
