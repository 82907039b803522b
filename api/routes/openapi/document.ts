import type { z } from "zod";
import { EVENT_NAMES, EVENTS, type EventName, envelopeSchema } from "../../../webhooks/events.ts";
import {
  createdWebhookSchema,
  deletedWebhookSchema,
  newWebhookSchema,
  webhookListSchema,
  webhookSchema,
} from "../../../webhooks/receivers.ts";
import { chunkSchema, completionSchema } from "../../schemas/completion.ts";
import { errorSchema } from "../../schemas/error.ts";
import {
  accountSchema,
  jobListSchema,
  jobOutputSchema,
  jobSchema,
  modelListSchema,
  modelSchema,
  statementSchema,
} from "../../schemas/resources.ts";
import { chatRequestSchema } from "../chat-request.ts";
import { disputeBodySchema, disputeSchema } from "../dispute.ts";
import { jobsQuerySchema } from "../jobs.ts";
import { AUTHENTICATED, HEADERS, INDEXED, JOB, some } from "./headers.ts";
import { componentSchemas, inlineSchema, type Json, ref } from "./json-schema.ts";
import { errorExamples, ok, responses } from "./responses.ts";

const TAGS = {
  Chat: "Generated replies, plain or streamed.",
  Models: "What can be asked, and what it costs.",
  Jobs: "Every request as a job, with its transactions.",
  Account: "The balance.",
  Webhooks: "Endpoints of yours that receive events.",
  Events: "What those endpoints receive.",
};

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

const SSE = `data: {"id":"chatcmpl-job_0198c0de5f7a7c3e9b1d2f3a4b5c6d7e","object":"chat.completion.chunk","created":1767225600,"model":"qwen3-8b","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}]}

data: {"id":"chatcmpl-job_0198c0de5f7a7c3e9b1d2f3a4b5c6d7e","object":"chat.completion.chunk","created":1767225600,"model":"qwen3-8b","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

`;

const idempotencyKey: Json = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "Pay once: a repetition with the same key and the same body within the retention time gets the same job and the same " +
    "answer. Bodies are the same if their JSON is, whatever its white space and the order of its fields. With another body: 409 `conflict`. " +
    "Errors are not kept.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]+$" },
};

const authorization: Json = {
  name: "x-service-authorization",
  in: "header",
  required: false,
  description:
    "Required for a wallet with an authorization key: that key's EIP-712 signature `Authorization` of this one job. Wallet, operator, the " +
    "model's catalog number and the SHA-256 of the body's bytes follow from the request. `job_id`: a UUIDv7 made " +
    "within 60 seconds of now, good for one job. `max_tokens`: their price is locked; at least what the body asks for. `max_credits`: at " +
    "least that price. `expires_at`: Unix seconds, 60 to 600 ahead. A repetition with the same header and body gets the same answer; " +
    "another use of the job id is 409 `conflict`. Not together with `Idempotency-Key`.",
  schema: {
    type: "string",
    pattern:
      "^job_id=job_[0-9a-f]{32};max_tokens=[0-9]+;max_credits=[0-9]+;expires_at=[0-9]+;signature=0x[0-9a-fA-F]{130}$",
  },
};

type Tag = keyof typeof TAGS;
const operation = (operationId: string, tag: Tag, summary: string, rest: Json): Json => ({
  operationId,
  tags: [tag],
  summary,
  ...rest,
});

/** Paths below the service's host, with their operations. The router is the other list of them: a test compares both. */
export const PATHS: Record<string, Record<string, Json>> = {
  "/v1/chat/completions": {
    post: operation("createChatCompletion", "Chat", "Generate a reply", {
      description:
        "Locks the price in escrow, dispatches the request to a worker, and settles on chain. Fields that are not offered and would change the " +
        "answer are refused by name. Fields without a meaning for the answer (`user`, `metadata`, `store`, …) are ignored.",
      parameters: [idempotencyKey, authorization],
      requestBody: {
        required: true,
        description:
          "At most 4 MiB, not compressed; at most 4,096 messages, and 1,000 entries in any other list. A body of more than 64 KiB is read only " +
          "for a wallet that can pay for a request: 402 otherwise.",
        content: {
          "application/json": {
            schema: ref("ChatCompletionRequest"),
            examples: {
              plain: { value: { model: "qwen3-8b", messages: [{ role: "user", content: "Say hello." }] } },
              streamed: {
                value: { model: "qwen3-8b", messages: [{ role: "user", content: "Say hello." }], stream: true },
              },
            },
          },
        },
      },
      responses: responses(
        {
          "200": {
            description:
              "The answer. With `stream`, events: the first chunk has `role` and content, the last one an empty `delta` and the " +
              "`finish_reason`, then `[DONE]`. Comment lines (`: keep-alive`) come in silence. A stream that breaks ends with " +
              '`data: {"error": …}` instead of `[DONE]`, and nothing is charged. The trailer `x-service-settlement-tx` follows.',
            headers: { ...JOB, ...some("Server-Timing", "Idempotent-Replayed") },
            content: {
              "application/json": { schema: ref("ChatCompletion") },
              "text/event-stream": {
                schema: {
                  type: "string",
                  description: "Server-Sent Events; each `data` is a chunk.",
                  contentMediaType: "application/json",
                  contentSchema: ref("ChatCompletionChunk"),
                },
                example: SSE,
              },
            },
          },
        },
        [
          "model_not_found",
          "context_length_exceeded",
          "insufficient_credits",
          "daily_limit_reached",
          "spending_frozen",
          "operator_not_chosen",
          "authorization_required",
          "authorization_invalid",
          "conflict",
          "request_failed_at_model",
          "no_workers_available",
          "job_timeout",
          "answer_withheld",
        ],
        true,
      ),
    }),
  },
  "/v1/models": {
    get: operation("listModels", "Models", "List models", {
      description: "Models that at least one worker hosts now.",
      responses: responses({ "200": ok("The models.", "ModelList") }),
    }),
  },
  "/v1/models/{model_id}": {
    get: operation("getModel", "Models", "Get a model", {
      parameters: [MODEL_ID],
      responses: responses({ "200": ok("The model.", "Model") }, [{ code: "model_not_found", status: 404 }]),
    }),
  },
  "/v1/jobs": {
    get: operation("listJobs", "Jobs", "List jobs", {
      description:
        "Jobs of the key's wallet, newest first, in the order of their ids, which begin with their time. Filters and cursors combine " +
        "freely; `next_cursor` is the next `before`, or the next `after` where only `after` was given. A job appears when its lock is mined, so it " +
        "can appear behind newer ids: 100 s after it was made as a rule, with an authorization until that expires. With a status filter a page can be shorter than `limit` although `has_more` is true.",
      parameters: queryParameters(jobsQuerySchema),
      responses: responses({ "200": ok("One page.", "JobList", { ...AUTHENTICATED, ...INDEXED }) }),
    }),
  },
  "/v1/jobs/{job_id}": {
    get: operation("getJob", "Jobs", "Get a job", {
      parameters: [JOB_ID],
      responses: responses({ "200": ok("The job.", "Job", { ...JOB, ...INDEXED }) }, ["job_not_found"], true),
    }),
  },
  "/v1/jobs/{job_id}/output": {
    get: operation("getJobOutput", "Jobs", "Get an answer again", {
      description:
        "For a client that lost its connection. Answers are kept encrypted for the retention time (24 hours), then erased.",
      parameters: [JOB_ID],
      responses: responses(
        { "200": ok("The answer.", "JobOutput", JOB) },
        ["job_not_found", "output_not_found", "job_not_settled"],
        true,
      ),
    }),
  },
  "/v1/jobs/{job_id}/dispute": {
    post: operation("disputeJob", "Jobs", "Dispute an answer", {
      description:
        "Compares the hash of what you received with the one the worker signed. Different: the job is `disputed`, and arbiters " +
        "rule within 24 hours. Send it within 60 seconds of the final token. Before the settlement the request waits up to 30 " +
        "seconds, then answers 409 `job_not_settled`; repeated, it counts from its first arrival.",
      parameters: [JOB_ID],
      requestBody: { required: true, content: { "application/json": { schema: ref("DisputeRequest") } } },
      responses: responses(
        { "200": ok("Opened, or not needed.", "Dispute", JOB) },
        [
          "job_not_found",
          "job_not_settled",
          "dispute_already_open",
          "conflict",
          "dispute_window_expired",
          "unprocessable",
        ],
        true,
      ),
    }),
  },
  "/v1/account": {
    get: operation("getAccount", "Account", "Get the account", {
      responses: responses({
        "200": ok("The account of the key's wallet.", "Account", { ...AUTHENTICATED, ...INDEXED }),
      }),
    }),
  },
  "/v1/webhooks": {
    get: operation("listWebhooks", "Webhooks", "List webhooks", {
      responses: responses({ "200": ok("The webhooks of the key's wallet.", "WebhookList") }),
    }),
    post: operation("createWebhook", "Webhooks", "Create a webhook", {
      description: "It receives events from now on; earlier ones are not delivered.",
      requestBody: { required: true, content: { "application/json": { schema: ref("WebhookRequest") } } },
      responses: responses({ "201": ok("Created.", "CreatedWebhook") }, ["conflict", "unprocessable"]),
    }),
  },
  "/v1/webhooks/{webhook_id}": {
    delete: operation("deleteWebhook", "Webhooks", "Delete a webhook", {
      parameters: [WEBHOOK_ID],
      responses: responses({ "200": ok("Deleted.", "DeletedWebhook") }, ["webhook_not_found"]),
    }),
  },
};

/** What clients send; the very schemas that validate requests. */
const REQUESTS: Record<string, z.ZodType> = {
  ChatCompletionRequest: chatRequestSchema,
  DisputeRequest: disputeBodySchema,
  WebhookRequest: newWebhookSchema,
};

/** `job.completed` → `JobCompletedEvent`. */
const eventSchemaName = (name: EventName) =>
  `${name.replace(/(^|\.)(.)/g, (_match, _dot, letter: string) => letter.toUpperCase())}Event`;

const signature: Json = {
  name: "Service-Signature",
  in: "header",
  required: true,
  description:
    "`t=<unix_timestamp>,v1=<hex>`: `v1` is the HMAC-SHA256 of `<t>.<raw body>` keyed with the webhook's secret. Compare in constant time.",
  schema: { type: "string", pattern: "^t=\\d+,v1=[0-9a-f]{64}$" },
};

/** The deliveries a receiver gets (specification, "Events"). */
const webhooks: Json = Object.fromEntries(
  EVENT_NAMES.map((name) => [
    name,
    {
      post: {
        operationId: `on${eventSchemaName(name).replace(/Event$/, "")}`,
        tags: ["Events"],
        summary: name,
        description: `${EVENTS[name].meaning} Answer with 2xx within 10 seconds; otherwise the delivery is repeated after 30 seconds, 5 minutes, 30 minutes and 2 hours.`,
        security: [],
        parameters: [signature],
        requestBody: { required: true, content: { "application/json": { schema: ref(eventSchemaName(name)) } } },
        responses: {
          "2XX": { description: "Received." },
          "4XX": { description: "Any other answer: delivered again later." },
        },
      },
    },
  ]),
);

const RESPONSES: Record<string, z.ZodType> = {
  ChatCompletion: completionSchema,
  ChatCompletionChunk: chunkSchema,
  ModelList: modelListSchema,
  Model: modelSchema,
  JobList: jobListSchema,
  Job: jobSchema,
  JobOutput: jobOutputSchema,
  SignedStatement: statementSchema,
  Dispute: disputeSchema,
  Account: accountSchema,
  Webhook: webhookSchema,
  CreatedWebhook: createdWebhookSchema,
  WebhookList: webhookListSchema,
  DeletedWebhook: deletedWebhookSchema,
  Error: errorSchema,
  ...Object.fromEntries(EVENT_NAMES.map((name) => [eventSchemaName(name), envelopeSchema(name)])),
};

/** The API as an OpenAPI 3.1 document for a service at `baseUrl`. */
export function openApiDocument(baseUrl: string): Json {
  return {
    openapi: "3.1.0",
    info: {
      title: "Credit-metered inference",
      version: "1.0.0",
      summary: "Chat completions for prepaid credits, every charge settled and checkable on a blockchain.",
      description:
        `OpenAI-compatible: point an SDK at \`${baseUrl}/v1\`. Credits are bought in the web application; one credit is worth ` +
        "0.01 in stablecoin units. All 5xx answers are safe to retry: nothing is charged without an answer.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: baseUrl, description: "This service" }],
    security: [{ apiKey: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: PATHS,
    webhooks,
    components: {
      securitySchemes: {
        apiKey: {
          type: "http",
          scheme: "bearer",
          description: "`svc_live_` and 32 alphanumeric characters; from the web application's Settings.",
        },
      },
      headers: HEADERS,
      examples: errorExamples(),
      schemas: { ...componentSchemas(REQUESTS, "input"), ...componentSchemas(RESPONSES, "output") },
    },
  };
}
