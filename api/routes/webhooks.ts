import { type RequestHandler, Router } from "express";
import { z } from "zod";
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  newWebhookSchema,
  type WebhookContext,
} from "../../webhooks/receivers.ts";
import { takeBody } from "./json-body.ts";
import { clientOf, validate, validateQuery } from "./request.ts";

/** All webhooks are on one page. */
const noQuery = z.object({});

/** `POST`, `GET` and `DELETE /v1/webhooks` (specification, "Endpoints"). Webhooks belong to the wallet, not to its key. */
export function webhookRoutes(context: WebhookContext): Router {
  const create: RequestHandler = async (request, response) => {
    const body = takeBody(request, (body) => validate(newWebhookSchema, body));
    response.status(201).json(await createWebhook(context, clientOf(request).wallet, body));
  };

  const list: RequestHandler = async (request, response) => {
    validateQuery(noQuery, request.query);
    const data = await listWebhooks(context, clientOf(request).wallet);
    response.json({ object: "list", data, has_more: false, next_cursor: null });
  };

  const remove: RequestHandler = async (request, response) => {
    const id = String(request.params.webhook_id);
    await deleteWebhook(context, clientOf(request).wallet, id);
    response.json({ id, deleted: true });
  };

  return Router().post("/", create).get("/", list).delete("/:webhook_id", remove);
}
