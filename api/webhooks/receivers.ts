/**
 * A wallet's webhooks: create, list, delete, enable again, and its low-credit threshold. `wallet` is always the
 * authenticated one; another wallet's ids are unknown ids.
 */
import { randomBytes } from "node:crypto";
import type pg from "pg";
import type { Logger } from "pino";
import { z } from "zod";
import type { Cipher } from "../../shared/cipher.ts";
import { transaction } from "../db/pool.ts";
import { urlContext } from "../db/upkeep.ts";
import { ApiError } from "../errors.ts";
import type { EndpointPolicy } from "../outbound/address.ts";
import { EndpointRefused, parseEndpoint } from "../outbound/endpoint.ts";
import { EVENT_NAMES, type EventName } from "./events.ts";

type Block = { number: number; timestamp: number };

/** The newest block as the gateway knows it. */
export type ChainHead = { readonly block: Block; refresh(): Promise<Block> };

/** What the functions on a wallet's webhooks need. */
export type WebhookContext = {
  pool: pg.Pool;
  /** Encrypts secrets and URLs; made for this purpose only. */
  cipher: Cipher;
  policy: EndpointPolicy;
  head: ChainHead;
  logger: Logger;
  /** Something is due: the dispatcher looks at once instead of at its next round. */
  wake: () => void;
};

/** Most webhooks of a wallet. */
const WEBHOOKS_PER_WALLET = 20;
const SECRET_LENGTH = { min: 16, max: 256 };

/** Body of `POST /v1/webhooks` (specification, "Endpoints"). `createWebhook` judges whether the URL may be asked. */
export const newWebhookSchema = z.strictObject(
  {
    url: z
      .string("must be a URL")
      .max(2_048, "must be at most 2,048 characters")
      .meta({ description: "HTTPS endpoint.", format: "uri", pattern: "^https://" }),
    events: z
      .array(z.enum(EVENT_NAMES, `must be one of ${EVENT_NAMES.join(", ")}`), "must be an array of event names")
      .min(1, "must name at least one event")
      .transform((names) => [...new Set(names)])
      .describe("The events it receives, any combination."),
    secret: z
      .string("must be a string")
      .min(SECRET_LENGTH.min, `must be at least ${SECRET_LENGTH.min} characters`)
      .max(SECRET_LENGTH.max, `must be at most ${SECRET_LENGTH.max} characters`)
      .optional()
      .describe("Signing secret, never shown again. Without one, one is made and shown in this answer only."),
  },
  "must be an object with url, events and secret, nothing else",
);
export type NewWebhook = z.output<typeof newWebhookSchema>;

/** The Webhook resource of the specification; `secret` only in the answer to a creation without one. */
export type WebhookObject = {
  id: string;
  url: string;
  events: EventName[];
  created_at: string;
  status: "active" | "failed";
  secret?: string;
};

const COLUMNS = "id, url, events, status, created_at";

type WebhookRow = Omit<WebhookObject, "created_at" | "url"> & { created_at: Date; url: Buffer };

/** A webhook's URL for its owner; empty where the master key is another one, so that the webhook can still be deleted. */
export function readUrl(
  { cipher, logger }: Pick<WebhookContext, "cipher" | "logger">,
  id: string,
  url: Buffer,
): string {
  try {
    return cipher.decrypt(url, urlContext(id));
  } catch (error) {
    logger.error({ err: error, webhook: id }, "a webhook's URL cannot be read: it is shown as empty");
    return "";
  }
}

const shown = (context: WebhookContext, { id, url, events, status, created_at }: WebhookRow): WebhookObject => ({
  id,
  url: readUrl(context, id, url),
  events,
  created_at: created_at.toISOString(),
  status,
});

/**
 * Creates a webhook. It receives what is mined from now on, never what was before.
 * @throws ApiError `invalid_request` for a URL that must not be asked, `conflict` at the wallet's limit.
 */
export async function createWebhook(context: WebhookContext, wallet: string, body: NewWebhook): Promise<WebhookObject> {
  const id = `wh_${randomBytes(16).toString("hex")}`;
  const sealedUrl = context.cipher.encrypt(endpointUrl(context, body.url), urlContext(id));
  const secret = body.secret ?? `whsec_${randomBytes(32).toString("base64url")}`;
  const { number, timestamp } = await blockNow(context);
  const owner = wallet.toLowerCase();
  const row = await transaction(context.pool, async (client) => {
    // One creation of a wallet at a time: otherwise two could both see the last free place.
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended('webhooks of ' || $1, 0))", [owner]);
    const { rows } = await client.query("SELECT count(*) FROM webhook WHERE wallet = $1", [owner]);
    if (rows[0].count >= WEBHOOKS_PER_WALLET) {
      throw new ApiError(
        "conflict",
        `The wallet has ${rows[0].count} webhooks and can have ${WEBHOOKS_PER_WALLET}; delete one first.`,
      );
    }
    const created = await client.query<WebhookRow>(
      `INSERT INTO webhook (id, wallet, url, events, secret, created_block, created_time, enabled_block, enabled_time)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $6, $7) RETURNING ${COLUMNS}`,
      [id, owner, sealedUrl, body.events, context.cipher.encrypt(secret, id), number, timestamp],
    );
    return created.rows[0] as WebhookRow;
  });
  return { ...shown(context, row), ...(body.secret === undefined ? { secret } : {}) };
}

/** The wallet's webhooks, newest first. */
export async function listWebhooks(context: WebhookContext, wallet: string): Promise<WebhookObject[]> {
  const { rows } = await context.pool.query<WebhookRow>(
    `SELECT ${COLUMNS} FROM webhook WHERE wallet = $1 ORDER BY created_at DESC, id DESC`,
    [wallet.toLowerCase()],
  );
  return rows.map((row) => shown(context, row));
}

/** Deletes a webhook with its delivery log; nothing is sent to it any more. @throws ApiError `webhook_not_found` */
export async function deleteWebhook({ pool }: WebhookContext, wallet: string, id: string): Promise<void> {
  const { rowCount } = await pool.query("DELETE FROM webhook WHERE id = $1 AND wallet = $2", [
    id,
    wallet.toLowerCase(),
  ]);
  if (rowCount === 0) throw unknownWebhook(id);
}

/**
 * Makes a failed webhook active again. It receives what is mined from now on. What it missed is in its log as `skipped`
 * or `failed` and can be replayed. An active one stays as it is. @throws ApiError `webhook_not_found`
 */
export async function enableWebhook(context: WebhookContext, wallet: string, id: string): Promise<WebhookObject> {
  const { number, timestamp } = await blockNow(context);
  const { rows } = await context.pool.query<WebhookRow>(
    `UPDATE webhook SET status = 'active',
       enabled_block = CASE status WHEN 'failed' THEN $3 ELSE enabled_block END,
       enabled_time = CASE status WHEN 'failed' THEN $4 ELSE enabled_time END
     WHERE id = $1 AND wallet = $2 RETURNING ${COLUMNS}`,
    [id, wallet.toLowerCase(), number, timestamp],
  );
  if (rows[0] === undefined) throw unknownWebhook(id);
  return shown(context, rows[0]);
}

/** 404 for an id that is not one of the wallet's webhooks. */
export function unknownWebhook(id: string): ApiError {
  return new ApiError("webhook_not_found", `There is no webhook ${id.slice(0, 64)} of this wallet.`);
}

function endpointUrl({ policy }: WebhookContext, text: string): string {
  try {
    return parseEndpoint(text, policy).href;
  } catch (error) {
    if (error instanceof EndpointRefused) {
      throw new ApiError("invalid_request", `url: ${error.message}`, { param: "url", cause: error });
    }
    throw error;
  }
}

/** The newest block: everything up to it happened before this moment. While the node is away, the last known one. */
async function blockNow({ head, logger }: WebhookContext): Promise<Block> {
  try {
    return await head.refresh();
  } catch (error) {
    const { block } = head;
    logger.warn({ err: error, block: block.number }, "the newest block cannot be asked for: the last known one counts");
    return block;
  }
}

/** The threshold of `credit.low` for a wallet that has set none (specification, "Limits"). */
export const DEFAULT_LOW_CREDIT_THRESHOLD = 100;

/** The wallet's threshold in credits; 0 turns the event off. */
export async function getLowCreditThreshold({ pool }: WebhookContext, wallet: string): Promise<number> {
  const { rows } = await pool.query("SELECT low_credit_threshold FROM wallet_setting WHERE wallet = $1", [
    wallet.toLowerCase(),
  ]);
  return rows[0]?.low_credit_threshold ?? DEFAULT_LOW_CREDIT_THRESHOLD;
}

/** Sets the threshold for what is mined from now on; the old one holds for what was before. Fires no event itself. */
export async function setLowCreditThreshold(context: WebhookContext, wallet: string, threshold: number): Promise<void> {
  const { number, timestamp } = await blockNow(context);
  await context.pool.query(
    `INSERT INTO wallet_setting AS s (wallet, low_credit_threshold, threshold_block, threshold_time)
     VALUES ($1, $2, $3, $4)
     ON CONFLICT (wallet) DO UPDATE SET low_credit_threshold = $2, threshold_block = $3, threshold_time = $4,
       threshold_before = CASE WHEN s.threshold_block < $3 THEN s.low_credit_threshold ELSE s.threshold_before END`,
    [wallet.toLowerCase(), threshold, number, timestamp],
  );
}
