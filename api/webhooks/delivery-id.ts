import { ApiError } from "../errors.ts";

export const DELIVERY_STATES = ["pending", "delivered", "failed", "skipped"] as const;
/**
 * pending: to be sent at `next_attempt_at` (or being sent) · delivered: answered 2xx · failed: five attempts failed ·
 * skipped: not sent, because the webhook had failed. All but pending ones wait for nothing but a replay.
 */
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** 12 → `dlv_12`. */
export const deliveryId = (number: number): string => `dlv_${number}`;

/** `dlv_12` → 12. @throws ApiError `webhook_not_found` for anything else */
export function deliveryNumber(id: string): number {
  const digits = /^dlv_(\d{1,15})$/.exec(id)?.[1];
  if (digits === undefined) throw unknownDelivery(id);
  return Number(digits);
}

/** 404 for an id that is not a delivery to one of the wallet's webhooks. */
export function unknownDelivery(id: string): ApiError {
  return new ApiError("webhook_not_found", `There is no delivery ${id.slice(0, 64)} to a webhook of this wallet.`);
}
