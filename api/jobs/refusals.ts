/** Errors of a request that was admitted to no lock, and of a job that was locked and got no answer: nothing is charged for either. */
import type { Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import type { Model } from "../chain/directory.ts";
import { ApiError, unavailable } from "../errors.ts";
import type { Obstacle, Rest } from "./wallet-standing.ts";

/** 402 with the details of the specification. */
export function insufficientCredits(remaining: number, required: number, model: Pick<Model, "tier">): ApiError {
  return new ApiError(
    "insufficient_credits",
    `The request needs ${required} credits on the ${model.tier} tier and ${remaining} are left; add credits in the web application.`,
    { details: { credits_remaining: remaining, credits_required: required, tier: model.tier } },
  );
}

/** 503 to a wallet whose credits are not known, while the balances of many such wallets are read. */
export const tooManyBalances = (): ApiError =>
  unavailable(
    "The balances of too many wallets are being read, so this request was not looked at. Retry in a second.",
    1,
  );

/** Seconds after which a client that found no worker may ask again: one probe interval. */
const RETRY_AFTER_SECONDS = 5;

/** 503 with the details of the specification: no worker hosts the model. `credits`: none that does covers a job of that size. */
export function noWorkers(model: Pick<Model, "id">, credits?: number): ApiError {
  const job = credits === undefined ? "" : ` and a job of ${credits} credits`;
  const smaller = credits === undefined ? "" : ", or ask for fewer max_tokens";
  return capacityError(
    model,
    RETRY_AFTER_SECONDS,
    `No worker is available for '${model.id}'${job} now; retry in ${RETRY_AFTER_SECONDS} seconds${smaller}.`,
  );
}

/**
 * 503 with the details of the specification: all places of the model's workers are taken. `waited`: seconds that the request waited; null where
 * the queue is full. `credits`: of the job, where it is cover for them that lacks.
 */
export function noPlace(
  model: Pick<Model, "id">,
  { waited, retryAfter, credits }: { waited: number | null; retryAfter: number; credits: number | null },
): ApiError {
  const job = credits === null ? "another job" : `a job of ${credits} credits`;
  const time = waited === 0 ? "now" : `within ${waited} seconds`;
  const why =
    waited === null
      ? `Too many requests wait for a worker of '${model.id}'`
      : `The workers of '${model.id}' had no place for ${job} ${time}`;
  const smaller = credits === null ? "" : ", or ask for fewer max_tokens";
  return capacityError(model, retryAfter, `${why}; nothing is charged. Retry in ${retryAfter} seconds${smaller}.`);
}

const capacityError = ({ id }: Pick<Model, "id">, retryAfter: number, message: string): ApiError =>
  new ApiError("no_workers_available", message, { details: { model: id, retry_after: retryAfter } });

/** 504; says where the refund can be followed while it is not mined. */
export function jobTimeout(
  jobId: Hex,
  { credits, refundTx, seconds }: { credits: number; refundTx: Hex | null; seconds: number },
): ApiError {
  const id = toApiJobId(jobId);
  const refund =
    refundTx === null ? `the refund is on its way: follow it at GET /v1/jobs/${id}` : "the credits are refunded";
  const details = { job_id: id, credits_refunded: refundTx === null ? 0 : credits, refund_tx: refundTx };
  return new ApiError("job_timeout", `No worker completed the job within ${seconds} seconds; ${refund}.`, { details });
}

/** 503 after a worker that did not finish what it had begun. */
export const workerBrokeOff = (): ApiError =>
  new ApiError(
    "service_unavailable",
    "The worker broke off before the answer was complete; nothing is charged. Retry.",
  );

/** 422: the models are sound, so the same request would fail again. */
export const failedAtModel = (): ApiError =>
  new ApiError(
    "request_failed_at_model",
    "The model server fails on this request and answers others; nothing is charged. Change the request: check the order of the " +
      "messages' roles, simplify the JSON schema, or leave out optional parameters.",
  );

/** 503: the gateway's own tests failed, too. */
export const modelServersFailed = (): ApiError =>
  unavailable("The model servers did not pass the service's own test; nothing is charged. Retry in a few seconds.", 5);

/** 400, which agents answer by shortening their history: the servers count tokens, and their templates', where the gateway estimates. */
export const contextExceeded = ({ id, contextWindow }: Model): ApiError =>
  new ApiError(
    "context_length_exceeded",
    `By the model server's own template and count, the conversation exceeds ${id}'s window of ${contextWindow} tokens; ` +
      "nothing is charged. Shorten the conversation.",
    { param: "messages" },
  );

/** 400: a model server knows best what it takes. */
export const requestRefused = (): ApiError =>
  new ApiError(
    "invalid_request",
    "The model server did not take the request; nothing is charged. Shorten it, or leave out optional parameters.",
  );

/** 503 to a wallet whose last jobs ended at the operator's expense, one after the other. */
export function walletRests({ ms, revert }: Rest): ApiError {
  const seconds = Math.ceil(ms / 1000);
  const next = `so its next request is taken in ${seconds} s`;
  return unavailable(
    revert === null
      ? `The wallet's last jobs ended without a charge, ${next}. Change the request that fails.`
      : `The settlement contract refused locks of the wallet, the last one with ${revert}, ${next}. The errors of those requests say what to change.`,
    seconds,
  );
}

/** What keeps a wallet's request waiting, apart from its rest. */
const WAITS_FOR = {
  account: "The wallet's account is still being read from the settlement chain",
  credits: "Other requests of the wallet hold its credits until their locks are mined",
  limit: "Other requests of the wallet hold what is left of its daily limit until their locks are mined",
  jobs: "The wallet has as many unfinished jobs as it may have for now, and may have more with each answer",
} satisfies Partial<Record<Obstacle & string, string>>;

/** 503 to a request that its own wallet kept waiting until its time was over or the queue was full. */
export const walletKeepsWaiting = (obstacle: Exclude<Obstacle, "insufficient">): ApiError =>
  typeof obstacle === "object"
    ? walletRests(obstacle)
    : unavailable(`${WAITS_FOR[obstacle]}; nothing is charged. Retry in a few seconds.`, 5);
