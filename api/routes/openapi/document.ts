import { createDocument, type ZodOpenApiPathsObject } from "zod-openapi";
import { EVENT_NAMES, EVENTS, type EventName, envelopeSchema } from "../../../webhooks/events.ts";
import { chunkSchema } from "../../schemas/completion.ts";
import { TAGS } from "../define-route.ts";
import { ROUTES } from "../routes.ts";
import { HEADERS } from "./headers.ts";
import { errorExamples } from "./responses.ts";
import { tidy } from "./tidy.ts";

/** `job.completed` → `JobCompletedEvent`. */
const eventSchemaName = (name: EventName) =>
  `${name.replace(/(^|\.)(.)/g, (_match, _dot, letter: string) => letter.toUpperCase())}Event`;

const signature = {
  name: "Service-Signature",
  in: "header",
  required: true,
  description:
    "`t=<unix_timestamp>,v1=<hex>`: `v1` is the HMAC-SHA256 of `<t>.<raw body>` keyed with the webhook's secret. Compare in constant time.",
  schema: { type: "string", pattern: "^t=\\d+,v1=[0-9a-f]{64}$" },
} as const;

/** The deliveries a receiver gets (specification, "Events"). */
function eventDeliveries(): ZodOpenApiPathsObject {
  const delivery = (name: EventName) => ({
    post: {
      operationId: `on${eventSchemaName(name).replace(/Event$/, "")}`,
      tags: ["Events"],
      summary: name,
      description: `${EVENTS[name].meaning} Answer with 2xx within 10 seconds; otherwise the delivery is repeated after 30 seconds, 5 minutes, 30 minutes and 2 hours.`,
      security: [],
      parameters: [signature],
      requestBody: {
        required: true,
        content: { "application/json": { schema: { $ref: `#/components/schemas/${eventSchemaName(name)}` } } },
      },
      responses: {
        "2XX": { description: "Received." },
        "4XX": { description: "Any other answer: delivered again later." },
      },
    },
  });
  return Object.fromEntries(EVENT_NAMES.map((name) => [name, delivery(name)]));
}

function paths(): ZodOpenApiPathsObject {
  const byPath: ZodOpenApiPathsObject = {};
  for (const { path, method, operation } of ROUTES) byPath[path] = { ...byPath[path], [method]: operation };
  return byPath;
}

/** The API as an OpenAPI 3.1 document for a service at `baseUrl`, made from the definitions of its routes. */
export function openApiDocument(baseUrl: string): ReturnType<typeof createDocument> {
  return createDocument(
    {
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
      paths: paths(),
      webhooks: eventDeliveries(),
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
        schemas: {
          ChatCompletionChunk: chunkSchema,
          ...Object.fromEntries(EVENT_NAMES.map((name) => [eventSchemaName(name), envelopeSchema(name)])),
        },
      },
    },
    { override: tidy },
  );
}
