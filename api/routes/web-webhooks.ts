import { type Request, type RequestHandler, Router } from "express";
import { z } from "zod";
import {
  deliveriesQuerySchema,
  getDelivery,
  listArrivals,
  listDeliveries,
  replayDeliveries,
  replayDelivery,
  replayRangeSchema,
  sendTest,
} from "../webhooks/delivery-log.ts";
import {
  changedWebhookSchema,
  changeWebhook,
  enableWebhook,
  getLowCreditThreshold,
  listOldSecrets,
  listWebhooks,
  retireOldSecret,
  rotateSecret,
  rotationSchema,
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
 * - `GET /webhooks`: as the API's, with `old_secret_until` and `arrivals` of 24 hours and 7 days
 * - `PATCH /webhooks/{id}` `{url?, events?}`, `POST /webhooks/{id}/enable`
 * - `POST /webhooks/{id}/secret` `{secret?, overlap_hours}` → the webhook with the secret, once; `DELETE /webhooks/{id}/old-secret`
 * - `POST /webhooks/{id}/test` → 202 `{id}` of the delivery
 * - `GET /webhooks/{id}/deliveries`, `GET /deliveries/{id}` with every attempt
 * - `POST /webhooks/{id}/replay` (a time range, or all), `POST /deliveries/{id}/replay`
 */
export function deliveryRoutes(context: WebhookContext): Router {
  const idOf = (request: Request) => String(request.params.id);

  const webhooks: RequestHandler = async (request, response) => {
    const { wallet } = clientOf(request);
    const [all, arrivals, old] = await Promise.all([
      listWebhooks(context, wallet),
      listArrivals(context, wallet),
      listOldSecrets(context, wallet),
    ]);
    const data = all.map((webhook) => ({
      ...webhook,
      old_secret_until: old.get(webhook.id)?.toISOString() ?? null,
      arrivals: arrivals.get(webhook.id) ?? null,
    }));
    response.json({ data });
  };

  const change: RequestHandler = async (request, response) => {
    const body = validate(changedWebhookSchema, request.body);
    response.json(await changeWebhook(context, { wallet: clientOf(request).wallet, id: idOf(request) }, body));
  };

  const rotate: RequestHandler = async (request, response) => {
    const body = validate(rotationSchema, request.body);
    response.json(await rotateSecret(context, { wallet: clientOf(request).wallet, id: idOf(request) }, body));
  };

  const retire: RequestHandler = async (request, response) => {
    await retireOldSecret(context, clientOf(request).wallet, idOf(request));
    response.status(204).end();
  };

  const test: RequestHandler = async (request, response) => {
    response.status(202).json(await sendTest(context, clientOf(request).wallet, idOf(request)));
  };

  const enable: RequestHandler = async (request, response) => {
    response.json(await enableWebhook(context, clientOf(request).wallet, idOf(request)));
  };

  const list: RequestHandler = async (request, response) => {
    const query = validate(deliveriesQuerySchema, request.query);
    response.json(await listDeliveries(context, clientOf(request).wallet, idOf(request), query));
  };

  const replayRange: RequestHandler = async (request, response) => {
    const range = validate(replayRangeSchema, request.body);
    response.json(await replayDeliveries(context, clientOf(request).wallet, idOf(request), range));
  };

  const one: RequestHandler = async (request, response) => {
    response.json(await getDelivery(context, clientOf(request).wallet, idOf(request)));
  };

  const replay: RequestHandler = async (request, response) => {
    await replayDelivery(context, clientOf(request).wallet, idOf(request));
    response.status(202).json({ replayed: 1 });
  };

  return Router()
    .get("/webhooks", webhooks)
    .patch("/webhooks/:id", change)
    .post("/webhooks/:id/secret", rotate)
    .delete("/webhooks/:id/old-secret", retire)
    .post("/webhooks/:id/test", test)
    .post("/webhooks/:id/enable", enable)
    .get("/webhooks/:id/deliveries", list)
    .post("/webhooks/:id/replay", replayRange)
    .get("/deliveries/:id", one)
    .post("/deliveries/:id/replay", replay);
}
