/** Checks a request before credits are locked; a refusal is an error that says what to do. */
import { type Address, type Hex, zeroAddress } from "viem";
import { type Ability, asksReasoning, type ChatRequest, needsOf } from "../../protocol/dispatch.ts";
import type { DecodedRevert } from "../../protocol/events.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { DEFAULT_MAX_TOKENS, quote } from "../../protocol/pricing.ts";
import { type Balances, spentAt } from "../chain/balances.ts";
import type { Directory, Model } from "../chain/directory.ts";
import type { Operator } from "../chain/operator.ts";
import type { Head } from "../chain/rpc.ts";
import { ApiError, quoted, unavailable } from "../errors.ts";
import type { WorkerPool } from "../workers/worker-pool.ts";
import {
  type AuthorizationParts,
  authorizationInvalid,
  authorizationRequired,
  type ClientAuthorization,
  checkAuthorization,
  type SignedAuthorization,
  unauthorizable,
} from "./authorization.ts";
import type { JobTimes } from "./next-step.ts";
import { insufficientCredits, noWorkers, tooManyBalances, walletRests } from "./refusals.ts";
import { type TokenBudget, type TokenCounter, TokenizerBusy, tokenBudget } from "./tokens.ts";
import type { WalletStandings } from "./wallet-standing.ts";

/** A request's authorization, and the SHA-256 of the body's bytes, which it signs. */
export type RequestAuthorization = { signed: ClientAuthorization; bodyHash: Buffer };

/** The fields of a request's body. Without `maxTokens`, the default applies. */
type RequestedJob = { model: string; maxTokens: number | undefined; request: Omit<ChatRequest, "max_tokens"> };

/** The job that a valid request asks for. */
export type PlannedJob = {
  wallet: Address;
  model: Model;
  /** Output tokens that the client asks for, at most. */
  maxTokens: number;
  request: Omit<ChatRequest, "max_tokens">;
  authorization: RequestAuthorization | null;
};

/** A job whose credits may be locked. */
export type AdmittedJob = {
  /** With the limit that it runs under. */
  request: ChatRequest;
  /** True if the client gets the reasoning and pays for it: the client asked for it, or the model always reasons. */
  showReasoning: boolean;
  /** To be locked. */
  credits: number;
  /** The authorization that the wallet's authorization key signed; null for a wallet without such a key. */
  authorization: SignedAuthorization | null;
};

/** What `refusalByTerms` asks. */
export type TermsParts = {
  operator: Pick<Operator, "id">;
  head: Pick<Head, "time">;
  balances: Pick<Balances, "terms">;
};

export type AdmissionParts = AuthorizationParts &
  TermsParts & {
    operator: Pick<Operator, "mayNotLock">;
    times: Pick<JobTimes, "completion">;
    balances: Pick<Balances, "bounded" | "read" | "authorizationKey">;
    standings: Pick<WalletStandings, "rest">;
    workers: Pick<
      WorkerPool,
      "alwaysReasons" | "capable" | "hosts" | "isDeclared" | "largestWindow" | "modelsWith" | "mostTokens"
    >;
    /** Counts the tokens of prompts. */
    tokens: Pick<TokenCounter, "count">;
  };

/** Resolves a validated body against the catalog. Throws `model_not_found`. */
export function planJob(
  directory: Pick<Directory, "model">,
  wallet: Address,
  body: RequestedJob,
  authorization: RequestAuthorization | null,
): PlannedJob {
  const model = directory.model(body.model);
  if (model === undefined) {
    throw new ApiError("model_not_found", `There is no model ${quoted(body.model)}; GET /v1/models lists them.`, {
      param: "model",
    });
  }
  // A body that names no limit has the one that was signed.
  const authorized = authorization?.signed.maxTokens ?? DEFAULT_MAX_TOKENS;
  const maxTokens = body.maxTokens ?? Math.min(DEFAULT_MAX_TOKENS, authorized);
  return { wallet, model, maxTokens, request: body.request, authorization };
}

/**
 * Throws what the escrow would refuse, that no worker is there, and that the text is too long, before anything is locked. The text is looked at
 * last: a wallet that cannot pay the least price gets no work out of the service. Rejects with the signal's reason when it aborts meanwhile.
 */
export async function admit(parts: AdmissionParts, plan: PlannedJob, signal: AbortSignal): Promise<AdmittedJob> {
  const { wallet, model, authorization } = plan;
  if (parts.operator.mayNotLock !== null) throw mayNotLock(parts);
  const needs = needsOf(plan.request);
  checkAbilities(parts, model, needs);
  if (parts.workers.capable(model.number, { credits: quote(1, model), needs }).length === 0) throw noWorkers(model);
  const asked = Math.min(authorization?.signed.maxTokens ?? plan.maxTokens, model.contextWindow);
  await checkBalance(parts, plan, { least: quote(1, model), price: quote(asked, model) });
  const maxTokens = await outputTokens(parts, plan, signal);
  const credits = quote(authorization?.signed.maxTokens ?? maxTokens, model);
  const lock = { wallet, credits, isAuthorized: authorization !== null };
  const terms = parts.balances.terms(wallet);
  // What speaks against the request may have changed, and other gateways lock credits of the same day.
  const isSure = terms !== null && terms.dailyLimit === null && refusalByTerms(parts, lock) === null;
  if (!isSure) await parts.balances.read(wallet);
  await checkBalance(parts, plan, { least: credits, price: credits });
  const signed = authorization === null ? null : await checkSignature(parts, plan, { ...authorization, maxTokens });
  const refusal = refusalByTerms(parts, lock);
  if (refusal !== null) throw refusal;
  const rest = parts.standings.rest(wallet);
  if (rest !== null) throw walletRests(rest);
  const showReasoning = asksReasoning(plan.request) || parts.workers.alwaysReasons(model.number);
  return { request: { ...plan.request, max_tokens: maxTokens }, showReasoning, credits, authorization: signed };
}

/** The authorization, if it is signed by the wallet's authorization key and for this request. */
async function checkSignature(
  parts: AuthorizationParts & Pick<AdmissionParts, "balances">,
  { wallet, model }: PlannedJob,
  { signed, bodyHash, maxTokens }: RequestAuthorization & { maxTokens: number },
): Promise<SignedAuthorization> {
  const key = await parts.balances.authorizationKey(wallet);
  return checkAuthorization(parts, signed, { wallet, model, maxTokens, bodyHash }, key);
}

/** Throws what no worker of the model has said that it can do, by the field that asks for it. */
function checkAbilities({ workers }: Pick<AdmissionParts, "workers">, model: Model, needs: readonly Ability[]): void {
  const missing = needs.find((_need, at) => !workers.isDeclared(model.number, needs.slice(0, at + 1)));
  // Without a host the model's abilities are not known.
  if (missing === undefined || workers.hosts(model.number).length === 0) return;
  const param = missing === "reasoning" ? "reasoning_effort" : "response_format";
  const what = needs.length > 1 ? `${needs.join(" with ")}` : missing;
  const models = workers.modelsWith(needs);
  const where = models.length === 0 ? "no model offers it now" : `models that do: ${models.join(", ")}`;
  throw new ApiError("invalid_request", `${param}: '${model.id}' does not offer ${what}; ${where}. Leave it out.`, {
    param,
  });
}

/** Throws unless the wallet has the `least` credits that the request can cost; the client is told its `price`. */
async function checkBalance(
  { balances }: Pick<AdmissionParts, "balances">,
  { wallet, model }: PlannedJob,
  { least, price }: { least: number; price: number },
): Promise<void> {
  const known = await balances.bounded(wallet);
  if (known !== null && known.free >= least) return;
  // A deposit of the last second may not be in the balance we remember.
  const now = await balances.bounded(wallet, performance.now());
  if (now === null) throw tooManyBalances();
  if (now.free < least) throw insufficientCredits(now.free, price, model);
}

/** Output tokens that the context window and the job's time leave of those that are asked for. */
async function outputTokens(
  { tokens, workers, times }: Pick<AdmissionParts, "tokens" | "workers" | "times">,
  plan: PlannedJob,
  signal: AbortSignal,
): Promise<number> {
  const { wallet, model, maxTokens, request } = plan;
  const { contextWindow } = model;
  // No credits are locked for more than the model's workers can do in a job's time.
  const inTime = workers.mostTokens(model.number, times.completion) ?? maxTokens;
  const requested = Math.min(maxTokens, inTime);
  const serverWindow = workers.largestWindow(model.number);
  let budget: TokenBudget;
  try {
    budget = await tokenBudget(
      tokens,
      { wallet, messages: request.messages, requested, contextWindow, serverWindow },
      signal,
    );
  } catch (error) {
    if (!(error instanceof TokenizerBusy)) throw error;
    throw unavailable("Too many large prompts wait to be counted; retry in a few seconds.", 5);
  }
  if (budget.fits) return budget.maxTokens;
  throw new ApiError(
    "context_length_exceeded",
    `The messages have ${budget.size}; '${model.id}' takes at most ${contextWindow} tokens. Shorten them.`,
    { param: "messages" },
  );
}

/**
 * What the escrow would refuse by the wallet's own terms, as far as the gateway knows them now; null if nothing. It is asked when a request comes, and
 * again in the moment before its lock: the wallet can change its terms while the request waits.
 */
export function refusalByTerms(
  { operator, head, balances }: TermsParts,
  { wallet, credits, isAuthorized }: { wallet: string; credits: number; isAuthorized: boolean },
): ApiError | null {
  const terms = balances.terms(wallet);
  if (terms === null) return null;
  if (terms.operator !== operator.id) return operatorNotChosen(terms.operator, operator.id);
  if (terms.frozen) return spendingFrozen();
  const spent = spentAt(terms, head.time);
  if (terms.dailyLimit !== null && spent + credits > terms.dailyLimit) {
    return dailyLimitReached(spent, terms.dailyLimit, credits);
  }
  if (terms.authorized === isAuthorized) return null;
  return terms.authorized ? authorizationRequired() : authorizationInvalid(zeroAddress, null);
}

// ---------------------------------------------------------------- refusals

/** The job that a lock was for. */
type LockedJob = { jobId: Hex; model: Model; credits: number; authorization: SignedAuthorization | null };

/** Whom the gateway locks for, and why it may not lock now. */
type OwnOperator = { operator: Pick<Operator, "id" | "mayNotLock"> };

/** The error that the client gets when the contract refuses the lock. */
export function lockError(context: OwnOperator, job: LockedJob, revert: DecodedRevert): ApiError {
  const { jobId, model, credits, authorization } = job;
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
      return unauthorizable(`the settlement contract refused it (${revert.name}): check your clock`);
    case "Job_ModelNotActive":
      return new ApiError(
        "model_not_found",
        `The model '${model.id}' is no longer offered; GET /v1/models lists those that are.`,
        { param: "model" },
      );
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
function operatorNotChosen(chosen: number, own: number): ApiError {
  const now = chosen === 0 ? "has chosen no operator" : `has chosen operator ${chosen}`;
  return new ApiError(
    "operator_not_chosen",
    `The wallet ${now}, and this service is operator ${own}, so it may not lock the wallet's credits. ` +
      `Choose operator ${own} in the web application, or call chooseOperator(${own}) with the wallet.`,
    { details: { operator: own, chosen_operator: chosen === 0 ? null : chosen } },
  );
}

/** 503: the operator is stopped, or this gateway's key left it. */
function mayNotLock({ operator }: OwnOperator): ApiError {
  const why = operator.mayNotLock ?? "the settlement contract takes none from this gateway";
  return new ApiError("service_unavailable", `No new jobs are taken: ${why}. Nothing is charged; retry later.`);
}

/** 409: a job of this id exists on chain. */
export function idTaken(jobId: Hex): ApiError {
  const id = toApiJobId(jobId);
  return new ApiError("conflict", `The job id ${id} was used before: make a new id and sign an authorization for it.`, {
    details: { job_id: id },
  });
}

/** 403: the wallet's own switch. */
function spendingFrozen(): ApiError {
  return new ApiError(
    "spending_frozen",
    "The wallet has frozen its spending on chain; unfreeze it with the wallet (setLimits) to go on.",
  );
}

/** 402: the wallet's own limit of a UTC day. */
function dailyLimitReached(spentToday: number, dailyLimit: number, required: number): ApiError {
  return new ApiError(
    "daily_limit_reached",
    `The request needs ${required} credits; ${spentToday} of the wallet's daily limit of ${dailyLimit} are spent. ` +
      "Raise the limit with the wallet (setLimits), or wait for the next day (UTC).",
    { details: { daily_limit: dailyLimit, spent_today: spentToday, credits_required: required } },
  );
}
