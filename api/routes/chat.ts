import type { RequestHandler, Response } from "express";
import { newJobId, toApiJobId } from "../../protocol/job-id.ts";
import { quote } from "../../protocol/pricing.ts";
import type { Directory } from "../chain/directory.ts";
import { ApiError } from "../errors.ts";
import { clientOf, setServiceHeaders } from "../http/request.ts";
import type { JobContext } from "../jobs/context.ts";
import { insufficientCredits } from "../jobs/lock.ts";
import { type CompletedJob, JobRun, noWorkers } from "../jobs/run.ts";
import { tokenBudget } from "../jobs/tokens.ts";
import { type ChatBody, parseChatBody } from "./chat-request.ts";
import { ChunkWriter, type CompletionBase, completionObject, usageOf } from "./completion-shapes.ts";
import { streamAnswer } from "./stream.ts";

/** A reply waits this long for the hash of its settlement's transaction, never for its mining. */
const SETTLEMENT_HASH_MS = 1_000;

export type ChatDependencies = {
  jobs: JobContext;
  directory: Directory;
  docsUrl: string;
  /** Keeps the set of running jobs, so that recovery leaves them alone. */
  track: (run: JobRun) => void;
  /** True once the process stops: running jobs are finished, new ones go elsewhere. */
  stopping: () => boolean;
};

/** `POST /v1/chat/completions`, plain and streamed. */
export function chatRoute(dependencies: ChatDependencies): RequestHandler {
  return async (request, response) => {
    const { wallet } = clientOf(request);
    const body = parseChatBody(request.body);
    const run = await startJob(dependencies, wallet, body);
    const jobId = toApiJobId(run.input.jobId);
    setServiceHeaders(response, { jobId });
    try {
      const lock = await run.locked;
      setServiceHeaders(response, {
        escrowTx: lock.escrowTx,
        creditsRemaining: dependencies.jobs.balances.known(wallet)?.free ?? lock.free,
      });
      const base = { jobId, model: body.model, created: lock.lockedAt };
      if (body.stream) await stream(dependencies, run, response, base, body);
      else await reply(dependencies, run, response, base);
    } catch (error) {
      const known = dependencies.jobs.balances.known(wallet);
      if (!response.headersSent && known) setServiceHeaders(response, { creditsRemaining: known.free });
      throw error;
    }
  };
}

/** Checks what can be known before the lock, then starts the job. */
async function startJob(dependencies: ChatDependencies, wallet: `0x${string}`, body: ChatBody): Promise<JobRun> {
  const { jobs, directory } = dependencies;
  if (dependencies.stopping()) {
    throw new ApiError("service_unavailable", "This gateway is stopping; retry the request.", {
      details: { retry_after: 1 },
    });
  }
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
  if (jobs.workers.candidates(model.number).length === 0) throw noWorkers(model);
  const credits = quote(budget.maxTokens, model);
  const { free } = await jobs.balances.current(wallet);
  if (free < credits) {
    // A deposit of the last second may not be in the balance we remember.
    const now = await jobs.balances.read(wallet);
    if (now.free < credits) throw insufficientCredits(now.free, credits, model);
  }
  const request = { ...body.request, max_tokens: budget.maxTokens };
  const run = new JobRun(jobs, { jobId: newJobId(), wallet, model, request, credits });
  dependencies.track(run);
  return run;
}

async function reply({ jobs }: ChatDependencies, run: JobRun, response: Response, base: CompletionBase): Promise<void> {
  const job = await run.completed;
  const settlementTx = await settlementHash(job);
  setServiceHeaders(response, {
    worker: job.worker,
    settlementTx,
    creditsRemaining: jobs.balances.known(run.input.wallet)?.free ?? 0,
  });
  const { finish_reason } = job.completed;
  response.json(completionObject(base, run.answer.text, finish_reason, usage(job)));
}

async function stream(
  dependencies: ChatDependencies,
  run: JobRun,
  response: Response,
  base: CompletionBase,
  body: ChatBody,
): Promise<void> {
  setServiceHeaders(response, { worker: await run.firstToken });
  const writer = new ChunkWriter(base);
  await streamAnswer(response, run.answer, {
    piece: (text) => writer.content(text),
    end: async () => {
      const job = await run.completed;
      const usageChunk = body.includeUsage ? writer.usage(usage(job)) : "";
      return `${writer.finish(job.completed.finish_reason)}${usageChunk}data: [DONE]\n\n`;
    },
    error: (error) => `data: ${JSON.stringify(apiErrorOf(error).body(dependencies.docsUrl))}\n\n`,
    trailers: async () => {
      const hash = await settlementHash(await run.completed);
      return hash === null ? {} : { "x-service-settlement-tx": hash };
    },
  });
}

function usage({ completed, settling }: CompletedJob) {
  return usageOf(completed.completion.promptTokens, settling.billedTokens);
}

function settlementHash(job: CompletedJob): Promise<string | null> {
  const tooLate = new Promise<null>((resolve) => setTimeout(() => resolve(null), SETTLEMENT_HASH_MS).unref());
  return Promise.race([job.settling.sent, tooLate]);
}

function apiErrorOf(error: unknown): ApiError {
  return error instanceof ApiError
    ? error
    : new ApiError("internal_error", "The answer broke off on our side; nothing is charged for it.", { cause: error });
}
