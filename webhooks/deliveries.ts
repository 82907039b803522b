/**
 * Sends what is due: a delivery is claimed, attempted, and its result written with the time of the next attempt.
 * Deliveries are claimed in the database, so any number of gateways can do this at once.
 */
import type pg from "pg";
import type { Logger } from "pino";
import { ifIndexed, walletsWithCredits } from "../api/db/index-reads.ts";
import { transaction } from "../api/db/pool.ts";
import { urlContext } from "../api/db/upkeep.ts";
import type { WebhookMetrics } from "../api/observe/metrics.ts";
import type { EndpointPolicy } from "../api/outbound/address.ts";
import type { Cipher } from "../shared/cipher.ts";
import { setNewest } from "../shared/newest.ts";
import { WriteLane } from "../shared/write-lane.ts";
import { isLate, type Outcome } from "./attempt.ts";
import { AttemptThread, longestMs } from "./attempt-thread.ts";
import { type DueWebhook, type Lane, type Pace, type Places, Running, shareOut } from "./places.ts";

export type DispatchSettings = {
  /** Attempts of this process at once. */
  concurrency: number;
  /** The most of these attempts that go to one wallet's webhooks: half to its prompt ones, half to those that are not. */
  perWallet: number;
  /** Limit of an answer (specification: 10 s). */
  timeoutMs: number;
  /** From each failed attempt to the next one; after the last the delivery and its webhook fail. */
  delaysMs: readonly number[];
};

type Parts = {
  pool: pg.Pool;
  cipher: Cipher;
  policy: EndpointPolicy;
  metrics: WebhookMetrics;
  logger: Logger;
  /** A place is free: claim again. */
  wake: () => void;
};

/** How long the webhooks of a wallet have no prompt places after a prompt one answered late; twice as long if it does so again soon. */
const LAPSE_MS = 300_000;
const LONGEST_LAPSE_MS = 3_600_000;
/**
 * Receivers of prompt webhooks may have half of their thread's time, those of webhooks that are not prompt a quarter of theirs, and those of wallets
 * without credits an eighth of theirs.
 */
const REST: Record<Lane["kind"], number> = { prompt: 1, others: 3, unpaid: 7 };

/** How long the dispatcher remembers when it last served a wallet. */
const SERVED_MS = 3_600_000;
/** Webhooks that one round looks at: thousands of them must not make each round long. */
const LOOKED_AT = 1_000;
const RETRY_RECORD_MS = 500;
/** Time after the longest that it takes at which an attempt without a result counts as lost: the result has to be written, too. */
const LEASE_SPARE_MS = 10_000;

/**
 * Each attempt runs on its own, so a slow endpoint holds up nobody else. Results are written together, as many as
 * have come in since the last write. Attempts of prompt webhooks have a thread of their own, and so have those for wallets without credits: a receiver
 * with a costly handshake delays only the attempts of its thread.
 */
export class DeliveryDispatcher {
  readonly #parts: Parts;
  readonly #settings: DispatchSettings;
  readonly #threads: Record<Lane["kind"], AttemptThread>;
  readonly #running = new Running();
  /** When a wallet's last attempt that was not prompt began, ms since the epoch. */
  readonly #served = new Map<string, number>();
  /** `at`: when a prompt webhook of a wallet last answered late, ms since the epoch; `ms`: for how long the wallet then has no prompt places. */
  readonly #lapsed = new Map<string, { at: number; ms: number }>();
  readonly #attempts = new Set<Promise<void>>();
  readonly #abort = new AbortController();
  /** Never rejects. */
  readonly #results = new WriteLane<Finished>((batch) => this.#write(batch));
  /** The last webhook that the round before looked at; empty at the beginning of a walk along all of them. */
  #lookedUpTo = "";

  constructor(parts: Parts, settings: DispatchSettings) {
    this.#parts = parts;
    this.#settings = settings;
    const { policy } = parts;
    this.#threads = {
      prompt: new AttemptThread(policy, REST.prompt),
      others: new AttemptThread(policy, REST.others),
      unpaid: new AttemptThread(policy, REST.unpaid),
    };
  }

  /** Lets running attempts end, at most `timeoutMs`. What is cut then is attempted again by the next gateway. */
  async stop(timeoutMs: number): Promise<void> {
    const timer = setTimeout(() => this.#abort.abort(new Error("the gateway stops")), timeoutMs);
    await Promise.all(this.#attempts);
    clearTimeout(timer);
    await Promise.all(Object.values(this.#threads).map((thread) => thread.stop()));
  }

  /** Begins an attempt of everything that is due, as far as there are free places. Never rejects. */
  async claim(): Promise<void> {
    const free = this.#settings.concurrency - this.#attempts.size;
    if (free <= 0) return; // a finished attempt calls `wake`
    try {
      const due = await this.#look();
      const shares = shareOut(due, await this.#places(free, due));
      if (shares.size > 0) await this.#take(due, shares);
      // Beyond the webhooks that were looked at, others may wait.
      if (this.#lookedUpTo !== "") this.#parts.wake();
    } catch (error) {
      this.#parts.logger.warn({ err: error }, "deliveries cannot be claimed; the next round tries again");
    }
  }

  /** Webhooks with deliveries that are due: the next part of a walk along all that have some pending. */
  async #look(): Promise<DueWebhook[]> {
    const values = [this.#lookedUpTo, LOOKED_AT, this.#settings.perWallet];
    const { rows } = await this.#parts.pool.query<DueWebhook & { step: number }>({
      name: "webhook-look",
      text: LOOK,
      values,
    });
    // The row of the last one is there in any case: the walk goes on behind it.
    const last = rows.at(-1);
    this.#lookedUpTo = last !== undefined && last.step === LOOKED_AT ? last.id : "";
    return rows.filter(({ due }) => due > 0);
  }

  async #places(free: number, due: readonly DueWebhook[]): Promise<Places> {
    for (const [wallet, at] of this.#served) if (at < Date.now() - SERVED_MS) this.#served.delete(wallet);
    const wallets = [...new Set(due.map(({ wallet }) => wallet))];
    const withCredits = await ifIndexed(walletsWithCredits(this.#parts.pool, wallets), null);
    const { concurrency, perWallet } = this.#settings;
    return {
      free,
      notPrompt: Math.ceil(concurrency / 2) - this.#running.notPrompt,
      unpaid: Math.ceil(concurrency / 4) - this.#running.unpaid,
      perLane: Math.ceil(perWallet / 2),
      running: this.#running,
      served: this.#served,
      // While the index is being built, credits are not known, so no wallet counts as one without credits.
      hasCredits: (wallet) => withCredits?.has(wallet) ?? true,
      hasLapsed: (wallet) => this.#hasLapsed(wallet),
    };
  }

  async #take(due: readonly DueWebhook[], shares: ReturnType<typeof shareOut>): Promise<void> {
    const lease = (longestMs(this.#settings.timeoutMs) + LEASE_SPARE_MS) / 1_000;
    const values = [[...shares.keys()], [...shares.values()].map(({ most }) => most), lease];
    const { rows } = await this.#parts.pool.query<Taken>({ name: "webhook-take", text: TAKE, values });
    const known = new Map(due.map((webhook) => [webhook.id, webhook]));
    for (const taken of rows) {
      const { pace } = known.get(taken.webhookId) as DueWebhook;
      const lane = shares.get(taken.webhookId)?.lane as Lane;
      if (lane.kind !== "prompt") this.#served.set(lane.wallet, Date.now());
      this.#begin({ ...taken, pace, lane });
    }
  }

  #begin(claimed: Claimed): void {
    const { webhookId, lane } = claimed;
    this.#running.change(webhookId, lane, 1);
    const over = this.#attempt(claimed)
      .then((outcome) => {
        // The place is free once the result is written: the same delivery cannot be claimed before.
        if (outcome !== null) return this.#results.add({ ...outcome, claimed });
      })
      .finally(() => {
        this.#running.change(webhookId, lane, -1);
        this.#attempts.delete(over);
        this.#parts.metrics.running.set(this.#attempts.size);
        this.#parts.wake();
      });
    this.#attempts.add(over);
    this.#parts.metrics.running.set(this.#attempts.size);
  }

  /** One attempt; null if it was cut, and so says nothing of the endpoint. */
  async #attempt(claimed: Claimed): Promise<Outcome | null> {
    const { cipher, metrics, logger } = this.#parts;
    const { id, webhookId, eventId, event, body } = claimed;
    let outcome: Outcome;
    let url: string;
    try {
      url = cipher.decrypt(claimed.url, urlContext(webhookId));
      const secret = cipher.decrypt(claimed.secret, webhookId);
      const { wallet: owner, kind } = claimed.lane;
      const message = { url, body, secret, timeoutMs: this.#settings.timeoutMs, owner };
      outcome = await this.#threads[kind].attempt(message, this.#abort.signal);
    } catch (error) {
      // Cut by the stop or by the death of its thread, or a secret of another master key. When the lease runs out, it is attempted again.
      logger.error({ err: error, delivery: id, webhook: webhookId }, "an attempt could not be made");
      return null;
    }
    const { result, status, durationMs: ms, error } = outcome;
    metrics.attempts.inc({ result });
    metrics.seconds.observe(ms / 1000);
    // Only the URL's host is logged: path and query may hold what the owner takes for a secret.
    const { host } = new URL(url);
    const about = { webhook: webhookId, delivery: id, eventId, event, attempt: claimed.attempt };
    const line = { ...about, host, status, ms, error };
    if (result === "delivered") logger.debug(line, "webhook delivered");
    else if (result === "delayed") logger.info(line, "webhook attempt given up, to be made again");
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

  #hasLapsed(wallet: string): boolean {
    const { at, ms } = this.#lapsed.get(wallet) ?? { at: 0, ms: 0 };
    return Date.now() - at < ms;
  }

  /** Notes a lapse. Attempts that fail during one began before it, and do not make it longer. */
  #lapse(wallet: string): void {
    if (this.#hasLapsed(wallet)) return;
    const { at, ms } = this.#lapsed.get(wallet) ?? { at: 0, ms: 0 };
    const isSoon = Date.now() - at < ms + LONGEST_LAPSE_MS;
    const next = isSoon ? Math.min(2 * ms, LONGEST_LAPSE_MS) : LAPSE_MS;
    setNewest(this.#lapsed, wallet, { at: Date.now(), ms: next });
  }

  /** Notes which webhooks answer in another way than before. */
  async #notePace(batch: readonly Finished[]): Promise<void> {
    const paces = new Map<string, Pace>();
    for (const { claimed, result, heldMs } of batch) {
      if (result === "delayed") continue;
      const late = isLate(heldMs, this.#settings.timeoutMs);
      const pace = result === "timeout" || result === "connection" ? "silent" : late ? "slow" : "prompt";
      if (pace !== "prompt" && claimed.lane.kind === "prompt") this.#lapse(claimed.lane.wallet);
      if (pace !== claimed.pace) paces.set(claimed.webhookId, pace);
    }
    if (paces.size === 0) return;
    await this.#parts.pool.query(
      `UPDATE webhook w SET pace = now.pace FROM unnest($1::text[], $2::text[]) AS now(id, pace)
       WHERE w.id = now.id AND w.pace <> now.pace`,
      [[...paces.keys()], [...paces.values()]],
    );
  }

  async #writeOnce(batch: readonly Finished[]): Promise<void> {
    const { pool, metrics, logger } = this.#parts;
    for (;;) {
      try {
        for (const webhook of await recordResults(pool, batch, this.#settings.delaysMs)) {
          metrics.failedWebhooks.inc();
          logger.warn({ webhook }, "webhook marked failed: a delivery failed for the last time");
        }
        await this.#notePace(batch);
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

/** A delivery as it was taken: its attempt is begun. */
type Taken = {
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

/** `pace`: how its webhook answered before; `lane`: whose place the attempt has. */
type Claimed = Taken & { pace: Pace; lane: Lane };

const IS_DUE = "d.status = 'pending' AND d.next_attempt_at <= now() AND (w.status = 'active' OR d.is_test)";

/**
 * Webhooks with due deliveries behind webhook $1, among the next $2 that have pending ones; at most $3 deliveries of each are counted. The row
 * of the last webhook that was looked at is there in any case.
 */
const LOOK = `
  -- Along the index from one webhook with pending rows to the next: one step, however long its backlog.
  WITH RECURSIVE walk AS (
    (SELECT webhook_id AS id, 1 AS step FROM webhook_delivery WHERE status = 'pending' AND webhook_id > $1
     ORDER BY webhook_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.webhook_id FROM webhook_delivery d WHERE d.status = 'pending' AND d.webhook_id > walk.id
            ORDER BY d.webhook_id LIMIT 1), step + 1
    FROM walk WHERE walk.id IS NOT NULL AND step < $2::int
  )
  SELECT w.id, w.wallet, w.pace, open.due, (extract(epoch FROM open.since) * 1000)::float8 AS since, walk.step
  FROM walk
  -- LIMIT: one by one along the key. Otherwise all webhooks are read, for what may be one of them.
  CROSS JOIN LATERAL (SELECT * FROM webhook WHERE id = walk.id LIMIT 1) w
  CROSS JOIN LATERAL (SELECT count(*)::int AS due, min(next_attempt_at) AS since FROM
    (SELECT d.next_attempt_at FROM webhook_delivery d WHERE d.webhook_id = w.id AND ${IS_DUE}
     ORDER BY d.next_attempt_at LIMIT $3) oldest) open
  WHERE open.due > 0 OR walk.step = $2::int
  ORDER BY walk.step`;

/**
 * Takes the oldest due deliveries of the webhooks $1, so many of each as $2 says. Rows that another gateway holds are passed over. An attempt
 * without a result (its gateway was killed) is logged as such and does not count as failed. $3: seconds after which a taken delivery's attempt
 * counts as lost.
 */
const TAKE = `
  WITH due AS (
    SELECT d.* FROM unnest($1::text[], $2::int[]) AS share(webhook, most)
    JOIN webhook w ON w.id = share.webhook
    CROSS JOIN LATERAL (
      SELECT d.id, d.attempt, d.next_attempt_at FROM webhook_delivery d WHERE d.webhook_id = w.id AND ${IS_DUE}
      ORDER BY d.next_attempt_at LIMIT share.most FOR UPDATE SKIP LOCKED
    ) d
  ),
  lost AS (
    INSERT INTO webhook_attempt (delivery_id, number, started_at, error)
    SELECT id, attempt, next_attempt_at - make_interval(secs => $3),
      'the gateway, or its thread for attempts, stopped during this attempt: its result is unknown'
    FROM due WHERE attempt > 0
    ON CONFLICT DO NOTHING
  ),
  claimed AS (
    UPDATE webhook_delivery d
    SET attempt = d.attempt + 1, next_attempt_at = now() + make_interval(secs => $3)
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
    delayed: outcome.result === "delayed",
    started_at: outcome.startedAt.toISOString(),
    duration_ms: outcome.durationMs,
    status: outcome.status,
    signature: outcome.signature,
    response_headers: outcome.responseHeaders,
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

/** Attempts of one delivery that its log keeps: the newest. A replay costs its wallet nothing. */
const ATTEMPTS_KEPT = 20;

// A delivery may have been replayed, taken over after its lease, skipped or deleted meanwhile. It then gets the log
// line only, except for a success. An attempt from before a replay decides nothing. A delayed one is as if it had not been made, and is due again.
const RECORD = `
  WITH result AS (
    SELECT * FROM jsonb_to_recordset($1::jsonb) AS r (id bigint, number int, delivered boolean, delayed boolean, started_at timestamptz,
      duration_ms int, status int, signature text, response_headers text, response text, error text)
  ),
  -- Locked, so that none is deleted before its attempt is in the log; always in the same order.
  alive AS (SELECT d.id, d.first_attempt, d.is_test FROM webhook_delivery d JOIN result USING (id) ORDER BY d.id FOR UPDATE OF d),
  logged AS (
    INSERT INTO webhook_attempt (delivery_id, number, started_at, duration_ms, status, signature, response_headers, response, error)
    SELECT id, number, started_at, duration_ms, status, signature, response_headers, response, error FROM result JOIN alive USING (id)
    WHERE NOT delayed
    ON CONFLICT (delivery_id, number) DO UPDATE SET duration_ms = excluded.duration_ms, status = excluded.status,
      signature = excluded.signature, response_headers = excluded.response_headers, response = excluded.response,
      error = excluded.error
  ),
  -- Replays must not make the log longer without an end. Those since the last replay choose the next delay.
  pruned AS (
    DELETE FROM webhook_attempt a USING result r, alive
    WHERE alive.id = r.id AND a.delivery_id = r.id AND a.number <= r.number - ${ATTEMPTS_KEPT} AND a.number < alive.first_attempt
  ),
  changed AS (
    UPDATE webhook_delivery d SET status = next.status, attempt = d.attempt - r.delayed::int,
      next_attempt_at = CASE WHEN next.status = 'pending' THEN now() + next.delay_ms * interval '1 millisecond' END,
      finished_at = CASE WHEN next.status <> 'pending' THEN now() END
    FROM result r JOIN alive USING (id)
    -- The failed attempts before this one, since the last replay, choose the delay. A lost attempt has no duration.
    CROSS JOIN LATERAL (SELECT CASE WHEN r.delayed THEN 0 ELSE ($2::float8[])[1 + count(*)] END AS delay_ms FROM webhook_attempt a
      WHERE NOT r.delivered AND a.delivery_id = r.id AND a.number >= alive.first_attempt AND a.number < r.number
        AND a.duration_ms IS NOT NULL) retry
    CROSS JOIN LATERAL (SELECT retry.delay_ms,
      CASE WHEN r.delivered THEN 'delivered' WHEN r.delayed THEN 'pending'
        WHEN retry.delay_ms IS NULL OR alive.is_test THEN 'failed' ELSE 'pending' END AS status) next
    WHERE d.id = r.id AND r.number >= d.first_attempt
      AND (r.delivered OR (d.attempt = r.number AND d.status = 'pending'))
    RETURNING d.webhook_id, d.status, d.is_test
  )
  SELECT DISTINCT webhook_id FROM changed WHERE status = 'failed' AND NOT is_test`;
