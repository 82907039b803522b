import { jobsQuerySchema } from "../routes/jobs.ts";
import { AUTHENTICATED, INDEXED, JOB } from "./headers.ts";
import { inlineSchema, type Json, ref } from "./json-schema.ts";
import { ok, responses } from "./responses.ts";

/** A query schema as OpenAPI parameters. */
function queryParameters(schema: Parameters<typeof inlineSchema>[0]): Json[] {
  const { properties } = inlineSchema(schema) as { properties: Record<string, Json> };
  return Object.entries(properties).map(([name, { description, ...field }]) => ({
    name,
    in: "query",
    required: false,
    description,
    schema: field,
  }));
}

const path = (name: string, description: string, example: string): Json => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type: "string" },
  example,
});
const JOB_ID = path("job_id", "Job id.", "job_0198c0de5f7a7c3e9b1d2f3a4b5c6d7e");
const MODEL_ID = path("model_id", "Model id.", "qwen3-8b");
const WEBHOOK_ID = path("webhook_id", "Webhook id.", "wh_0198c0de5f7a7c3e9b1d2f3a4b5c6d7e");

export const listModels: Json = {
  operationId: "listModels",
  tags: ["Models"],
  summary: "List models",
  description: "Models that at least one worker hosts now.",
  responses: responses({ "200": ok("The models.", "ModelList") }),
};

export const getModel: Json = {
  operationId: "getModel",
  tags: ["Models"],
  summary: "Get a model",
  parameters: [MODEL_ID],
  responses: responses({ "200": ok("The model.", "Model") }, [{ code: "model_not_found", status: 404 }]),
};

export const listJobs: Json = {
  operationId: "listJobs",
  tags: ["Jobs"],
  summary: "List jobs",
  description:
    "Jobs of the key's wallet, newest first, in the order of their ids, which begin with their time. Filters and cursors combine " +
    "freely; `next_cursor` is the next `before`, or the next `after` where only `after` was given. A job can appear behind newer ids until its " +
    "lock is mined (20 s). With a status filter a page can be shorter than `limit` although `has_more` is true.",
  parameters: queryParameters(jobsQuerySchema),
  responses: responses({ "200": ok("One page.", "JobList", { ...AUTHENTICATED, ...INDEXED }) }),
};

export const getJob: Json = {
  operationId: "getJob",
  tags: ["Jobs"],
  summary: "Get a job",
  parameters: [JOB_ID],
  responses: responses({ "200": ok("The job.", "Job", { ...JOB, ...INDEXED }) }, ["job_not_found"], true),
};

export const getJobOutput: Json = {
  operationId: "getJobOutput",
  tags: ["Jobs"],
  summary: "Get an answer again",
  description:
    "For a client that lost its connection. Answers are kept encrypted for the retention time (24 hours), then erased.",
  parameters: [JOB_ID],
  responses: responses(
    { "200": ok("The answer.", "JobOutput", JOB) },
    ["job_not_found", "output_not_found", "job_not_settled"],
    true,
  ),
};

export const disputeJob: Json = {
  operationId: "disputeJob",
  tags: ["Jobs"],
  summary: "Dispute an answer",
  description:
    "Compares the hash of what you received with the one the worker signed. Different: the job is `disputed`, and arbiters " +
    "rule within 24 hours. Send it within 60 seconds of the final token. Before the settlement the request waits up to 30 " +
    "seconds, then answers 409 `job_not_settled`; repeated, it counts from its first arrival.",
  parameters: [JOB_ID],
  requestBody: { required: true, content: { "application/json": { schema: ref("DisputeRequest") } } },
  responses: responses(
    { "200": ok("Opened, or not needed.", "Dispute", JOB) },
    ["job_not_found", "job_not_settled", "dispute_already_open", "conflict", "dispute_window_expired", "unprocessable"],
    true,
  ),
};

export const getAccount: Json = {
  operationId: "getAccount",
  tags: ["Account"],
  summary: "Get the account",
  responses: responses({ "200": ok("The account of the key's wallet.", "Account", { ...AUTHENTICATED, ...INDEXED }) }),
};

export const createWebhook: Json = {
  operationId: "createWebhook",
  tags: ["Webhooks"],
  summary: "Create a webhook",
  description: "It receives events from now on; earlier ones are not delivered.",
  requestBody: { required: true, content: { "application/json": { schema: ref("WebhookRequest") } } },
  responses: responses({ "201": ok("Created.", "CreatedWebhook") }, ["conflict", "unprocessable"]),
};

export const listWebhooks: Json = {
  operationId: "listWebhooks",
  tags: ["Webhooks"],
  summary: "List webhooks",
  responses: responses({ "200": ok("The webhooks of the key's wallet.", "WebhookList") }),
};

export const deleteWebhook: Json = {
  operationId: "deleteWebhook",
  tags: ["Webhooks"],
  summary: "Delete a webhook",
  parameters: [WEBHOOK_ID],
  responses: responses({ "200": ok("Deleted.", "DeletedWebhook") }, ["webhook_not_found"]),
};
