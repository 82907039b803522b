/**
 * Webhooks: what a wallet may do with its own. Each function takes the authenticated wallet and answers objects in the API's
 * form, or throws an ApiError. `gateway.webhooks.context` is the first argument.
 */
export type { WebhookContext } from "./context.ts";
export {
  type AttemptObject,
  type DeliveriesQuery,
  type DeliveryObject,
  deliveriesQuerySchema,
  getDelivery,
  listDeliveries,
} from "./deliveries.ts";
export { type ReplayRange, replayDeliveries, replayDelivery, replayRangeSchema } from "./replay.ts";
export {
  DEFAULT_LOW_CREDIT_THRESHOLD,
  getLowCreditThreshold,
  setLowCreditThreshold,
  thresholdSchema,
} from "./settings.ts";
export {
  createWebhook,
  deleteWebhook,
  enableWebhook,
  listWebhooks,
  type NewWebhook,
  newWebhookSchema,
  WEBHOOKS_PER_WALLET,
  type WebhookObject,
} from "./webhooks.ts";
