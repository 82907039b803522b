import { type RequestHandler, Router } from "express";
import { z } from "zod";
import {
  deliveriesQuerySchema,
  getDelivery,
  listDeliveries,
  replayDeliveries,
  replayDelivery,
  replayRangeSchema,
} from "../webhooks/delivery-log.ts";
import {
  enableWebhook,
  getLowCreditThreshold,
  setLowCreditThreshold,
  type WebhookContext,
} from "../webhooks/receivers.ts";
import { clientOf, validate } from "./request.ts";

const settingsSchema = z.object({ low_credit_threshold: z.int().min(0).max(1_000_000_000) });

/** `GET /settings`, `PUT /settings` `{low_credit_threshold}`: what a wallet sets for itself. */
export function settingsRoutes(context: WebhookContext): Router {
  const show: RequestHandler = async (request, response) => {
    response.json({ low_credit_threshold: await getLowCreditThreshold(context, clientOf(request).wallet) });
  };

  const change: RequestHandler = async (request, response) => {
    const { low_credit_threshold } = validate(settingsSchema, request.body);
    await setLowCreditThreshold(context, clientOf(request).wallet, low_credit_threshold);
    response.json({ low_credit_threshold });
  };

  return Router().get("/", show).put("/", change);
}

/**
 * What only people need of webhooks, beside the API's own routes:
 * - `POST /webhooks/{id}/enable`
 * - `GET /webhooks/{id}/deliveries`, `GET /deliveries/{id}` with every attempt
 * - `POST /webhooks/{id}/replay` (a time range, or all), `POST /deliveries/{id}/replay`
 */
export function deliveryRoutes(context: WebhookContext): Router {
  const enable: RequestHandler = async (request, response) => {
    response.json(await enableWebhook(context, clientOf(request).wallet, String(request.params.id)));
  };

  const list: RequestHandler = async (request, response) => {
    const query = validate(deliveriesQuerySchema, request.query);
    response.json(await listDeliveries(context, clientOf(request).wallet, String(request.params.id), query));
  };

  const replayRange: RequestHandler = async (request, response) => {
    const range = validate(replayRangeSchema, request.body);
    response.json(await replayDeliveries(context, clientOf(request).wallet, String(request.params.id), range));
  };

  const one: RequestHandler = async (request, response) => {
    response.json(await getDelivery(context, clientOf(request).wallet, String(request.params.id)));
  };

  const replay: RequestHandler = async (request, response) => {
    await replayDelivery(context, clientOf(request).wallet, String(request.params.id));
    response.status(202).json({ replayed: 1 });
  };

  return Router()
    .post("/webhooks/:id/enable", enable)
    .get("/webhooks/:id/deliveries", list)
    .post("/webhooks/:id/replay", replayRange)
    .get("/deliveries/:id", one)
    .post("/deliveries/:id/replay", replay);
}
