import type { Address, Hex } from "viem";
import type { DecodedRevert } from "../../protocol/events.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { FailureReason } from "../../protocol/job-status.ts";
import type { Model } from "../chain/directory.ts";
import { lockAuthorizedOperation, lockOperation } from "../chain/operations.ts";
import { accountIn, eventOf, type Outcome, type PlacedEvent } from "../chain/outcome.ts";
import { NotSent } from "../chain/submission.ts";
import { ApiError } from "../errors.ts";
import {
  authorizationInvalid,
  authorizationRequired,
  type SignedAuthorization,
  unauthorizable,
} from "./authorization.ts";
import type { JobContext } from "./context.ts";
import { failJob } from "./end.ts";

export type LockRequest = {
  jobId: Hex;
  wallet: Address;
  model: Model;
  maxTokens: number;
  credits: number;
  /** Of a wallet with an authorization key: what that key signed. */
  authorization: SignedAuthorization | null;
  /** Called once the lock is in the hands of the transaction pipeline. */
  onSubmitted?: () => void;
};

/** A mined lock. `lockedAt` is chain time; `free` the wallet's balance after it. */
export type Lock = {
  escrowTx: Hex;
  blockNumber: number;
  lockedAt: number;
  credits: number;
  free: number;
};

/**
 * Locks a job's credits and waits for the lock to be mined. Rejects with the ApiError of the client's answer; after a
 * rejection nothing stays locked: a lock that is mined later is failed at once.
 */
export async function lockCredits(context: JobContext, request: LockRequest): Promise<Lock> {
  const { jobId, wallet, model, maxTokens, credits, authorization } = request;
  if (context.pipeline.congested) {
    throw new ApiError("service_unavailable", "Too many jobs wait for the settlement chain; retry in a few seconds.", {
      details: { retry_after: 5 },
    });
  }
  const wantedBy = context.head.time + context.times.lock;
  const validUntil = authorization?.message.expiresAt ?? wantedBy;
  const gateway = context.account.address;
  const row = {
    jobId,
    wallet,
    gateway,
    model: model.id,
    tier: model.tier,
    validUntil,
    creditsLocked: credits,
  };
  const operation =
    authorization === null
      ? lockOperation({ jobId, wallet, model: model.number, maxTokens, maxCredits: credits, validUntil })
      : lockAuthorizedOperation(authorization.message, authorization.signature, wantedBy);
  const { mined } = context.pipeline.submit(operation, row);
  request.onSubmitted?.();
  let outcome: Outcome | "late";
  try {
    outcome = await Promise.race([mined, late(context.times.lock * 1000)]);
  } catch (error) {
    if (!(error instanceof NotSent)) throw error;
    // Its row, if there is one, stays `locking`: whether its transaction was recorded is for the next process to find out.
    throw new ApiError("service_unavailable", "The service is stopping; retry the request.", { cause: error });
  }
  if (outcome === "late") {
    undoLateLock(context, request, mined);
    throw new ApiError(
      "service_unavailable",
      "The settlement chain did not confirm the escrow in time; nothing is charged. Retry.",
      {
        details: { job_id: toApiJobId(jobId), retry_after: 5 },
      },
    );
  }
  if (outcome.status === "reverted") {
    const state = stateOfRefused(outcome.revert, request);
    await context.store.update(jobId, { state, failure: outcome.revert.name });
    if (outcome.revert.name === "Job_MayNotLock") {
      await context.operator.refresh().catch((error) => context.logger.warn({ err: error }, "standing not read"));
    }
    throw lockError(context, request, outcome.revert);
  }
  const event = lockedEvent(outcome, jobId);
  return {
    escrowTx: outcome.hash,
    blockNumber: outcome.blockNumber,
    lockedAt: outcome.blockTime,
    credits: event.args.credits as number,
    free: accountIn(event)?.free ?? 0,
  };
}

function lockedEvent(outcome: Outcome, jobId: Hex): PlacedEvent {
  const event = eventOf(outcome, "JobLocked");
  if (event === undefined) throw new Error(`the lock of ${jobId} was mined in ${outcome.hash} without its event`);
  return event;
}

/**
 * Ids of ours are random: one that exists on chain is our own lock, mined in a transaction whose receipt we never saw, and recovery ends
 * it. An id that the client chose may be another gateway's job: that one is left alone.
 */
function stateOfRefused(revert: DecodedRevert, { authorization }: LockRequest): "pending" | "unlocked" {
  return revert.name === "Job_AlreadyExists" && authorization === null ? "pending" : "unlocked";
}

/** The client has its 503 already: a lock that still comes through must not keep its credits. */
function undoLateLock(context: JobContext, request: LockRequest, mined: Promise<Outcome>): void {
  const { jobId } = request;
  const log = context.logger.child({ jobId: toApiJobId(jobId) });
  mined
    .then(async (outcome) => {
      if (outcome.status === "reverted") {
        const state = stateOfRefused(outcome.revert, request);
        return context.store.update(jobId, { state, failure: outcome.revert.name });
      }
      log.warn("a lock was mined after its request had been refused: it is failed");
      await context.store.update(jobId, { state: "pending", escrowTx: outcome.hash, lockedAt: outcome.blockTime });
      await failJob(context, jobId, FailureReason.Cancelled, "the lock was mined too late");
    })
    .catch((error) =>
      log.error({ err: error }, "a late lock could not be undone now; the restart or the refund deadline does it"),
    );
}

/** What a refused lock means for the client. */
function lockError(context: JobContext, request: LockRequest, revert: DecodedRevert): ApiError {
  const { jobId, model, credits, authorization } = request;
  const [, first, second] = revert.args;
  if (revert.name === "Job_AlreadyExists" && authorization !== null) return idTaken(jobId);
  switch (revert.name) {
    case "Ledger_InsufficientCredits":
      return insufficientCredits(Number(first), credits, model);
    case "Ledger_UnknownAccount":
      return insufficientCredits(0, credits, model);
    case "Limits_Frozen":
      return spendingFrozen();
    case "Limits_DailyLimitReached":
      return dailyLimitReached(Number(first), Number(second), credits);
    case "Job_OperatorNotChosen":
      return operatorNotChosen(Number(first), context.operator.id);
    case "Job_MayNotLock":
      return mayNotLock(context);
    case "Job_AuthorizationRequired":
      return authorizationRequired();
    case "Job_NotAuthorized":
      return authorizationInvalid(String(first), String(second));
    case "Job_AuthorizationTooLong":
    case "Job_InvalidId":
      return unauthorizable(`the settlement contract refused it (${revert.name}): is your clock right?`);
    case "Job_ModelNotActive":
      return new ApiError("model_not_found", `The model '${model.id}' is no longer offered.`, { param: "model" });
    case "Ledger_Paused":
      return new ApiError("service_unavailable", "New jobs are paused on the settlement contract; retry later.");
    case "Job_PriceExceedsLimit":
    case "Job_LockExpired":
      return new ApiError("service_unavailable", "The escrow could not be confirmed at the price quoted; retry.");
    default:
      return new ApiError(
        "service_unavailable",
        "The settlement contract refused the escrow; nothing is charged. Retry later.",
        {
          cause: new Error(`lock reverted: ${revert.name}(${revert.args.join(", ")})`),
        },
      );
  }
}

/** 403: the wallet's credits are for another operator, or for none. `chosen`: 0 for none. */
export function operatorNotChosen(chosen: number, own: number): ApiError {
  const now = chosen === 0 ? "has chosen no operator" : `has chosen operator ${chosen}`;
  return new ApiError(
    "operator_not_chosen",
    `The wallet ${now}, and this service is operator ${own}, so it may not lock the wallet's credits. ` +
      `Choose operator ${own} in the web application, or call chooseOperator(${own}) with the wallet.`,
    { details: { operator: own, chosen_operator: chosen === 0 ? null : chosen } },
  );
}

/** 503: the operator is stopped, or this gateway's key left it. */
export function mayNotLock({ operator }: JobContext): ApiError {
  const why = operator.mayNotLock ?? "the settlement contract takes none from this gateway";
  return new ApiError("service_unavailable", `No new jobs are taken: ${why}. Nothing is charged; retry later.`);
}

/** 409: a job of this id exists on chain. */
export function idTaken(jobId: Hex): ApiError {
  const id = toApiJobId(jobId);
  return new ApiError("conflict", `The job id ${id} was used before; an authorization is good for one job.`, {
    details: { job_id: id },
  });
}

/** 403: the wallet's own switch. */
export function spendingFrozen(): ApiError {
  return new ApiError(
    "spending_frozen",
    "The wallet has frozen its spending on chain; unfreeze it with the wallet (setLimits) to go on.",
  );
}

/** 402: the wallet's own limit of a UTC day. */
export function dailyLimitReached(spentToday: number, dailyLimit: number, required: number): ApiError {
  return new ApiError(
    "daily_limit_reached",
    `The request needs ${required} credits; ${spentToday} of the wallet's daily limit of ${dailyLimit} are spent. ` +
      "Raise the limit with the wallet (setLimits), or wait for the next day (UTC).",
    { details: { daily_limit: dailyLimit, spent_today: spentToday, credits_required: required } },
  );
}

/** 402 with the details of the specification. */
export function insufficientCredits(remaining: number, required: number, model: Model): ApiError {
  return new ApiError(
    "insufficient_credits",
    `The request needs ${required} credits on the ${model.tier} tier and ${remaining} are left; add credits in the web application.`,
    { details: { credits_remaining: remaining, credits_required: required, tier: model.tier } },
  );
}

const late = (ms: number) => new Promise<"late">((resolve) => setTimeout(() => resolve("late"), ms).unref());
