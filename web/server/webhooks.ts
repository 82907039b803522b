import { type Request, type RequestHandler, Router } from "express";
import { rateLimit } from "express-rate-limit";
import type { Address } from "viem";
import { z } from "zod";
import { ApiError } from "../../api/errors.ts";
import { takeBody } from "../../api/routes/json-body.ts";
import { inTurns } from "../../api/routes/read-turns.ts";
import { clientOf, validate } from "../../api/routes/request.ts";
import {
  deliveriesQuerySchema,
  getDelivery,
  listDeliveries,
  listUpkeep,
  replayDeliveries,
  replayDelivery,
  replayRangeSchema,
  sendTest,
} from "../../webhooks/delivery-log.ts";
import {
  changedWebhookSchema,
  changeWebhook,
  enableWebhook,
  getLowCreditThreshold,
  listWebhooks,
  retireOldSecret,
  rotateSecret,
  rotationSchema,
  setLowCreditThreshold,
  type WebhookContext,
} from "../../webhooks/receivers.ts";
import type * as contract from "../contract.ts";
import { getSpendAlerts, setSpendAlerts } from "./spending.ts";

const MOST_CREDITS = 1_000_000_000;
const alert = z.int().min(1).max(MOST_CREDITS).nullable();
/** A setting that the body leaves out stays as it is. */
const settingsSchema = z
  .object({ low_credit_threshold: z.int().min(0).max(MOST_CREDITS), spend_alert_day: alert, spend_alert_month: alert })
  .partial();

/** Answers with what `work` makes of the client's wallet and the id in the path. */
const answer =
  (status: number, work: (wallet: Address, id: string, request: Request) => Promise<unknown>): RequestHandler =>
  async (request, response) => {
    response.status(status).json(await work(clientOf(request).wallet, String(request.params.id), request));
  };

/**
 * `GET /settings`, `PUT /settings` `{low_credit_threshold, spend_alert_day, spend_alert_month}`: what a wallet sets for itself. A change names
 * one of them or more.
 */
export function settingsRoutes(context: WebhookContext): Router {
  const show = async (wallet: Address): Promise<contract.WalletSettings> => {
    const [low_credit_threshold, alerts] = await Promise.all([
      getLowCreditThreshold(context, wallet),
      getSpendAlerts(context.pool, wallet),
    ]);
    return { low_credit_threshold, ...alerts };
  };

  const change = async (wallet: Address, _id: string, request: Request) => {
    const { low_credit_threshold, ...alerts } = takeBody(request, (body) => validate(settingsSchema, body));
    if (low_credit_threshold !== undefined) await setLowCreditThreshold(context, wallet, low_credit_threshold);
    if (Object.keys(alerts).length > 0) await setSpendAlerts(context.pool, wallet, alerts);
    return await show(wallet);
  };

  return Router().get("/", answer(200, show)).put("/", answer(200, change));
}

/** Tests and replays together that a wallet can ask for in a minute: more than a person asks for. */
const SENDS_A_MINUTE = 20;

/** Paces what is sent because somebody asked for it: events are bounded by what their wallet pays for, and these are not. */
const sendPace = (): RequestHandler =>
  rateLimit({
    windowMs: 60_000,
    limit: SENDS_A_MINUTE,
    standardHeaders: false,
    legacyHeaders: false,
    keyGenerator: (request) => clientOf(request).wallet,
    handler: (_request, _response, next) => {
      const message = `A wallet can ask for ${SENDS_A_MINUTE} tests and replays a minute. Replay a time range to send many deliveries at once.`;
      next(new ApiError("rate_limited", message, { details: { retry_after: 60 } }));
    },
  });

/**
 * What only people need of webhooks, beside the API's own routes:
 * - `GET /webhooks`: as the API's, with `old_secret_until` and `arrivals` of 24 hours and 7 days
 * - `PATCH /webhooks/{id}` `{url?, events?}`, `POST /webhooks/{id}/enable`
 * - `POST /webhooks/{id}/secret` `{secret?, overlap_hours}` → the webhook with the secret, once; `DELETE /webhooks/{id}/old-secret`
 * - `POST /webhooks/{id}/test` → 202 `{id}` of the delivery
 * - `GET /webhooks/{id}/deliveries`, `GET /deliveries/{id}` with its attempts
 * - `POST /webhooks/{id}/replay` (a time range, or all), `POST /deliveries/{id}/replay`
 */
export function deliveryRoutes(context: WebhookContext): Router {
  const webhooks = async (wallet: Address) => {
    const [all, upkeep] = await Promise.all([listWebhooks(context, wallet), listUpkeep(context, wallet)]);
    const none = { old_secret_until: null, arrivals: null };
    return { data: all.map((webhook) => ({ ...webhook, ...(upkeep.get(webhook.id) ?? none) })) };
  };

  const retire: RequestHandler = async (request, response) => {
    await retireOldSecret(context, clientOf(request).wallet, String(request.params.id));
    response.status(204).end();
  };

  const change = answer(200, (wallet, id, request) =>
    changeWebhook(
      context,
      wallet,
      id,
      takeBody(request, (body) => validate(changedWebhookSchema, body)),
    ),
  );
  const rotate = answer(200, (wallet, id, request) =>
    rotateSecret(
      context,
      wallet,
      id,
      takeBody(request, (body) => validate(rotationSchema, body)),
    ),
  );
  const list = answer(200, (wallet, id, { query }) =>
    listDeliveries(context, wallet, id, validate(deliveriesQuerySchema, query)),
  );
  const replayRange = answer(200, (wallet, id, request) =>
    replayDeliveries(
      context,
      wallet,
      id,
      takeBody(request, (body) => validate(replayRangeSchema, body)),
    ),
  );

  const paced = sendPace();
  const turns = inTurns();
  return Router()
    .get("/webhooks", turns, answer(200, webhooks))
    .patch("/webhooks/:id", change)
    .post("/webhooks/:id/secret", rotate)
    .delete("/webhooks/:id/old-secret", retire)
    .post(
      "/webhooks/:id/test",
      paced,
      answer(202, (wallet, id) => sendTest(context, wallet, id)),
    )
    .post(
      "/webhooks/:id/enable",
      answer(200, (wallet, id) => enableWebhook(context, wallet, id)),
    )
    .get("/webhooks/:id/deliveries", turns, list)
    .post("/webhooks/:id/replay", paced, replayRange)
    .get(
      "/deliveries/:id",
      turns,
      answer(200, (wallet, id) => getDelivery(context, wallet, id)),
    )
    .post(
      "/deliveries/:id/replay",
      paced,
      answer(202, (wallet, id) => replayDelivery(context, wallet, id)),
    );
}
