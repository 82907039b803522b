import { type Config, endpointPolicy } from "../config.ts";
import type { Cipher } from "../store/cipher.ts";
import { type Incarnation, incarnationName } from "../store/incarnation.ts";

/** What the webhook service takes of the gateway's settings; times in milliseconds. */
export function webhookSettings(config: Config, cipher: Cipher) {
  return {
    databaseUrl: config.DATABASE_URL,
    cipher,
    deployment: incarnationName(config.deployment as Incarnation),
    policy: endpointPolicy(config),
    confirmations: config.WEBHOOK_CONFIRMATIONS,
    reorgDepth: config.WEBHOOK_REORG_DEPTH,
    concurrency: config.WEBHOOK_CONCURRENCY,
    perWebhook: config.WEBHOOK_CONCURRENCY_EACH,
    timeoutMs: config.WEBHOOK_TIMEOUT_SECONDS * 1000,
    delaysMs: config.WEBHOOK_RETRY_SECONDS.map((seconds) => seconds * 1000),
    logDays: config.WEBHOOK_LOG_DAYS,
  };
}
