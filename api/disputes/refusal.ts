import type { Hex } from "viem";
import { ApiError } from "../errors.ts";

/** Why a dispute was not opened; stored with the request, so that every gateway gives the same answer. */
export const REFUSALS = [
  "not_settled",
  "already_open",
  "expired",
  "closed_on_chain",
  "not_charged",
  "too_many",
  "too_many_hashes",
  "wallet_only",
  "reserve_too_small",
  "other_service",
  "unavailable",
] as const;
export type Refusal = (typeof REFUSALS)[number];

/** What a refusal means for the client. `seconds`: its window. */
export function refusalError(reason: Refusal, jobId: string, seconds: number, disputeTx: Hex | null): ApiError {
  switch (reason) {
    case "not_settled":
      return new ApiError(
        "job_not_settled",
        `${jobId} has not settled yet. Your request is recorded: send it again, it counts from its first arrival.`,
        { details: { retry_after: 5 } },
      );
    case "already_open":
      return new ApiError("dispute_already_open", `${jobId} was disputed already; a job can be disputed once.`, {
        ...(disputeTx !== null && { details: { dispute_tx: disputeTx } }),
      });
    case "expired":
      return new ApiError(
        "dispute_window_expired",
        `The dispute of ${jobId} arrived later than ${seconds} seconds after its final output token.`,
      );
    case "closed_on_chain":
      return new ApiError(
        "dispute_window_expired",
        `The settlement contract takes no dispute of ${jobId} any more: its window has closed.`,
      );
    case "not_charged":
      return new ApiError("conflict", `${jobId} ended without a charge: there is nothing to dispute.`);
    case "too_many":
      return new ApiError(
        "conflict",
        "This wallet has as many open disputes as the service may open for it; wait until one is ruled, or open this one " +
          "with the wallet itself (openDispute of the settlement contract, for a bond).",
      );
    case "too_many_hashes":
      return new ApiError("unprocessable", `Too many different hashes were sent for ${jobId}; one text was received.`, {
        param: "received_output_hash",
      });
    case "wallet_only":
      return new ApiError(
        "conflict",
        `The worker of ${jobId} was convicted of signing two answers: only the wallet itself can dispute the charge now, without a ` +
          "bond (openDispute of the settlement contract).",
      );
    case "reserve_too_small":
      return new ApiError(
        "service_unavailable",
        `This service cannot put up the bond for a dispute of ${jobId} now. Your request is recorded: send it again later, or dispute ` +
          "with the wallet itself (openDispute of the settlement contract, for a bond).",
        { details: { retry_after: 60 } },
      );
    case "other_service":
      return new ApiError(
        "conflict",
        `${jobId} was run by another operator of the protocol: dispute it there, or with the wallet itself.`,
      );
    case "unavailable":
      return new ApiError(
        "service_unavailable",
        `The dispute of ${jobId} is recorded and could not be opened yet; look at the job, or send it again.`,
        { details: { retry_after: 5 } },
      );
  }
}
