import { z } from "zod";
import { EVENT_NAMES } from "../webhooks/events.ts";
import { timestamp } from "./primitives.ts";

/** `wh_` and 32 hex digits. */
export const webhookId = z
  .string()
  .regex(/^wh_[0-9a-f]{32}$/)
  .meta({ description: "Webhook id.", examples: ["wh_0198c0de5f7a7c3e9b1d2f3a4b5c6d7e"] });

const eventName = z.enum(EVENT_NAMES);

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

export const webhookListSchema = z.object({
  object: z.literal("list"),
  data: z.array(webhookSchema).meta({ description: "Newest first; all of them." }),
  has_more: z.literal(false),
  next_cursor: z.null(),
});

export const deletedWebhookSchema = z.object({ id: webhookId, deleted: z.literal(true) });
