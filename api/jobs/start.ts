import type { Address, Hex } from "viem";
import { DEFAULT_MAX_TOKENS, quote } from "../../protocol/pricing.ts";
import type { SpendingTerms } from "../chain/balances.ts";
import type { Directory } from "../chain/directory.ts";
import { ApiError } from "../errors.ts";
import type { ChatBody } from "../routes/chat-request.ts";
import {
  authorizationRequired,
  type ClientAuthorization,
  checkAuthorization,
  type SignedAuthorization,
} from "./authorization.ts";
import type { JobContext } from "./context.ts";
import { dailyLimitReached, insufficientCredits, mayNotLock, operatorNotChosen, spendingFrozen } from "./lock.ts";
import { noWorkers } from "./refuse.ts";
import { type JobInput, JobRun } from "./run.ts";
import type { Stages } from "./stages.ts";
import { tokenBudget } from "./tokens.ts";

const SECONDS_PER_DAY = 86_400;

/** A request's authorization, and the body whose hash it signs. */
export type RequestAuthorization = { signed: ClientAuthorization; body: Buffer };

/** What a valid request comes to: its model, the limits it runs under, and the credits it locks. */
export type PlannedJob = Omit<JobInput, "jobId" | "stages" | "authorization"> & {
  authorization: RequestAuthorization | null;
};

/** Resolves a validated body against the catalog. Throws what no retry can mend: unknown model, text too long. */
export function planJob(
  directory: Directory,
  wallet: Address,
  body: ChatBody,
  authorization: RequestAuthorization | null,
): PlannedJob {
  const model = directory.model(body.model);
  if (model === undefined) {
    throw new ApiError("model_not_found", `There is no model '${body.model}'; GET /v1/models lists them.`, {
      param: "model",
    });
  }
  const authorized = authorization?.signed.maxTokens;
  // A body that names no limit has the one that was signed.
  const requested = body.maxTokens ?? Math.min(DEFAULT_MAX_TOKENS, authorized ?? DEFAULT_MAX_TOKENS);
  const budget = tokenBudget(body.request.messages, requested, model.contextWindow);
  if (!budget.fits) {
    throw new ApiError(
      "context_length_exceeded",
      `The messages have about ${budget.promptTokens} tokens; '${model.id}' takes at most ${model.contextWindow}. Shorten them.`,
      { param: "messages" },
    );
  }
  const request = { ...body.request, max_tokens: budget.maxTokens };
  return { wallet, model, request, credits: quote(authorized ?? budget.maxTokens, model), authorization };
}

/** Starts a planned job. Throws before anything is locked what the escrow would refuse, and when no worker is there. */
export async function startJob(context: JobContext, jobId: Hex, plan: PlannedJob, stages: Stages): Promise<JobRun> {
  const { wallet, model, credits, authorization: given, ...rest } = plan;
  if (context.operator.mayNotLock !== null) throw mayNotLock(context);
  if (context.workers.candidates(model.number).length === 0) throw noWorkers(model);
  const { free } = await context.balances.current(wallet);
  const terms = await currentTerms(context, plan);
  if (terms !== null) checkLimits(context, terms, credits);
  if (free < credits) {
    // A deposit of the last second may not be in the balance we remember.
    const now = await context.balances.read(wallet);
    if (now.free < credits) throw insufficientCredits(now.free, credits, model);
  }
  if (terms !== null && terms.operator !== context.operator.id) {
    throw operatorNotChosen(terms.operator, context.operator.id);
  }
  if (terms?.authorized === true && given === null) throw authorizationRequired();
  const authorization = given === null ? null : await checked(context, plan, given);
  return new JobRun(context, { jobId, wallet, model, credits, ...rest, authorization, stages });
}

/** The wallet's terms. Known ones that speak against the request are asked for again: they may be others now. */
async function currentTerms({ balances, operator }: JobContext, plan: PlannedJob): Promise<SpendingTerms | null> {
  const known = balances.terms(plan.wallet);
  const admits =
    known !== null &&
    !known.frozen &&
    known.dailyLimit === null &&
    known.operator === operator.id &&
    known.authorized === (plan.authorization !== null);
  if (admits) return known;
  await balances.read(plan.wallet);
  return balances.terms(plan.wallet);
}

/** Refuses what the wallet's own limits would refuse at the lock. */
function checkLimits({ head }: JobContext, terms: SpendingTerms, credits: number): void {
  if (terms.frozen) throw spendingFrozen();
  const today = Math.floor(head.time / SECONDS_PER_DAY);
  const spent = terms.spentDay === today ? terms.spentToday : 0;
  if (terms.dailyLimit !== null && spent + credits > terms.dailyLimit) {
    throw dailyLimitReached(spent, terms.dailyLimit, credits);
  }
}

async function checked(
  context: JobContext,
  { wallet, model, request }: PlannedJob,
  { signed, body }: RequestAuthorization,
): Promise<SignedAuthorization> {
  const key = await context.balances.authorizationKey(wallet);
  return checkAuthorization(context, signed, { wallet, model, maxTokens: request.max_tokens, body }, key);
}
