import { type RequestHandler, Router } from "express";
import { z } from "zod";
import { toProofHash } from "../../protocol/answer-hash.ts";
import { JOB_STATES } from "../../protocol/job-status.ts";
import type { Cipher } from "../../shared/cipher.ts";
import type { JobStore } from "../db/jobs.ts";
import { ApiError } from "../errors.ts";
import { type FoundJob, type JobObject, type JobReader, readAnswer } from "../jobs/job-reader.ts";
import { statementOf } from "./completion.ts";
import { inTurns } from "./read-turns.ts";
import { clientOf, setJobHeaders, validateQuery } from "./request.ts";

// Text never holds a NUL: PostgreSQL has no such character.
const text = z
  .string("must be given once")
  .max(256, "is too long")
  .regex(/^[^\0]*$/, "must not hold a NUL character");

const jobId = z
  .string("must be given once")
  .regex(/^job_[0-9a-f]{32}$/, "must be a job id: `job_` and 32 hex digits, in lower case");

/** Query of `GET /v1/jobs` (specification, "Endpoints"). */
export const jobsQuerySchema = z.object({
  limit: z
    .preprocess(
      // Number() would take "", "0x10" and "1e1" for numbers.
      (value) => (typeof value === "string" && /^-?\d+$/.test(value) ? Number(value) : value),
      z
        .int("must be a whole number from 1 to 100")
        .min(1, "must be at least 1")
        .max(100, "must be at most 100")
        .default(20),
    )
    .meta({ description: "Jobs a page." }),
  before: jobId.optional().meta({
    description: "Only jobs below this id, which begins with the time it was made: the newest of them first.",
  }),
  after: jobId.optional().meta({
    description:
      "Only jobs above this id. Without `before`, a page has the oldest of them, shown newest first, and `next_cursor` is the next `after`.",
  }),
  status: z
    .enum(JOB_STATES, `must be one of ${JOB_STATES.join(", ")}`)
    .optional()
    .meta({ description: "Only jobs in this state." }),
  model: text.optional().meta({ description: "Only jobs of this model." }),
});

/** `GET /v1/jobs` and `GET /v1/jobs/{job_id}`. `show`: how a job of the list is shown. */
export function jobRoutes(reader: JobReader, show: (found: FoundJob) => JobObject = ({ job }) => job): Router {
  const list: RequestHandler = async (request, response) => {
    const query = validateQuery(jobsQuerySchema, request.query);
    const { data, cursor } = await reader.list({ ...query, wallet: clientOf(request).wallet });
    response.json({ object: "list", data: data.map(show), has_more: cursor !== null, next_cursor: cursor });
  };

  const one: RequestHandler = async (request, response) => {
    const { job } = await reader.get(String(request.params.job_id), clientOf(request).wallet);
    setJobHeaders(response, job);
    response.json(job);
  };

  return Router().get("/", inTurns(), list).get("/:job_id", one);
}

/** `GET /v1/jobs/{job_id}/output`: the answer again, for a client that lost its connection; kept for the retention time. */
export function outputRoute(reader: JobReader, store: JobStore, cipher: Cipher): RequestHandler {
  return async (request, response) => {
    const { job, stored } = await reader.get(String(request.params.job_id), clientOf(request).wallet);
    setJobHeaders(response, job);
    const notYet = new ApiError(
      "job_not_settled",
      `${job.id} is ${job.status}: its answer cannot be had yet; ask again.`,
    );
    if (job.status === "pending" || job.status === "processing") throw notYet;
    // Nobody paid for it: its gateway was killed, and its client was told that it has none.
    const isUncharged = (job.status === "failed" || job.status === "refunded") && job.on_chain.settlement_tx === null;
    const answer = stored && !isUncharged && (await readAnswer(store, cipher, stored));
    if (!answer) {
      throw new ApiError("output_not_found", `No answer of ${job.id} is kept: it had none, or its time is over.`);
    }
    // Before its settlement, whoever ends the job must charge it from now on. A job whose client was told that nothing is charged may still fail.
    if (stored && job.status === "settling" && !(await store.handOut(stored.jobId))) throw notYet;
    response.json({
      object: "job.output",
      job_id: job.id,
      content: answer.text,
      finish_reason: answer.finishReason,
      proof_hash: toProofHash(answer.signed.completion.proofHash),
      service: statementOf(answer.worker, answer.signed),
    });
  };
}
