/** A wallet's webhooks: create, list, delete, enable again. `wallet` is always the authenticated one; others' ids are unknown ids. */
import { randomBytes } from "node:crypto";
import { z } from "zod";
import { ApiError } from "../errors.ts";
import { EndpointRefused, parseEndpoint } from "../outbound/endpoint.ts";
import { transaction } from "../store/database.ts";
import { blockNow, type WebhookContext } from "./context.ts";
import { EVENT_NAMES, type EventName } from "./event-schemas.ts";

/** Most webhooks of a wallet. */
export const WEBHOOKS_PER_WALLET = 20;
const SECRET_LENGTH = { min: 16, max: 256 };

/** Body of `POST /v1/webhooks` (specification, "Endpoints"). Whether the URL may be asked depends on the policy: see `createWebhook`. */
export const newWebhookSchema = z.strictObject(
  {
    url: z.string("must be a URL").max(2_048, "must be at most 2,048 characters").describe("HTTPS endpoint."),
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

/**
 * Creates a webhook. It receives what is mined from now on, never what was before.
 * @throws ApiError `invalid_request` for a URL that must not be asked, `conflict` at the wallet's limit.
 */
export async function createWebhook(context: WebhookContext, wallet: string, body: NewWebhook): Promise<WebhookObject> {
  const url = endpointUrl(context, body.url);
  const id = `wh_${randomBytes(16).toString("hex")}`;
  const secret = body.secret ?? `whsec_${randomBytes(32).toString("base64url")}`;
  const { number, timestamp } = await blockNow(context);
  const owner = wallet.toLowerCase();
  const row = await transaction(context.pool, async (client) => {
    // One creation of a wallet at a time, or two could both see the last free place.
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended('webhooks of ' || $1, 0))", [owner]);
    const { rows } = await client.query("SELECT count(*) FROM webhook WHERE wallet = $1", [owner]);
    if (rows[0].count >= WEBHOOKS_PER_WALLET) {
      throw new ApiError(
        "conflict",
        `The wallet has ${rows[0].count} webhooks and can have ${WEBHOOKS_PER_WALLET}; delete one first.`,
      );
    }
    const created = await client.query(
      `INSERT INTO webhook (id, wallet, url, events, secret, created_block, created_time, enabled_block, enabled_time)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $6, $7) RETURNING ${COLUMNS}`,
      [id, owner, url, body.events, context.cipher.encrypt(secret, id), number, timestamp],
    );
    return created.rows[0];
  });
  return { ...shown(row), ...(body.secret === undefined ? { secret } : {}) };
}

/** The wallet's webhooks, newest first. */
export async function listWebhooks({ pool }: WebhookContext, wallet: string): Promise<WebhookObject[]> {
  const { rows } = await pool.query(
    `SELECT ${COLUMNS} FROM webhook WHERE wallet = $1 ORDER BY created_at DESC, id DESC`,
    [wallet.toLowerCase()],
  );
  return rows.map(shown);
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
 * Makes a failed webhook active again. It receives what is mined from now on; what it missed is in its log as `skipped` or `failed`
 * and can be replayed. An active one stays as it is. @throws ApiError `webhook_not_found`
 */
export async function enableWebhook(context: WebhookContext, wallet: string, id: string): Promise<WebhookObject> {
  const { number, timestamp } = await blockNow(context);
  return await transaction(context.pool, async (client) => {
    const found = await client.query(`SELECT ${COLUMNS} FROM webhook WHERE id = $1 AND wallet = $2 FOR UPDATE`, [
      id,
      wallet.toLowerCase(),
    ]);
    if (found.rows[0] === undefined) throw unknownWebhook(id);
    if (found.rows[0].status === "active") return shown(found.rows[0]);
    // Derived while it was being marked as failed: from before this moment, like the others.
    await client.query(
      `UPDATE webhook_delivery SET status = 'skipped', next_attempt_at = NULL, finished_at = now()
       WHERE webhook_id = $1 AND status = 'pending'`,
      [id],
    );
    const { rows } = await client.query(
      `UPDATE webhook SET status = 'active', failed_at = NULL, enabled_block = $2, enabled_time = $3
       WHERE id = $1 RETURNING ${COLUMNS}`,
      [id, number, timestamp],
    );
    return shown(rows[0]);
  });
}

/** 404 for an id that is not one of the wallet's webhooks. */
export function unknownWebhook(id: string): ApiError {
  return new ApiError("webhook_not_found", `There is no webhook ${id.slice(0, 64)} of this wallet.`);
}

const COLUMNS = "id, url, events, status, created_at";

function shown(row: {
  id: string;
  url: string;
  events: EventName[];
  status: "active" | "failed";
  created_at: Date;
}): WebhookObject {
  const { id, url, events, status } = row;
  return { id, url, events, created_at: row.created_at.toISOString(), status };
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
