/**
 * A wallet's webhooks: create, list, change, rotate their secrets, delete, enable again, and its low-credit threshold. `wallet` is always the
 * authenticated one; another wallet's ids are unknown ids.
 */
import { randomBytes } from "node:crypto";
import type pg from "pg";
import type { Logger } from "pino";
import { z } from "zod";
import { ifIndexed, read, walletsWithCredits } from "../api/db/index-reads.ts";
import { view } from "../api/db/index-rows.ts";
import { type Reader, transaction } from "../api/db/pool.ts";
import { urlContext } from "../api/db/upkeep.ts";
import { ApiError } from "../api/errors.ts";
import type { EndpointPolicy } from "../api/outbound/address.ts";
import { EndpointRefused, parseEndpoint } from "../api/outbound/endpoint.ts";
import { timestamp } from "../api/schemas/primitives.ts";
import type { Cipher } from "../shared/cipher.ts";
import { EVENT_NAMES } from "./events.ts";

type Block = { number: number; timestamp: number };

/** The newest block as the gateway knows it. */
export type ChainHead = { readonly block: Block; refresh(): Promise<Block> };

export type WebhookContext = {
  pool: pg.Pool;
  /** Encrypts secrets and URLs; made for this purpose only. */
  cipher: Cipher;
  policy: EndpointPolicy;
  head: ChainHead;
  logger: Logger;
  /** How many wallets without credits have a webhook; null while the index cannot tell. */
  unpaid: () => Promise<number | null>;
  /** Something is due: the dispatcher looks at once instead of at its next round. */
  wake: () => void;
};

const WEBHOOKS_PER_WALLET = 20;
/** Webhooks of a wallet without credits: anybody can have any number of such wallets. */
const WEBHOOKS_WITHOUT_CREDITS = 1;
/**
 * Webhooks of all wallets without credits together. Each webhook is looked at for an event that goes to everyone, and can have deliveries
 * that wait, which every round of the dispatcher passes. Those that a wallet made before it withdrew its credits do not count: they get no
 * such events.
 */
const ALL_WITHOUT_CREDITS = 10_000;
const SECRET_LENGTH = { min: 16, max: 256 };

const url = z
  .string("must be a URL")
  .max(2_048, "must be at most 2,048 characters")
  .meta({
    description: "HTTPS endpoint.",
    format: "uri",
    pattern: "^https://",
    examples: ["https://your-host.test/hook"],
  });
const events = z
  .array(z.enum(EVENT_NAMES, `must be one of ${EVENT_NAMES.join(", ")}`), "must be an array of event names")
  .min(1, "must name at least one event")
  .transform((names) => [...new Set(names)])
  .describe("The events it receives, any combination.");
const secret = z
  .string("must be a string")
  .min(SECRET_LENGTH.min, `must be at least ${SECRET_LENGTH.min} characters`)
  .max(SECRET_LENGTH.max, `must be at most ${SECRET_LENGTH.max} characters`)
  .optional()
  .describe("Signing secret, never shown again. Without one, one is made and shown in this answer only.");

/** Body of `POST /v1/webhooks` (specification, "Endpoints"). `createWebhook` judges whether the URL may be asked. */
export const newWebhookSchema = z
  .strictObject({ url, events, secret }, "must be an object with url, events and secret, nothing else")
  .meta({ id: "WebhookRequest" });
export type NewWebhook = z.output<typeof newWebhookSchema>;

/** Changes of a webhook: what is not given stays. */
export const changedWebhookSchema = z
  .strictObject(
    { url: url.optional(), events: events.optional() },
    "must be an object with url and events, nothing else",
  )
  .refine((change) => change.url !== undefined || change.events !== undefined, "must have url or events");
type ChangedWebhook = z.output<typeof changedWebhookSchema>;

/** A new secret, and how long the one before still counts; 0 for one that others may know. */
export const rotationSchema = z.strictObject(
  { secret, overlap_hours: z.int("must be a whole number").min(0).max(72, "must be at most 72").default(24) },
  "must be an object with secret and overlap_hours, nothing else",
);
type Rotation = z.output<typeof rotationSchema>;

const webhookId = z
  .string()
  .regex(/^wh_[0-9a-f]{32}$/)
  .meta({ description: "Webhook id.", examples: ["wh_0198c0de5f7a7c3e9b1d2f3a4b5c6d7e"] });

/** A webhook as it is listed. */
export const webhookSchema = z
  .object({
    id: webhookId,
    url: z.url(),
    events: z.array(z.enum(EVENT_NAMES)),
    created_at: timestamp,
    status: z
      .enum(["active", "failed"])
      .meta({ description: "`failed`: five attempts of one delivery failed; nothing is delivered any more." }),
  })
  .meta({ id: "Webhook", description: "An endpoint and the events it receives." });

/** Answer to its creation: the secret only if the service made it. */
export const createdWebhookSchema = webhookSchema
  .extend({
    secret: z.string().optional().meta({ description: "Only here, and only if the request brought none." }),
  })
  .meta({ id: "CreatedWebhook" });

export const webhookListSchema = z
  .object({
    object: z.literal("list"),
    data: z.array(webhookSchema).meta({ description: "Newest first; all of them." }),
    has_more: z.literal(false),
    next_cursor: z.null(),
  })
  .meta({ id: "WebhookList" });

export const deletedWebhookSchema = z
  .object({ id: webhookId, deleted: z.literal(true) })
  .meta({ id: "DeletedWebhook" });

export type WebhookObject = z.infer<typeof createdWebhookSchema>;

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

const webhookObject = (
  context: WebhookContext,
  { id, url, events, status, created_at }: WebhookRow,
): WebhookObject => ({
  id,
  url: readUrl(context, id, url),
  events,
  created_at: created_at.toISOString(),
  status,
});

/**
 * Creates a webhook. It receives what is mined from now on, never what was before.
 * @throws ApiError `invalid_request` for a URL that must not be asked; `conflict` at the wallet's limit, and where the wallet has the same one.
 */
export async function createWebhook(context: WebhookContext, wallet: string, body: NewWebhook): Promise<WebhookObject> {
  const id = `wh_${randomBytes(16).toString("hex")}`;
  const url = endpointUrl(context, body.url);
  const secret = body.secret ?? newSecret();
  const { number, timestamp } = await blockNow(context);
  const owner = wallet.toLowerCase();
  // While the index is being built, nobody is taken for a wallet without credits.
  const withCredits = await ifIndexed(walletsWithCredits(context.pool, [owner]), null);
  const hasCredits = withCredits?.has(owner) ?? true;
  if (!hasCredits) await demandFewUnpaid(context);
  const row = await transaction(context.pool, async (client) => {
    const existing = await lockWebhooks(client, owner);
    demandRoom(existing.length, hasCredits);
    demandDifference(context, existing, { id, url, events: body.events });
    const created = await client.query<WebhookRow>(
      `INSERT INTO webhook (id, wallet, url, events, secret, created_block, created_time, enabled_block, enabled_time)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $6, $7) RETURNING ${COLUMNS}`,
      [
        id,
        owner,
        context.cipher.encrypt(url, urlContext(id)),
        body.events,
        context.cipher.encrypt(secret, id),
        number,
        timestamp,
      ],
    );
    return created.rows[0] as WebhookRow;
  });
  return { ...webhookObject(context, row), ...(body.secret === undefined ? { secret } : {}) };
}

/** The wallet's webhooks, until the transaction's end: otherwise two requests could both see the last free place. */
async function lockWebhooks(client: pg.PoolClient, owner: string): Promise<WebhookRow[]> {
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended('webhooks of ' || $1, 0))", [owner]);
  return (await client.query<WebhookRow>(`SELECT ${COLUMNS} FROM webhook WHERE wallet = $1`, [owner])).rows;
}

async function demandFewUnpaid({ unpaid }: WebhookContext): Promise<void> {
  if (((await unpaid()) ?? 0) < ALL_WITHOUT_CREDITS) return;
  throw new ApiError("conflict", "Wallets without credits have as many webhooks as there may be; buy credits first.");
}

/** Reads how many wallets without credits have a webhook. Rejects with IndexUnavailable. */
export async function countUnpaidWebhooks(reader: Reader): Promise<number> {
  const text = `SELECT count(DISTINCT wallet)::int AS count FROM webhook
    WHERE NOT EXISTS (SELECT FROM ${view("account")} a WHERE a.wallet = webhook.wallet AND a.free + a.escrowed > 0)`;
  return (await read<{ count: number }>(reader, "unpaid_webhooks", text, []))[0]?.count ?? 0;
}

function demandRoom(count: number, hasCredits: boolean): void {
  if (count >= WEBHOOKS_PER_WALLET) {
    throw new ApiError(
      "conflict",
      `The wallet has ${count} webhooks and can have ${WEBHOOKS_PER_WALLET}; delete one first.`,
    );
  }
  if (count >= WEBHOOKS_WITHOUT_CREDITS && !hasCredits) {
    throw new ApiError(
      "conflict",
      `A wallet without credits can have ${WEBHOOKS_WITHOUT_CREDITS} webhook; buy credits first, or delete the other one.`,
    );
  }
}

/** Two equal webhooks would send everything twice: that is a request that was repeated. */
function demandDifference(
  context: WebhookContext,
  existing: readonly WebhookRow[],
  { id, url, events }: Pick<WebhookObject, "id" | "url" | "events">,
): void {
  const names = (of: readonly string[]) => [...of].sort().join(" ");
  const same = existing.find(
    (other) =>
      other.id !== id && names(other.events) === names(events) && readUrl(context, other.id, other.url) === url,
  );
  if (same === undefined) return;
  throw new ApiError(
    "conflict",
    `The wallet has a webhook with this URL and these events: ${same.id} (${same.status}). Change or delete that one.`,
    { param: "url" },
  );
}

const newSecret = (): string => `whsec_${randomBytes(32).toString("base64url")}`;

/** The wallet's webhooks, newest first. */
export async function listWebhooks(context: WebhookContext, wallet: string): Promise<WebhookObject[]> {
  const { rows } = await context.pool.query<WebhookRow>(
    `SELECT ${COLUMNS} FROM webhook WHERE wallet = $1 ORDER BY created_at DESC, id DESC`,
    [wallet.toLowerCase()],
  );
  return rows.map((row) => webhookObject(context, row));
}

/** Deletes a webhook with its delivery log and its tests; nothing is sent to it any more. @throws ApiError `webhook_not_found` */
export async function deleteWebhook({ pool }: WebhookContext, wallet: string, id: string): Promise<void> {
  await transaction(pool, async (client) => {
    // Locked, so that no test is made meanwhile.
    await ownWebhook(client, wallet, id, "FOR UPDATE");
    const tests = await client.query<{ id: string }>(
      "SELECT event_id AS id FROM webhook_delivery WHERE webhook_id = $1 AND is_test",
      [id],
    );
    await client.query("DELETE FROM webhook WHERE id = $1", [id]);
    await client.query("DELETE FROM webhook_event WHERE id = ANY($1)", [tests.rows.map((event) => event.id)]);
  });
}

/**
 * Changes URL or events. What waits goes to the new URL; an added event counts from now on.
 * @throws ApiError `webhook_not_found`; `invalid_request` for a URL that must not be asked; `conflict` where the wallet has the same one.
 */
export async function changeWebhook(
  context: WebhookContext,
  wallet: string,
  id: string,
  change: ChangedWebhook,
): Promise<WebhookObject> {
  const url = change.url === undefined ? null : endpointUrl(context, change.url);
  const sealedUrl = url === null ? null : context.cipher.encrypt(url, urlContext(id));
  const { number, timestamp } = await blockNow(context);
  const owner = wallet.toLowerCase();
  const row = await transaction(context.pool, async (client) => {
    const existing = await lockWebhooks(client, owner);
    const before = existing.find((webhook) => webhook.id === id);
    if (before === undefined) throw unknownWebhook(id);
    const { events = before.events } = change;
    demandDifference(context, existing, { id, url: url ?? readUrl(context, id, before.url), events });
    const { rows } = await client.query<WebhookRow>(
      // A new URL makes the endpoint `new`: it is not known yet how fast it answers.
      `UPDATE webhook SET url = COALESCE($3, url), events = COALESCE($4, events), pace = CASE WHEN $3 IS NULL THEN pace ELSE 'new' END,
         events_since = (SELECT COALESCE(jsonb_object_agg(name, COALESCE(events_since -> name, to_jsonb($5::bigint[]))), '{}')
           FROM unnest(COALESCE($4, events)) AS name WHERE events_since ? name OR name <> ALL (events))
       WHERE id = $1 AND wallet = $2 RETURNING ${COLUMNS}`,
      [id, owner, sealedUrl, change.events ?? null, [number, timestamp]],
    );
    return rows[0];
  });
  // Deleting takes no lock of the wallet's.
  if (row === undefined) throw unknownWebhook(id);
  return webhookObject(context, row);
}

/**
 * Gives a webhook another secret. While the one before counts, the attempts of a delivery take turns: the old secret, the new one, and
 * so on. So a receiver that knows either gets each delivery with its second attempt.
 * @throws ApiError `webhook_not_found`; `conflict` while an earlier rotation's old secret counts, unless this one lets none count.
 */
export async function rotateSecret(
  context: WebhookContext,
  wallet: string,
  id: string,
  { secret = newSecret(), overlap_hours }: Rotation,
): Promise<WebhookObject & { secret: string }> {
  const { rows } = await context.pool.query<WebhookRow>(
    `UPDATE webhook SET secret = $3, old_secret = CASE WHEN $4 > 0 THEN secret END,
       old_secret_until = CASE WHEN $4 > 0 THEN now() + make_interval(hours => $4) END
     WHERE id = $1 AND wallet = $2 AND ($4 = 0 OR old_secret_until IS NULL OR old_secret_until <= now())
     RETURNING ${COLUMNS}`,
    [id, wallet.toLowerCase(), context.cipher.encrypt(secret, id), overlap_hours],
  );
  if (rows[0] !== undefined) return { ...webhookObject(context, rows[0]), secret };
  await ownWebhook(context.pool, wallet, id);
  throw new ApiError("conflict", "The previous secret is still valid: retire it first, then create a new one.");
}

/** The secret before this one counts no more. @throws ApiError `webhook_not_found` */
export async function retireOldSecret({ pool }: WebhookContext, wallet: string, id: string): Promise<void> {
  const { rowCount } = await pool.query(
    "UPDATE webhook SET old_secret = NULL, old_secret_until = NULL WHERE id = $1 AND wallet = $2",
    [id, wallet.toLowerCase()],
  );
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
  return webhookObject(context, rows[0]);
}

/** The wallet's webhook; `FOR UPDATE`: nobody changes or deletes it before the transaction ends. @throws ApiError `webhook_not_found` */
export async function ownWebhook(
  reader: Reader,
  wallet: string,
  id: string,
  lock: "" | "FOR UPDATE" = "",
): Promise<Pick<WebhookRow, "id" | "status">> {
  const text = `SELECT id, status FROM webhook WHERE id = $1 AND wallet = $2 ${lock}`;
  const { rows } = await reader.query(text, [id, wallet.toLowerCase()]);
  if (rows[0] === undefined) throw unknownWebhook(id);
  return rows[0];
}

function unknownWebhook(id: string): ApiError {
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
