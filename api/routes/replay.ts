import type { Request, Response } from "express";
import { toApiJobId } from "../../protocol/job-id.ts";
import { ApiError } from "../errors.ts";
import { setServiceHeaders } from "../http/request.ts";
import { Answer } from "../jobs/answer.ts";
import type { JobContext } from "../jobs/context.ts";
import { readAnswer } from "../jobs/output.ts";
import type { EarlierClaim } from "../store/idempotency.ts";
import type { StoredJob } from "../store/stored-job.ts";
import type { ChatBody } from "./chat-request.ts";
import { ChunkWriter, completionObject, usageOf } from "./completion-shapes.ts";
import { streamAnswer } from "./stream.ts";

const POLL_MS = 100;
/**
 * Seconds beyond the time a lock has, after which a claimed job without a row belongs to a process that ended in between. Its row is written
 * with its lock's transaction: until then it waits for a batch, and balances are read before. Given up earlier, its answer would be paid twice.
 */
const UNRECORDED_SECONDS = 20;
const KEY_FORMAT = /^[\x21-\x7e]{1,255}$/;

/** The request's Idempotency-Key, null without one. */
export function idempotencyKey(request: Request): string | null {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return null;
  if (typeof key !== "string" || !KEY_FORMAT.test(key)) {
    throw new ApiError("invalid_request", "Idempotency-Key: must be 1 to 255 visible ASCII characters", {
      param: "Idempotency-Key",
    });
  }
  return key;
}

/**
 * Waits until an earlier request's job has its answer. Null: it came to nothing, and the request may run anew. `isClaimed`: whether the
 * earlier request still has the key, which it gives free when it ends without an answer.
 */
export async function earlierAnswer(
  context: JobContext,
  { jobId, ageMs }: EarlierClaim,
  isClaimed: () => Promise<boolean>,
): Promise<StoredJob | null> {
  const { completion, inclusion, lock } = context.times;
  const started = Date.now();
  const lost = started - ageMs + (lock + UNRECORDED_SECONDS) * 1000;
  for (;;) {
    const job = await context.store.find(jobId);
    if (job === null && (Date.now() > lost || !(await isClaimed()))) return null;
    if (job?.state === "settling" || job?.state === "settled") return job;
    if (job?.state === "failed" || job?.state === "refunded" || job?.state === "unlocked") return null;
    if (Date.now() - started > (completion + inclusion + lock) * 1000) {
      throw new ApiError("conflict", `The first of these requests still runs as ${toApiJobId(jobId)}.`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Sends an earlier answer again, plain or streamed as this request asks, with the headers of its job. */
export async function replayAnswer(
  context: JobContext,
  job: StoredJob,
  body: ChatBody,
  response: Response,
): Promise<void> {
  const jobId = toApiJobId(job.jobId);
  const answer = await readAnswer(context.store, context.cipher, job);
  if (answer === null) {
    throw new ApiError("conflict", `This request was answered as ${jobId}; the answer is no longer kept.`, {
      details: { job_id: jobId },
    });
  }
  setServiceHeaders(response, {
    jobId,
    escrowTx: job.escrowTx,
    settlementTx: job.settlementTx,
    worker: job.worker,
    creditsRemaining: (await context.balances.current(job.wallet)).free,
  });
  response.setHeader("idempotent-replayed", "true");
  const base = { jobId, model: job.model, created: job.lockedAt ?? 0 };
  const usage = usageOf(answer.promptTokens, answer.completionTokens);
  if (!body.stream) {
    response.json(completionObject(base, answer.text, answer.finishReason, usage, answer.statement));
    return;
  }
  const writer = new ChunkWriter(base);
  const text = new Answer();
  if (answer.text !== "") text.append(answer.text);
  text.end();
  await streamAnswer(response, text, {
    piece: (piece) => writer.content(piece),
    end: async () =>
      `${writer.finish(answer.finishReason, answer.statement)}${body.includeUsage ? writer.usage(usage) : ""}data: [DONE]\n\n`,
    error: () => "",
    trailers: async () => (job.settlementTx ? { "x-service-settlement-tx": job.settlementTx } : {}),
  });
}
