/**
 * Sends what is due: a delivery is claimed, attempted, and its result written with the time of the next attempt.
 * Deliveries are claimed in the database, so any number of gateways can do this at once.
 */
import { createHmac } from "node:crypto";
import type pg from "pg";
import type { Logger } from "pino";
import { type Dispatcher as HttpDispatcher, request } from "undici";
import type { Cipher } from "../../shared/cipher.ts";
import { WriteLane } from "../../shared/write-lane.ts";
import { transaction } from "../db/pool.ts";
import { urlContext } from "../db/upkeep.ts";
import type { WebhookMetrics } from "../observe/metrics.ts";
import { EndpointRefused } from "../outbound/endpoint.ts";

export type DispatchSettings = {
  /** Attempts of this process at once. */
  concurrency: number;
  /** Of them to one webhook. */
  perWebhook: number;
  /** Limit of an answer (specification: 10 s). */
  timeoutMs: number;
  /** From each failed attempt to the next one; after the last the delivery and its webhook fail. */
  delaysMs: readonly number[];
};

type Parts = {
  pool: pg.Pool;
  cipher: Cipher;
  /** The guarded agent: it judges an address when it connects, and follows no redirect. */
  http: HttpDispatcher;
  metrics: WebhookMetrics;
  logger: Logger;
  /** A place is free: claim again. */
  wake: () => void;
};

/** Slow is a webhook whose last answer took more than this part of the limit, or did not come. All slow ones together get half of the places. */
const SLOW_PART = 1 / 5;
/** Attempts at once of a webhook that did not answer. */
const SILENT_CONCURRENCY = 2;
/** A webhook that had no attempt for so long counts as slow no more. */
const SLOW_MS = 3_600_000;
const RETRY_RECORD_MS = 500;
/** An attempt without a result counts as lost so long after the limit of its answer: the result has to be written, too. */
const LEASE_SPARE_MS = 10_000;

/**
 * Each attempt runs on its own, so a slow endpoint holds up nobody else. Results are written together, as many as
 * have come in since the last write.
 */
export class DeliveryDispatcher {
  readonly #parts: Parts;
  readonly #settings: DispatchSettings;
  readonly #running = new Map<string, number>();
  /** Webhooks whose last attempt was slow: when it ended, ms since the epoch, and whether it had no answer. */
  readonly #slow = new Map<string, { at: number; silent: boolean }>();
  readonly #attempts = new Set<Promise<void>>();
  readonly #abort = new AbortController();
  /** Never rejects. */
  readonly #results = new WriteLane<Finished>((batch) => this.#write(batch));

  constructor(parts: Parts, settings: DispatchSettings) {
    this.#parts = parts;
    this.#settings = settings;
  }

  /** Lets running attempts end, at most `timeoutMs`. What is cut then is attempted again by the next gateway. */
  async stop(timeoutMs: number): Promise<void> {
    const timer = setTimeout(() => this.#abort.abort(new Error("the gateway stops")), timeoutMs);
    await Promise.all(this.#attempts);
    clearTimeout(timer);
  }

  /** Begins an attempt of everything that is due, as far as there are free places. Never rejects. */
  async claim(): Promise<void> {
    const { concurrency, perWebhook, timeoutMs } = this.#settings;
    const total = concurrency - this.#attempts.size;
    if (total <= 0) return; // a finished attempt calls `wake`
    for (const [id, { at }] of this.#slow) if (at < Date.now() - SLOW_MS) this.#slow.delete(id);
    const known = [...new Set([...this.#slow.keys(), ...this.#running.keys()])].map((id) => {
      const slow = this.#slow.get(id);
      const most = slow?.silent ? Math.min(SILENT_CONCURRENCY, perWebhook) : perWebhook;
      return { id, slow: slow !== undefined, served: slow?.at ?? 0, running: this.#running.get(id) ?? 0, most };
    });
    const slowRunning = known.reduce((sum, { slow, running }) => sum + (slow ? running : 0), 0);
    const slowTotal = Math.max(0, Math.ceil(concurrency / 2) - slowRunning);
    const lease = (timeoutMs + LEASE_SPARE_MS) / 1_000;
    const values = [JSON.stringify(known), perWebhook, total, slowTotal, lease];
    try {
      const { rows } = await this.#parts.pool.query<Claimed>({ name: "webhook-claim", text: CLAIM, values });
      for (const delivery of rows) this.#begin(delivery);
    } catch (error) {
      this.#parts.logger.warn({ err: error }, "deliveries cannot be claimed; the next round tries again");
    }
  }

  #begin(claimed: Claimed): void {
    const { webhookId } = claimed;
    this.#running.set(webhookId, (this.#running.get(webhookId) ?? 0) + 1);
    const over = this.#attempt(claimed)
      .then((outcome) => {
        // The place is free once the result is written: the same delivery cannot be claimed before.
        if (outcome !== null) return this.#results.add({ ...outcome, claimed });
      })
      .finally(() => {
        const left = (this.#running.get(webhookId) ?? 1) - 1;
        if (left === 0) this.#running.delete(webhookId);
        else this.#running.set(webhookId, left);
        this.#attempts.delete(over);
        this.#parts.metrics.running.set(this.#attempts.size);
        this.#parts.wake();
      });
    this.#attempts.add(over);
    this.#parts.metrics.running.set(this.#attempts.size);
  }

  /** One attempt; null if it was cut by the stop, and so says nothing of the endpoint. */
  async #attempt(claimed: Claimed): Promise<Outcome | null> {
    const { cipher, http, metrics, logger } = this.#parts;
    const { id, webhookId, eventId, event, body } = claimed;
    let outcome: Outcome;
    let url: string;
    try {
      url = cipher.decrypt(claimed.url, urlContext(webhookId));
      const secret = cipher.decrypt(claimed.secret, webhookId);
      const message = { url, body, secret, timeoutMs: this.#settings.timeoutMs };
      outcome = await attempt(message, http, this.#abort.signal);
    } catch (error) {
      // Cut by the stop, or a secret of another master key. When the lease runs out, it is attempted again.
      logger.error({ err: error, delivery: id, webhook: webhookId }, "an attempt could not be made");
      return null;
    }
    const { result, status, durationMs: ms, error } = outcome;
    const silent = result === "timeout";
    if (silent || ms > SLOW_PART * this.#settings.timeoutMs) this.#slow.set(webhookId, { at: Date.now(), silent });
    else this.#slow.delete(webhookId);
    metrics.attempts.inc({ result });
    metrics.seconds.observe(ms / 1000);
    // Of the URL only the host: path and query may hold what the owner takes for a secret.
    const { host } = new URL(url);
    const about = { webhook: webhookId, delivery: id, eventId, event, attempt: claimed.attempt };
    const line = { ...about, host, status, ms, error };
    if (result === "delivered") logger.debug(line, "webhook delivered");
    else logger.info(line, "webhook attempt failed");
    return outcome;
  }

  /** One result of a delivery in a statement: one whose lease ran out while its result waited was attempted again. */
  async #write(batch: readonly Finished[]): Promise<void> {
    const written = new Set<number>();
    const [first, again]: [Finished[], Finished[]] = [[], []];
    for (const one of batch) {
      (written.has(one.claimed.id) ? again : first).push(one);
      written.add(one.claimed.id);
    }
    await this.#writeOnce(first);
    if (again.length > 0) await this.#write(again);
  }

  async #writeOnce(batch: readonly Finished[]): Promise<void> {
    const { pool, metrics, logger } = this.#parts;
    for (;;) {
      try {
        for (const webhook of await recordResults(pool, batch, this.#settings.delaysMs)) {
          metrics.failedWebhooks.inc();
          logger.warn({ webhook }, "webhook marked failed: a delivery failed for the last time");
        }
        return;
      } catch (error) {
        // The database is away, or two gateways met at the same rows (deadlock).
        logger.warn({ err: error, results: batch.length }, "results of attempts cannot be written yet");
        if (this.#abort.signal.aborted) return; // their leases run out, and they are attempted again
        await new Promise((resolve) => setTimeout(resolve, RETRY_RECORD_MS));
      }
    }
  }
}

type Claimed = {
  id: number;
  webhookId: string;
  eventId: string;
  event: string;
  /** Encrypted. */
  url: Buffer;
  secret: Buffer;
  body: string;
  attempt: number;
};

/**
 * Takes deliveries that are due. A webhook's oldest ones come first, and webhooks take turns: no webhook's backlog
 * stands before another's. Rows that another gateway holds are passed over. An attempt without a result (its gateway
 * was killed) is logged as such and does not count as failed. $1: slow webhooks and those with attempts running, each with its most attempts at
 * once; $2: that of the others; $3: places for all, $4: for slow ones; $5: seconds after which a claimed delivery's attempt counts as lost.
 */
const CLAIM = `
  -- Along the index from one webhook with pending rows to the next: one step, however long its backlog.
  WITH RECURSIVE webhooks AS (
    (SELECT webhook_id AS id FROM webhook_delivery WHERE status = 'pending' ORDER BY webhook_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.webhook_id FROM webhook_delivery d WHERE d.status = 'pending' AND d.webhook_id > webhooks.id
            ORDER BY d.webhook_id LIMIT 1)
    FROM webhooks WHERE webhooks.id IS NOT NULL
  ),
  open AS (
    SELECT d.*, w.id AS webhook, COALESCE(known.running, 0) AS running_now, COALESCE(known.slow, false) AS slow,
      COALESCE(known.served, 0) AS served FROM webhooks
    JOIN webhook w ON w.id = webhooks.id
    LEFT JOIN jsonb_to_recordset($1::jsonb) AS known (id text, slow boolean, served bigint, running int, most int) ON known.id = w.id
    CROSS JOIN LATERAL (
      SELECT id, attempt, next_attempt_at FROM webhook_delivery
      WHERE webhook_id = w.id AND status = 'pending' AND next_attempt_at <= now() AND (w.status = 'active' OR is_test)
      ORDER BY next_attempt_at LIMIT GREATEST(0, COALESCE(known.most - known.running, $2::int)) FOR UPDATE SKIP LOCKED
    ) d
  ),
  -- Webhooks with the fewest running attempts first, of slow ones the longest unserved: a new event does not wait behind others' backlogs.
  turns AS (
    SELECT *, running_now + row_number() OVER (PARTITION BY webhook ORDER BY next_attempt_at) AS turn FROM open
  ),
  ranked AS (SELECT *, row_number() OVER (PARTITION BY slow ORDER BY turn, served, next_attempt_at) AS place FROM turns),
  due AS (
    SELECT id, attempt, next_attempt_at FROM ranked WHERE NOT slow OR place <= $4::int
    ORDER BY turn, next_attempt_at LIMIT $3::int
  ),
  lost AS (
    INSERT INTO webhook_attempt (delivery_id, number, started_at, error)
    SELECT id, attempt, next_attempt_at - make_interval(secs => $5),
      'the gateway stopped during this attempt: its result is unknown'
    FROM due WHERE attempt > 0
    ON CONFLICT DO NOTHING
  ),
  claimed AS (
    UPDATE webhook_delivery d
    SET attempt = d.attempt + 1, next_attempt_at = now() + make_interval(secs => $5)
    FROM due WHERE d.id = due.id
    RETURNING d.id, d.webhook_id, d.event_id, d.attempt, d.first_attempt
  )
  SELECT claimed.id, claimed.webhook_id AS "webhookId", claimed.event_id AS "eventId", e.name AS event, w.url,
    -- After a rotation attempts take turns: the old secret, the new one, the old one.
    CASE WHEN w.old_secret_until > now() AND (claimed.attempt - claimed.first_attempt) % 2 = 0
      THEN w.old_secret ELSE w.secret END AS secret,
    e.body, claimed.attempt
  FROM claimed JOIN webhook w ON w.id = claimed.webhook_id JOIN webhook_event e ON e.id = claimed.event_id
  ORDER BY claimed.id`;

/** Value of `Service-Signature` (specification, "Signature"). `timestamp` in Unix seconds. */
export function signatureHeader(secret: string, timestamp: number, body: string): string {
  const mac = createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex");
  return `t=${timestamp},v1=${mac}`;
}

/** What an attempt came to: `delivered` for an answer of 2xx within the limit, and for nothing else. */
type Outcome = {
  result: "delivered" | "status" | "timeout" | "connection" | "refused";
  startedAt: Date;
  durationMs: number;
  status: number | null;
  /** First bytes of the answer, as text that PostgreSQL can hold. */
  response: string | null;
  error: string | null;
};

const RESPONSE_BYTES = 1_024;
/** An answer is its status; its body gets this long to come. */
const BODY_MS = 2_000;
const TIMED_OUT = new Error("the endpoint did not answer in time");

type Message = { url: string; secret: string; body: string; timeoutMs: number };

/** Posts a signed event once. Never rejects for what the endpoint does, only with the reason of `stop`. */
async function attempt(message: Message, http: HttpDispatcher, stop: AbortSignal): Promise<Outcome> {
  const { url, secret, body, timeoutMs } = message;
  const startedAt = new Date();
  const begin = performance.now();
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(TIMED_OUT), timeoutMs);
  const timing = () => ({ startedAt, durationMs: Math.round(performance.now() - begin) });
  try {
    const answer = await request(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "inference-webhooks/1",
        "service-signature": signatureHeader(secret, Math.floor(startedAt.getTime() / 1000), body),
      },
      body,
      dispatcher: http,
      signal: AbortSignal.any([limit.signal, stop]),
    });
    // Before the body: an answer's time is that of its status.
    const answered = timing();
    const { statusCode: status } = answer;
    const isDelivered = status >= 200 && status < 300;
    const redirected = status >= 300 && status < 400 ? ": redirects are not followed" : "";
    return {
      ...answered,
      result: isDelivered ? "delivered" : "status",
      status,
      response: await firstBytes(answer.body),
      error: isDelivered ? null : `answered ${status}${redirected}`,
    };
  } catch (error) {
    stop.throwIfAborted();
    return { ...timing(), ...failure(error, timeoutMs), status: null, response: null };
  } finally {
    clearTimeout(timer);
  }
}

/** The beginning of a body. A short one is read to its end, so that its connection can be used again. */
async function firstBytes(body: AsyncIterable<Buffer> & { destroy(): unknown }): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  const timer = setTimeout(() => body.destroy(), BODY_MS);
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > RESPONSE_BYTES) break;
    }
  } catch {
    // Cut by the endpoint or by us: the status has decided already, and what came is shown.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks).subarray(0, RESPONSE_BYTES).toString("utf8").replaceAll("\0", "\ufffd");
}

const CLOSED = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);
const SILENT = new Set(["UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT", "ETIMEDOUT"]);

/** Why there was no answer, in words for the endpoint's owner. */
function failure(error: unknown, timeoutMs: number): Pick<Outcome, "result" | "error"> {
  if (error === TIMED_OUT) return { result: "timeout", error: `no answer within ${timeoutMs / 1000} seconds` };
  if (error instanceof EndpointRefused) return { result: "refused", error: `not called: ${error.message}` };
  const { code = "", syscall = "", message = String(error) } = error as NodeJS.ErrnoException;
  if (SILENT.has(code)) return { result: "timeout", error: "the endpoint could not be connected to in time" };
  const words = () => {
    // The resolver's own errors: their codes can be those of sockets, of the connection to the name server.
    if (syscall.startsWith("query")) return `the host name could not be resolved (${code})`;
    if (code === "ECONNREFUSED") return "the connection was refused";
    if (CLOSED.has(code)) return "the connection was closed before an answer";
    return `${message.slice(0, 200)}${code === "" ? "" : ` (${code})`}`;
  };
  return { result: "connection", error: words() };
}

type Finished = Outcome & { claimed: Claimed };

/**
 * Writes what attempts came to, all in one transaction: the log, the next attempt, and the end of webhooks whose
 * delivery failed for the last time. Returns the webhooks that failed.
 */
async function recordResults(
  pool: pg.Pool,
  finished: readonly Finished[],
  delaysMs: readonly number[],
): Promise<string[]> {
  const rows = finished.map(({ claimed, ...outcome }) => ({
    id: claimed.id,
    number: claimed.attempt,
    delivered: outcome.result === "delivered",
    started_at: outcome.startedAt.toISOString(),
    duration_ms: outcome.durationMs,
    status: outcome.status,
    response: outcome.response,
    error: outcome.error,
  }));
  return await transaction(pool, async (client) => {
    const ended = await client.query<{ webhook_id: string }>({
      name: "webhook-results",
      text: RECORD,
      values: [JSON.stringify(rows), delaysMs],
    });
    if (ended.rows.length === 0) return [];
    const ids = ended.rows.map((row) => row.webhook_id);
    const failed = await client.query<{ id: string }>(
      "UPDATE webhook SET status = 'failed' WHERE id = ANY($1) AND status = 'active' RETURNING id",
      [ids],
    );
    await client.query(
      `UPDATE webhook_delivery SET status = 'skipped', next_attempt_at = NULL, finished_at = now()
       WHERE webhook_id = ANY($1) AND status = 'pending'`,
      [ids],
    );
    return failed.rows.map((row) => row.id);
  });
}

// A delivery may have been replayed, taken over after its lease, skipped or deleted meanwhile. It then gets the log
// line only, except for a success. An attempt from before a replay decides nothing.
const RECORD = `
  WITH result AS (
    SELECT * FROM jsonb_to_recordset($1::jsonb) AS r (id bigint, number int, delivered boolean, started_at timestamptz,
      duration_ms int, status int, response text, error text)
  ),
  -- Locked, so that none is deleted before its attempt is in the log; always in the same order.
  alive AS (SELECT d.id, d.first_attempt, d.is_test FROM webhook_delivery d JOIN result USING (id) ORDER BY d.id FOR UPDATE OF d),
  logged AS (
    INSERT INTO webhook_attempt (delivery_id, number, started_at, duration_ms, status, response, error)
    SELECT id, number, started_at, duration_ms, status, response, error FROM result JOIN alive USING (id)
    ON CONFLICT (delivery_id, number) DO UPDATE SET duration_ms = excluded.duration_ms, status = excluded.status,
      response = excluded.response, error = excluded.error
  ),
  changed AS (
    UPDATE webhook_delivery d SET status = next.status,
      next_attempt_at = CASE WHEN next.status = 'pending' THEN now() + next.delay_ms * interval '1 millisecond' END,
      finished_at = CASE WHEN next.status <> 'pending' THEN now() END
    FROM result r JOIN alive USING (id)
    -- The failed attempts before this one, since the last replay, choose the delay. A lost attempt has no duration.
    CROSS JOIN LATERAL (SELECT ($2::float8[])[1 + count(*)] AS delay_ms FROM webhook_attempt a
      WHERE NOT r.delivered AND a.delivery_id = r.id AND a.number >= alive.first_attempt AND a.number < r.number
        AND a.duration_ms IS NOT NULL) retry
    CROSS JOIN LATERAL (SELECT retry.delay_ms,
      CASE WHEN r.delivered THEN 'delivered' WHEN retry.delay_ms IS NULL OR alive.is_test THEN 'failed'
        ELSE 'pending' END AS status) next
    WHERE d.id = r.id AND r.number >= d.first_attempt
      AND (r.delivered OR (d.attempt = r.number AND d.status = 'pending'))
    RETURNING d.webhook_id, d.status, d.is_test
  )
  SELECT DISTINCT webhook_id FROM changed WHERE status = 'failed' AND NOT is_test`;
