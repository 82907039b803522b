import { type RequestHandler, Router } from "express";
import { z } from "zod";
import { JOB_STATES } from "../../protocol/job-status.ts";
import { clientOf, setServiceHeaders } from "../http/request.ts";
import { validate } from "../http/validate.ts";
import type { JobReader } from "../jobs/read.ts";

/** Query of `GET /v1/jobs` (specification, "Endpoints"). */
export const jobsQuerySchema = z.object({
  limit: z.coerce
    .number("must be a number")
    .int("must be a whole number")
    .min(1, "must be at least 1")
    .max(100, "must be at most 100")
    .default(20),
  before: z.string("must be given once").optional(),
  after: z.string("must be given once").optional(),
  status: z.enum(JOB_STATES, `must be one of ${JOB_STATES.join(", ")}`).optional(),
  model: z.string("must be given once").optional(),
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
