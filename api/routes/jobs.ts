import type { Hex } from "viem";
import { z } from "zod";
import { toProofHash } from "../../protocol/answer-hash.ts";
import { fromApiJobId, toApiJobId } from "../../protocol/job-id.ts";
import { JOB_STATES } from "../../protocol/job-status.ts";
import type { JobStore } from "../db/jobs.ts";
import { ApiError } from "../errors.ts";
import type { FoundJob, JobObject, JobReader } from "../jobs/job-reader.ts";
import type { KeptAnswers } from "../jobs/kept-answers.ts";
import { jobListSchema, jobOutputSchema, jobSchema } from "../schemas/resources.ts";
import { statementOf } from "./completion.ts";
import { defineRoute, pathParameter } from "./define-route.ts";
import { JOB } from "./openapi/headers.ts";
import { inTurns } from "./read-turns.ts";
import { setJobHeaders, untilClosed } from "./request.ts";

// Text never holds a NUL: PostgreSQL has no such character.
const text = z
  .string("must be given once")
  .max(256, "is too long")
  .regex(/^[^\0]*$/, "must not hold a NUL character");

const jobId = z
  .string("must be given once")
  .regex(/^job_[0-9a-f]{32}$/, "must be a job id: `job_` and 32 hex digits, in lower case")
  .transform((id) => fromApiJobId(id) as Hex);

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

/** The parameter of every path about one job. */
export const jobParams = z.object({ job_id: pathParameter("Job id.", "job_0198c0de5f7a7c3e9b1d2f3a4b5c6d7e") });

type JobSource = {
  jobReader: Pick<JobReader, "get" | "list">;
  /** How a job of the list is shown; default: the Job object. */
  showJob?: (found: FoundJob) => JobObject;
};

export const listJobsRoute = defineRoute({
  method: "get",
  path: "/v1/jobs",
  operationId: "listJobs",
  tag: "Jobs",
  summary: "List jobs",
  description:
    "Jobs of the key's wallet, newest first, in the order of their ids, which begin with their time. Filters and cursors combine " +
    "freely; `next_cursor` is the next `before`, or the next `after` where only `after` was given. A job appears when its lock is mined, so it " +
    "can appear behind newer ids: 130 s after it was made as a rule, with an authorization until that expires. With a status filter a page can be shorter than `limit` although `has_more` is true.",
  request: { query: jobsQuerySchema },
  response: { description: "One page.", schema: jobListSchema },
  isIndexed: true,
  before: inTurns,
  handler:
    ({ jobReader, showJob = ({ job }) => job }: JobSource) =>
    async ({ client: { wallet }, query }) => {
      const { data, cursor } = await jobReader.list({ ...query, wallet });
      return {
        object: "list" as const,
        data: data.map(showJob),
        has_more: cursor !== null,
        next_cursor: cursor && toApiJobId(cursor),
      };
    },
});

export const getJobRoute = defineRoute({
  method: "get",
  path: "/v1/jobs/{job_id}",
  operationId: "getJob",
  tag: "Jobs",
  summary: "Get a job",
  request: { params: jobParams },
  response: { description: "The job.", schema: jobSchema, headers: JOB },
  errors: ["job_not_found"],
  aboutJob: true,
  isIndexed: true,
  handler:
    ({ jobReader }: JobSource) =>
    async ({ client: { wallet }, params: { job_id: id = "" } }, response) => {
      const { job } = await jobReader.get(id, wallet);
      setJobHeaders(response, job);
      return job;
    },
});

/** The answer again, for a client that lost its connection; kept for the retention time. */
export const getJobOutputRoute = defineRoute({
  method: "get",
  path: "/v1/jobs/{job_id}/output",
  operationId: "getJobOutput",
  tag: "Jobs",
  summary: "Get an answer again",
  description:
    "For a client that lost its connection. Answers are kept encrypted for the retention time (24 hours), then erased.",
  request: { params: jobParams },
  response: { description: "The answer.", schema: jobOutputSchema, headers: JOB },
  errors: ["job_not_found", "output_not_found", "job_not_settled"],
  aboutJob: true,
  handler:
    ({ jobReader, store, kept }: JobSource & { store: Pick<JobStore, "handOut">; kept: Pick<KeptAnswers, "read"> }) =>
    async ({ client: { wallet }, params: { job_id: id = "" } }, response) => {
      const { job, stored } = await jobReader.get(id, wallet);
      setJobHeaders(response, job);
      const notYet = new ApiError(
        "job_not_settled",
        `${job.id} is ${job.status}, so its answer is not available yet; ask again in a few seconds.`,
      );
      if (job.status === "pending" || job.status === "processing") throw notYet;
      // Nobody paid for it: its gateway was killed, and its client was told that it has none.
      const isUncharged = (job.status === "failed" || job.status === "refunded") && job.on_chain.settlement_tx === null;
      const answer = stored && !isUncharged && (await kept.read(stored, untilClosed(response)));
      if (!answer) {
        throw new ApiError(
          "output_not_found",
          `No answer of ${job.id} is stored: the job had none, or its retention time is over.`,
        );
      }
      // Once the answer is handed out, whoever ends the job must charge it. A job whose client was told that nothing is charged may still fail.
      if (stored && job.status === "settling" && !(await store.handOut(stored.jobId))) throw notYet;
      return {
        object: "job.output" as const,
        job_id: job.id,
        content: answer.text,
        finish_reason: answer.finishReason,
        proof_hash: toProofHash(answer.signed.completion.proofHash),
        service: statementOf(answer.worker, answer.signed),
      };
    },
});
