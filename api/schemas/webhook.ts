import { z } from "zod";
import { EVENT_NAMES } from "./events.ts";
import { timestamp } from "./primitives.ts";

/** `wh_` and 32 hex digits. */
export const webhookId = z
  .string()
  .regex(/^wh_[0-9a-f]{32}$/)
  .meta({ description: "Webhook id.", examples: ["wh_0198c0de5f7a7c3e9b1d2f3a4b5c6d7e"] });

const eventName = z.enum(EVENT_NAMES, `must be one of ${EVENT_NAMES.join(", ")}`);

/** Body of `POST /v1/webhooks`. */
export const webhookBodySchema = z.object(
  {
    url: z
      .url({ protocol: /^https$/, error: "must be an HTTPS URL" })
      .max(2_048, "is longer than 2,048 characters")
      .meta({ description: "HTTPS endpoint that the deliveries go to.", examples: ["https://client.test/hook"] }),
    events: z
      .array(eventName, "must be an array of event names")
      .min(1, "must hold at least one event name")
      .meta({ description: "Events that this webhook receives, in any combination." }),
    secret: z
      .string("must be a string")
      .min(16, "must have at least 16 characters")
      .max(256, "must have at most 256 characters")
      .optional()
      .meta({ description: "Signing secret. Without one, one is made and shown in this answer only." }),
  },
  "must be a JSON object",
);

/** A webhook as it is listed. */
export const webhookSchema = z
  .object({
    id: webhookId,
    url: z.url(),
    events: z.array(eventName),
    created_at: timestamp,
    status: z
      .enum(["active", "failed"])
      .meta({ description: "`failed`: five attempts of one delivery failed; nothing is delivered any more." }),
  })
  .meta({ description: "An endpoint and the events it receives." });

/** Answer to its creation: the secret only if the service made it. */
export const createdWebhookSchema = webhookSchema.extend({
  secret: z.string().optional().meta({ description: "Only here, and only if the request brought none." }),
});

export const webhookListSchema = z.object({ object: z.literal("list"), data: z.array(webhookSchema) });

export const deletedWebhookSchema = z.object({ id: webhookId, object: z.literal("webhook"), deleted: z.literal(true) });
