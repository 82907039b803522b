import { z } from "zod";
import {
  createdWebhookSchema,
  createWebhook,
  deletedWebhookSchema,
  deleteWebhook,
  listWebhooks,
  newWebhookSchema,
  type WebhookContext,
  webhookListSchema,
} from "../../webhooks/receivers.ts";
import { defineRoute, pathParameter } from "./define-route.ts";

/** `POST`, `GET` and `DELETE /v1/webhooks` (specification, "Endpoints"). Webhooks belong to the wallet, not to its key. */
type WebhookParts = { webhooks: { context: WebhookContext } };

export const createWebhookRoute = defineRoute({
  method: "post",
  path: "/v1/webhooks",
  operationId: "createWebhook",
  tag: "Webhooks",
  summary: "Create a webhook",
  description: "It receives events from now on; earlier ones are not delivered.",
  request: { body: newWebhookSchema },
  response: { status: 201, description: "Created.", schema: createdWebhookSchema },
  errors: ["conflict", "unprocessable"],
  handler:
    ({ webhooks: { context } }: WebhookParts) =>
    ({ client: { wallet }, body }) =>
      createWebhook(context, wallet, body),
});

export const listWebhooksRoute = defineRoute({
  method: "get",
  path: "/v1/webhooks",
  operationId: "listWebhooks",
  tag: "Webhooks",
  summary: "List webhooks",
  // All webhooks are on one page.
  request: { query: z.object({}) },
  response: { description: "The webhooks of the key's wallet.", schema: webhookListSchema },
  handler:
    ({ webhooks: { context } }: WebhookParts) =>
    async ({ client: { wallet } }) => ({
      object: "list" as const,
      data: await listWebhooks(context, wallet),
      has_more: false as const,
      next_cursor: null,
    }),
});

export const deleteWebhookRoute = defineRoute({
  method: "delete",
  path: "/v1/webhooks/{webhook_id}",
  operationId: "deleteWebhook",
  tag: "Webhooks",
  summary: "Delete a webhook",
  request: {
    params: z.object({ webhook_id: pathParameter("Webhook id.", "wh_0198c0de5f7a7c3e9b1d2f3a4b5c6d7e") }),
  },
  response: { description: "Deleted.", schema: deletedWebhookSchema },
  errors: ["webhook_not_found"],
  handler:
    ({ webhooks: { context } }: WebhookParts) =>
    async ({ client: { wallet }, params: { webhook_id: id = "" } }) => {
      await deleteWebhook(context, wallet, id);
      return { id, deleted: true as const };
    },
});
