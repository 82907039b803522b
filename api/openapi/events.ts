import { EVENT_NAMES, EVENTS, type EventName } from "../webhooks/events.ts";
import { type Json, ref } from "./json-schema.ts";

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
