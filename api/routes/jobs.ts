import { type RequestHandler, Router } from "express";
import { z } from "zod";
import { JOB_STATES } from "../../protocol/job-status.ts";
import { clientOf, setServiceHeaders } from "../http/request.ts";
import { validate } from "../http/validate.ts";
import type { JobReader } from "../jobs/read.ts";

// Text never holds a NUL: PostgreSQL has no such character.
const text = z
  .string("must be given once")
  .max(256, "is too long")
  .regex(/^[^\0]*$/, "must not hold a NUL character");

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
  before: text.optional().meta({ description: "Only jobs created before the job with this id (cursor)." }),
  after: text.optional().meta({ description: "Only jobs created after the job with this id." }),
  status: z
    .enum(JOB_STATES, `must be one of ${JOB_STATES.join(", ")}`)
    .optional()
    .meta({ description: "Only jobs in this state." }),
  model: text.optional().meta({ description: "Only jobs of this model." }),
});

/** `GET /v1/jobs` and `GET /v1/jobs/{job_id}`. */
export function jobRoutes(reader: JobReader): Router {
  const list: RequestHandler = async (request, response) => {
    const query = validate(jobsQuerySchema, request.query);
    const { data, cursor } = await reader.list({ ...query, wallet: clientOf(request).wallet });
    response.json({ object: "list", data, has_more: cursor !== null, next_cursor: cursor });
  };

  const one: RequestHandler = async (request, response) => {
    const { job } = await reader.get(String(request.params.job_id), clientOf(request).wallet);
    setServiceHeaders(response, {
      jobId: job.id,
      escrowTx: job.on_chain.escrow_tx,
      settlementTx: job.on_chain.settlement_tx,
      worker: job.worker_address,
    });
    response.json(job);
  };

  return Router().get("/", list).get("/:job_id", one);
}
