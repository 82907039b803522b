import type { z } from "zod";
import { chatRequestSchema } from "../routes/chat-request.ts";
import { disputeBodySchema, disputeSchema } from "../routes/dispute.ts";
import { chunkSchema, completionSchema } from "../schemas/completion.ts";
import { errorSchema } from "../schemas/error.ts";
import {
  accountSchema,
  jobListSchema,
  jobOutputSchema,
  jobSchema,
  modelListSchema,
  modelSchema,
  statementSchema,
} from "../schemas/resources.ts";
import { EVENT_NAMES, EVENTS, type EventName, envelopeSchema } from "../webhooks/events.ts";
import {
  createdWebhookSchema,
  deletedWebhookSchema,
  newWebhookSchema,
  webhookListSchema,
  webhookSchema,
} from "../webhooks/receivers.ts";
import { createChatCompletion } from "./chat.ts";
import { HEADERS } from "./headers.ts";
import { componentSchemas, type Json, ref } from "./json-schema.ts";
import * as routes from "./resources.ts";
import { errorExamples } from "./responses.ts";

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

/** What clients get. */
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

/** Paths below the service's host, with their operations. The router is the other list of them: a test compares both. */
export const PATHS: Record<string, Record<string, Json>> = {
  "/v1/chat/completions": { post: createChatCompletion },
  "/v1/models": { get: routes.listModels },
  "/v1/models/{model_id}": { get: routes.getModel },
  "/v1/jobs": { get: routes.listJobs },
  "/v1/jobs/{job_id}": { get: routes.getJob },
  "/v1/jobs/{job_id}/output": { get: routes.getJobOutput },
  "/v1/jobs/{job_id}/dispute": { post: routes.disputeJob },
  "/v1/account": { get: routes.getAccount },
  "/v1/webhooks": { get: routes.listWebhooks, post: routes.createWebhook },
  "/v1/webhooks/{webhook_id}": { delete: routes.deleteWebhook },
};

const TAGS = {
  Chat: "Generated replies, plain or streamed.",
  Models: "What can be asked, and what it costs.",
  Jobs: "Every request as a job, with its transactions.",
  Account: "The balance.",
  Webhooks: "Endpoints of yours that receive events.",
  Events: "What those endpoints receive.",
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
