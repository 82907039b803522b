import type { Request, RequestHandler, Response } from "express";
import type { Hex } from "viem";
import { newJobId, toApiJobId } from "../../protocol/job-id.ts";
import type { Directory } from "../chain/directory.ts";
import { ApiError } from "../errors.ts";
import { AUTHORIZATION_HEADER, clientOf, setServiceHeaders } from "../http/request.ts";
import { parseAuthorization, unauthorizable } from "../jobs/authorization.ts";
import type { JobContext } from "../jobs/context.ts";
import { idTaken } from "../jobs/lock.ts";
import type { CompletedJob, JobRun } from "../jobs/run.ts";
import { Stages } from "../jobs/stages.ts";
import { type PlannedJob, planJob, type RequestAuthorization, startJob } from "../jobs/start.ts";
import type { IdempotencyStore } from "../store/idempotency.ts";
import { type ChatBody, parseChatBody } from "./chat-request.ts";
import { ChunkWriter, type CompletionBase, completionObject, statementOf, usageOf } from "./completion-shapes.ts";
import { earlierAnswer, idempotencyKey, replayAnswer } from "./replay.ts";
import { streamAnswer } from "./stream.ts";

/** A reply waits this long for the hash of its settlement's transaction, never for its mining. */
const SETTLEMENT_HASH_MS = 1_000;
/** A node silent for longer takes no lock: a request is refused before anything is written. */
const CHAIN_SILENT_MS = 5_000;

export type ChatDependencies = {
  jobs: JobContext;
  directory: Directory;
  idempotency: IdempotencyStore;
  docsUrl: string;
  /** Keeps the set of running jobs, so that recovery leaves them alone. */
  track: (run: JobRun) => void;
  /** True once the process stops: running jobs are finished, new ones go elsewhere. */
  stopping: () => boolean;
  /** False while transactions of an earlier process are brought to their end. */
  takenUp: () => boolean;
};

/**
 * `POST /v1/chat/completions`, plain and streamed. An `Idempotency-Key` pays for one answer, however often it is sent; so does the job id of
 * an authorization.
 */
export function chatRoute(dependencies: ChatDependencies): RequestHandler {
  return async (request, response) => {
    const body = parseChatBody(request.body);
    const authorization = authorizationOf(request);
    const plan = planJob(dependencies.directory, clientOf(request).wallet, body, authorization);
    if (dependencies.stopping()) {
      throw new ApiError("service_unavailable", "This gateway is stopping; retry the request.", {
        details: { retry_after: 1 },
      });
    }
    if (!dependencies.takenUp()) {
      throw new ApiError("service_unavailable", "This gateway has just started and takes no jobs yet; retry soon.", {
        details: { retry_after: 5 },
      });
    }
    if (dependencies.jobs.head.silentMs > CHAIN_SILENT_MS) {
      throw new ApiError("service_unavailable", "The settlement chain does not answer; retry in a few seconds.", {
        details: { retry_after: 5 },
      });
    }
    const key = idempotencyKey(request);
    if (authorization !== null) {
      if (key !== null) throw unauthorizable("its job id is an Idempotency-Key already; send no other");
      const { jobId } = authorization.signed;
      await answerOnce(dependencies, { key: toApiJobId(jobId), jobId }, plan, body, request, response);
    } else if (key !== null) await answerOnce(dependencies, { key, jobId: null }, plan, body, request, response);
    else await answer(dependencies, plan, body, response);
  };
}

/** The request's authorization, null without one. */
function authorizationOf(request: Request): RequestAuthorization | null {
  const header = request.headers[AUTHORIZATION_HEADER];
  if (header === undefined) return null;
  return { signed: parseAuthorization(String(header)), body: request.rawBody ?? Buffer.alloc(0) };
}

/** What a request is repeated under; `jobId` where the client chose it. */
type Once = { key: string; jobId: Hex | null };

/** Runs the job, unless an earlier request with this key did. */
async function answerOnce(
  dependencies: ChatDependencies,
  { key, jobId: chosen }: Once,
  plan: PlannedJob,
  body: ChatBody,
  request: Request,
  response: Response,
): Promise<void> {
  const { jobs, idempotency } = dependencies;
  const { wallet } = plan;
  const isUsed = async () => chosen !== null && (await jobs.store.find(chosen)) !== null;
  for (;;) {
    const jobId = chosen ?? newJobId();
    const claim = await idempotency.claim({ wallet, key, body: request.rawBody ?? Buffer.alloc(0) }, jobId);
    if (claim.status === "mismatch") {
      if (chosen !== null) throw idTaken(chosen);
      throw new ApiError("conflict", "This Idempotency-Key was used with another body; use a new key.", {
        param: "Idempotency-Key",
      });
    }
    if (claim.status === "new") {
      // Whatever ends without an answer gives the key free: errors are not replayed.
      const release = () => idempotency.release(wallet, key, jobId);
      if (!(await isUsed())) return answer(dependencies, plan, body, response, jobId, release);
      await release();
      throw idTaken(jobId);
    }
    const job = await earlierAnswer(jobs, claim, () => idempotency.isClaimed(wallet, key, claim.jobId));
    if (job !== null) return replayAnswer(jobs, job, body, response);
    // The chain takes an id once, also when its job came to nothing.
    if (await isUsed()) throw idTaken(jobId);
    await idempotency.release(wallet, key, claim.jobId);
  }
}

async function answer(
  dependencies: ChatDependencies,
  plan: PlannedJob,
  body: ChatBody,
  response: Response,
  jobId = newJobId(),
  onFailure: () => Promise<void> = async () => {},
): Promise<void> {
  const { balances, logger } = dependencies.jobs;
  // An unknown outcome is not a failed one: then the key stays claimed, and the job's row tells the next request.
  const failed = async (error: unknown) => {
    if (error instanceof ApiError) await onFailure();
  };
  let run: JobRun | undefined;
  try {
    run = await startJob(dependencies.jobs, jobId, plan, new Stages(response.req.receivedAt));
    dependencies.track(run);
    const lock = await run.locked;
    const creditsRemaining = balances.known(plan.wallet)?.free ?? lock.free;
    setServiceHeaders(response, { jobId: toApiJobId(jobId), escrowTx: lock.escrowTx, creditsRemaining });
    const base = { jobId: toApiJobId(jobId), model: body.model, created: lock.lockedAt };
    run.completed.catch((error) => failed(error)).catch((error) => logger.warn({ err: error }, "key not released"));
    if (body.stream) await stream(dependencies, run, response, base, body);
    else await reply(dependencies, run, response, base);
  } catch (error) {
    await failed(error);
    const known = balances.known(plan.wallet);
    if (!response.headersSent && known) setServiceHeaders(response, { creditsRemaining: known.free });
    if (!response.headersSent && run?.worker) setServiceHeaders(response, { worker: run.worker });
    throw error;
  }
}

async function reply({ jobs }: ChatDependencies, run: JobRun, response: Response, base: CompletionBase): Promise<void> {
  const job = await run.completed;
  const settlementTx = await settlementHash(job);
  run.input.stages.end("settlement");
  setServiceHeaders(response, {
    worker: job.worker,
    settlementTx,
    creditsRemaining: jobs.balances.known(run.input.wallet)?.free ?? 0,
  });
  const { finish_reason } = job.completed;
  response.setHeader("server-timing", run.input.stages.header());
  response.json(
    completionObject(base, run.answer.text, finish_reason, usage(job), statementOf(job.worker, job.completed)),
  );
}

async function stream(
  dependencies: ChatDependencies,
  run: JobRun,
  response: Response,
  base: CompletionBase,
  body: ChatBody,
): Promise<void> {
  setServiceHeaders(response, { worker: await run.firstToken });
  response.setHeader("server-timing", run.input.stages.header());
  const writer = new ChunkWriter(base);
  await streamAnswer(response, run.answer, {
    piece: (text) => writer.content(text),
    end: async () => {
      const job = await run.completed;
      const usageChunk = body.includeUsage ? writer.usage(usage(job)) : "";
      const last = writer.finish(job.completed.finish_reason, statementOf(job.worker, job.completed));
      return `${last}${usageChunk}data: [DONE]\n\n`;
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
  // A settlement that is not sent is no fault of the answer: the job is failed, or a restart takes it up.
  return Promise.race([job.settling.sent.catch(() => null), tooLate]);
}

function apiErrorOf(error: unknown): ApiError {
  return error instanceof ApiError
    ? error
    : new ApiError("internal_error", "The answer broke off on our side; nothing is charged for it.", { cause: error });
}
