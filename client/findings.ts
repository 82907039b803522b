/** The client's messages to its user: findings as they come, and one report a job. */
import type { Hex } from "viem";
import type { Check } from "../verify/checks.ts";

/**
 * Stable names of findings. Those that `verify` has too mean the same there.
 *
 * - `reply.*`, `headers.*`: what the service sent contradicts itself, the request or the chain.
 * - `proof.*`: the answer is not what its worker signed, or not what was paid for.
 * - `lock.*`, `settlement.*`: what the chain took from the wallet is not what the request allows.
 * - `dispute.*`: what was done about it, or could not be done.
 * - `chain.*`: the chain could not be looked at.
 */
export type FindingId =
  | "reply.form"
  | "reply.job"
  | "reply.names"
  | "reply.complete"
  | "reply.statement"
  | "reply.usage"
  | "reply.reasoning"
  | "reply.output"
  | "headers.worker"
  | "headers.escrow_tx"
  | "headers.settlement_tx"
  | "headers.credits_remaining"
  | "reply.text"
  | "proof.text"
  | "proof.signature"
  | "proof.worker"
  | "proof.same"
  | "lock.found"
  | "lock.time"
  | "lock.terms"
  | "lock.credits"
  | "lock.authorization"
  | "settlement.found"
  | "settlement.charge"
  | "settlement.return"
  | "settlement.wallet"
  | "settlement.tokens"
  | "settlement.unanswered"
  | "dispute.opened"
  | "dispute.refused"
  | "dispute.joined"
  | "dispute.unasked"
  | "dispute.equivocation"
  | "chain.unreachable";

/**
 * `wrong`: something that was said or done does not hold. `unchecked`: it could not be looked at. `done`: what the client did about it.
 * `says` is a line for a person, without control characters, of at most 1,000 characters.
 */
export type Finding = { kind: "wrong" | "unchecked" | "done"; id: FindingId; jobId: string | null; says: string };

/** The findings about one job, once no more are expected. */
export type JobReport = {
  jobId: string;
  /** Every check holds, and all of them could be made. */
  holds: boolean;
  /** The job's state on the chain; null if it has none there. */
  status: string | null;
  creditsLocked: number;
  creditsCharged: number;
  /** SHA-256 of the text that the program got. */
  receivedHash: Hex;
  /** The transaction that opened a dispute of it. */
  disputeTx: Hex | null;
  checks: readonly Check[];
};

/** A charge that holds, as one line of a log; null for a job in which something was found or that charged nothing. */
export const chargeLine = ({ jobId, holds, status, creditsLocked, creditsCharged }: JobReport): string | null =>
  holds && creditsCharged > 0
    ? `HOLDS ${jobId}: ${creditsCharged} of ${creditsLocked} locked credits charged, for the text that its worker signed (${status})`
    : null;

/**
 * A finding as one line of a log.
 *
 * @example
 * verified({ rpcUrl, escrow, onFinding: (finding) => console.warn(findingLine(finding)) });
 */
export const findingLine = ({ kind, id, jobId, says }: Finding): string =>
  `${kind.toUpperCase()} ${id} ${jobId ?? "no job"}: ${says}`;
