import { EVENT_NAMES, type EventName } from "../schemas/events.ts";
import { type Json, ref } from "./json-schema.ts";

const FIRES: Record<EventName, string> = {
  "job.submitted": "A job is created and credits are locked in escrow.",
  "job.processing": "A worker acknowledged the job and inference started.",
  "job.completed": "The job settled on chain and the worker was paid.",
  "job.failed": "The job failed before completion; the credits went back.",
  "job.timeout": "No worker completed within 120 seconds; the credits are refunded.",
  "job.disputed": "A dispute was opened.",
  "credit.low": "The balance fell below the configured threshold.",
  "credit.topup": "Credits were added.",
  "worker.registered": "A new worker registered.",
  "worker.slashed": "A worker's stake was slashed after a confirmed fraudulent proof.",
};

/** `job.completed` → `JobCompletedEvent`. */
export const eventSchemaName = (name: EventName) =>
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
export const webhooks: Json = Object.fromEntries(
  EVENT_NAMES.map((name) => [
    name,
    {
      post: {
        operationId: `on${eventSchemaName(name).replace(/Event$/, "")}`,
        tags: ["Events"],
        summary: name,
        description: `${FIRES[name]} Answer with 2xx within 10 seconds; otherwise the delivery is repeated after 30 seconds, 5 minutes, 30 minutes and 2 hours.`,
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
