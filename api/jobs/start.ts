import type { Address, Hex } from "viem";
import { quote } from "../../protocol/pricing.ts";
import type { Directory } from "../chain/directory.ts";
import { ApiError } from "../errors.ts";
import type { ChatBody } from "../routes/chat-request.ts";
import type { JobContext } from "./context.ts";
import { dailyLimitReached, insufficientCredits, spendingFrozen } from "./lock.ts";
import { noWorkers } from "./refuse.ts";
import { type JobInput, JobRun } from "./run.ts";
import type { Stages } from "./stages.ts";
import { tokenBudget } from "./tokens.ts";

const SECONDS_PER_DAY = 86_400;

/** What a valid request comes to: its model, the limits it runs under, and the credits it locks. */
export type PlannedJob = Omit<JobInput, "jobId" | "stages">;

/** Resolves a validated body against the catalog. Throws what no retry can mend: unknown model, text too long. */
export function planJob(directory: Directory, wallet: Address, body: ChatBody): PlannedJob {
  const model = directory.model(body.model);
  if (model === undefined) {
    throw new ApiError("model_not_found", `There is no model '${body.model}'; GET /v1/models lists them.`, {
      param: "model",
    });
  }
  const budget = tokenBudget(body.request.messages, body.maxTokens, model.contextWindow);
  if (!budget.fits) {
    throw new ApiError(
      "context_length_exceeded",
      `The messages have about ${budget.promptTokens} tokens; '${model.id}' takes at most ${model.contextWindow}. Shorten them.`,
      { param: "messages" },
    );
  }
  const request = { ...body.request, max_tokens: budget.maxTokens };
  return { wallet, model, request, credits: quote(budget.maxTokens, model) };
}

/** Starts a planned job. Throws before anything is locked when no worker is there or the balance is too low. */
export async function startJob(context: JobContext, jobId: Hex, plan: PlannedJob, stages: Stages): Promise<JobRun> {
  const { wallet, model, credits } = plan;
  if (context.workers.candidates(model.number).length === 0) throw noWorkers(model);
  const { free } = await context.balances.current(wallet);
  await checkLimits(context, wallet, credits);
  if (free < credits) {
    // A deposit of the last second may not be in the balance we remember.
    const now = await context.balances.read(wallet);
    if (now.free < credits) throw insufficientCredits(now.free, credits, model);
  }
  return new JobRun(context, { jobId, ...plan, stages });
}

/** Refuses what the wallet's own limits would refuse at the lock. A limit that is known is asked for again: it may be another now. */
async function checkLimits({ balances, head }: JobContext, wallet: Address, credits: number): Promise<void> {
  const known = balances.limits(wallet);
  if (known === null || (!known.frozen && known.dailyLimit === null)) return;
  await balances.read(wallet);
  const limits = balances.limits(wallet);
  if (limits === null) return;
  if (limits.frozen) throw spendingFrozen();
  const today = Math.floor(head.time / SECONDS_PER_DAY);
  const spent = limits.spentDay === today ? limits.spentToday : 0;
  if (limits.dailyLimit !== null && spent + credits > limits.dailyLimit) {
    throw dailyLimitReached(spent, limits.dailyLimit, credits);
  }
}
