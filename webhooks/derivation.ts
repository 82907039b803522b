/** Makes deliveries from the rows of the index: for each event one delivery to each webhook that names it. */
import type pg from "pg";
import type { Logger } from "pino";
import { getHead, read } from "../api/db/index-reads.ts";
import { view } from "../api/db/index-rows.ts";
import { transaction } from "../api/db/pool.ts";
import type { WebhookMetrics } from "../api/observe/metrics.ts";
import { POSITIONS_PER_BLOCK } from "../protocol/index-schema.ts";
import {
  EVENT_NAMES,
  EVENTS,
  type EventDefinition,
  type EventName,
  type EventRow,
  eventBody,
  eventIdSql,
} from "./events.ts";
import { type ChainHead, DEFAULT_LOW_CREDIT_THRESHOLD } from "./receivers.ts";

export type DerivationSettings = {
  /** Names chain and contracts: part of every event's identity. */
  deployment: string;
  /** Blocks on top of an event's before it counts; 0 on a chain that mines on demand. */
  confirmations: number;
  /** Blocks below the watermark that are looked at again: as many as a reorganisation can replace. */
  reorgDepth: number;
  /** Days that an ended delivery stays in the log: an older event of a block looked at before is not missing, it was pruned. */
  logDays: number;
};

type Parts = { pool: pg.Pool; head: ChainHead; metrics: WebhookMetrics; logger: Logger };

const PAGE_SIZE = 2_000;

/**
 * A pass covers the rows from the watermark, less the reorganisation depth, to the index's head. The unique constraint
 * on (webhook, event id) makes repetitions harmless: passes may overlap, fail half-way, or run in several gateways.
 */
export class Deriver {
  readonly #parts: Parts;
  readonly #settings: DerivationSettings;

  constructor(parts: Parts, settings: DerivationSettings) {
    this.#parts = parts;
    this.#settings = settings;
  }

  /** One pass. `busy`: another gateway is at it. Throws IndexUnavailable while there is no index. */
  async pass(): Promise<"derived" | "nothing" | "busy"> {
    const { pool } = this.#parts;
    // Before the transaction. For a reorganisation Ponder locks the events, then the checkpoint that `getHead` reads:
    // a transaction that locked them the other way round could be a deadlock.
    const head = await getHead(pool);
    if (head === null || !head.ready) return "nothing";
    const to = head.blockNumber - this.#settings.confirmations;
    // Without webhooks there is nothing to look for. The next pass sees one that is being created now.
    const { rowCount: webhooks } = await pool.query({ name: "webhook-any", text: "SELECT FROM webhook LIMIT 1" });
    if (webhooks === 0) {
      const text = "UPDATE webhook_watermark SET block = $2 WHERE deployment = $1 AND block < $2";
      await pool.query({ name: "webhook-none", text, values: [this.#settings.deployment, to] });
      this.#parts.metrics.watermark.set(to);
      return "nothing";
    }
    let from: number | null = null;
    let made = 0;
    for (;;) {
      const page = await transaction(pool, (client) => this.#page(client, to, from));
      if (page === "busy") return "busy";
      made += page.made;
      if (page.next === null) return made > 0 ? "derived" : "nothing";
      from = page.next;
    }
  }

  /** A page of a pass: rows from position `from` to block `to`. `next`: where the next page begins; null for none. */
  async #page(
    client: pg.PoolClient,
    to: number,
    from: number | null,
  ): Promise<"busy" | { made: number; next: number | null }> {
    const { deployment, reorgDepth, logDays } = this.#settings;
    const watermark = await this.#lockWatermark(client, to);
    if (watermark === null) return "busy";

    const start = from ?? Math.max(0, watermark - reorgDepth + 1) * POSITIONS_PER_BLOCK;
    const end = (to + 1) * POSITIONS_PER_BLOCK;
    const values = [deployment, start, end, PAGE_SIZE, watermark, logDays * 86_400];
    const found = await read<Candidate>(client, "webhook_candidates", CANDIDATES, values);
    const made = await insert(client, this.#withBodies(found));
    const last = found.at(-1);
    if (last !== undefined && found.length === PAGE_SIZE) {
      // A full page may end between two webhooks of one row: the next page begins at that row again.
      return { made, next: made > 0 ? last.position : last.position + 1 };
    }
    const done = Math.max(watermark, to);
    await client.query("UPDATE webhook_watermark SET block = $2 WHERE deployment = $1 AND block <> $2", [
      deployment,
      done,
    ]);
    this.#parts.metrics.watermark.set(done);
    return { made, next: null };
  }

  /** The block up to which events are derived, locked against other gateways; null if one of them has it. */
  async #lockWatermark(client: pg.PoolClient, to: number): Promise<number | null> {
    const { deployment, reorgDepth } = this.#settings;
    const locked = await client.query<{ block: number }>(
      "SELECT block FROM webhook_watermark WHERE deployment = $1 FOR UPDATE SKIP LOCKED",
      [deployment],
    );
    const block = locked.rows[0]?.block;
    if (block === undefined) {
      // The first pass on this deployment, or another gateway holds the row. Webhooks may be older than the index.
      const { rows } = await client.query<{ block: number }>(
        `INSERT INTO webhook_watermark (deployment, block)
         SELECT $1, GREATEST(0, LEAST($2::bigint, (SELECT min(created_block) FROM webhook)))
         ON CONFLICT DO NOTHING RETURNING block`,
        [deployment, to],
      );
      return rows[0]?.block ?? null;
    }
    // A development chain that was killed can lose more blocks than a reorganisation. What it mines now is new.
    const chain = this.#parts.head.block.number;
    if (chain === 0 || chain >= block - reorgDepth) return block;
    this.#parts.logger.warn(
      { chain, watermark: block },
      "the chain has lost blocks that were final: events are derived from its head on",
    );
    return chain;
  }

  /** Candidates with the bodies of their events. One that makes no event is logged and does not hold up the others. */
  #withBodies(found: Candidate[]): (Candidate & { body: string })[] {
    const { metrics, logger } = this.#parts;
    const bodies = new Map<string, string>();
    return found.flatMap((candidate) => {
      const { eventId, event, blockTime, kind } = candidate;
      try {
        const body = bodies.get(eventId) ?? eventBody(eventId, event, blockTime, candidate);
        bodies.set(eventId, body);
        return [{ ...candidate, body }];
      } catch (error) {
        metrics.underivable.inc({ event });
        logger.error({ err: error, eventId, event, kind }, "a row of the index makes no event");
        return [];
      }
    });
  }
}

/** An event and a webhook that is to have it and has no delivery of it yet. */
type Candidate = EventRow & {
  webhookId: string;
  eventId: string;
  event: EventName;
  position: number;
  blockTime: number;
};

/** Row `e` was mined after the block and time of `what`. A reorganisation can lower its block, not its time. */
const after = (what: string) => `(e.block_number > ${what}_block OR e.block_time > ${what}_time)`;

const SOURCES = EVENT_NAMES.flatMap((event) => {
  const { from, everyone = false }: EventDefinition = EVENTS[event];
  return from.map((source) => ({ event, everyone, ...source }));
});
const SOURCE_ROWS = SOURCES.map(({ event, kind, everyone }, n) => `(${n}, '${event}', '${kind}', ${everyone})`);
const CONDITIONS = SOURCES.map(({ when }, number) => (when ? `WHEN ${number} THEN ${when}` : ""));

const EVENT_ID = eventIdSql("$1::text", "e.key", "source.event");

/**
 * The events of deployment $1, from position $2 to before $3, at most $4, in the order of the chain. Up to block $5 all was derived before:
 * what is older than $6 seconds there may be pruned from the log. A quiet chain's last blocks can be that old.
 */
const CANDIDATES = `
  SELECT w.id AS "webhookId", ${EVENT_ID} AS "eventId", source.event, e.kind, e.data, threshold,
    e.position, e.block_number AS "blockNumber", e.block_time AS "blockTime", e.tx_hash AS "txHash"
  FROM ${view("protocol_event")} e
  JOIN (VALUES ${SOURCE_ROWS.join(", ")}) source (number, event, kind, everyone) ON source.kind = e.kind
  -- By the wallet's index; all webhooks are looked through for the few events that go to everyone. A wallet without credits can have but one, and
  -- keeps those that it made before it withdrew: they get its own events, for which it paid.
  CROSS JOIN LATERAL (
    SELECT * FROM webhook WHERE NOT source.everyone AND webhook.wallet = e.wallet
    UNION ALL SELECT * FROM webhook WHERE source.everyone AND (
      NOT EXISTS (SELECT FROM webhook older WHERE older.wallet = webhook.wallet
        AND (older.created_at, older.id) < (webhook.created_at, webhook.id))
      OR EXISTS (SELECT FROM ${view("account")} a WHERE a.wallet = webhook.wallet AND a.free + a.escrowed > 0))
  ) w
  LEFT JOIN wallet_setting s ON s.wallet = e.wallet
  CROSS JOIN LATERAL (SELECT CASE WHEN s.wallet IS NULL THEN ${DEFAULT_LOW_CREDIT_THRESHOLD}
    WHEN ${after("s.threshold")} THEN s.low_credit_threshold ELSE s.threshold_before END AS threshold) setting
  WHERE source.event = ANY (w.events) AND ${after("w.created")}
    AND (w.events_since -> source.event IS NULL OR e.block_number > (w.events_since -> source.event ->> 0)::bigint
      OR e.block_time > (w.events_since -> source.event ->> 1)::bigint)
    AND e.position >= $2 AND e.position < $3 AND (e.block_number > $5 OR e.block_time > extract(epoch FROM now()) - $6)
    AND CASE source.number ${CONDITIONS.join(" ")} ELSE true END
    AND NOT EXISTS (SELECT FROM webhook_delivery d WHERE d.webhook_id = w.id AND d.event_id = ${EVENT_ID})
  ORDER BY e.position, source.number, w.id LIMIT $4`;

/** Writes events and deliveries that are not there yet; returns the number of new deliveries. */
async function insert(client: pg.PoolClient, found: (Candidate & { body: string })[]): Promise<number> {
  if (found.length === 0) return 0;
  const events = [...new Map(found.map((one) => [one.eventId, one])).values()];
  await client.query(
    `INSERT INTO webhook_event (id, name, occurred_at, body)
     SELECT id, name, to_timestamp(at), body
     FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS n(id, name, at, body)
     ON CONFLICT DO NOTHING`,
    [
      events.map((e) => e.eventId),
      events.map((e) => e.event),
      events.map((e) => e.blockTime),
      events.map((e) => e.body),
    ],
  );
  // The lock holds until the commit: nobody deletes a webhook, marks it failed or enables it between here and there.
  const { rowCount } = await client.query(
    `INSERT INTO webhook_delivery (webhook_id, event_id, status, next_attempt_at, finished_at)
     SELECT w.id, e.event, new.status, CASE new.status WHEN 'pending' THEN now() END,
       CASE new.status WHEN 'skipped' THEN now() END
     FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) WITH ORDINALITY
       AS e(webhook, event, block_number, block_time, number)
     JOIN webhook w ON w.id = e.webhook
     CROSS JOIN LATERAL (SELECT
       CASE WHEN w.status = 'active' AND ${after("w.enabled")} THEN 'pending' ELSE 'skipped' END AS status) new
     ORDER BY e.number FOR SHARE OF w
     ON CONFLICT (webhook_id, event_id) DO NOTHING`,
    [
      found.map((one) => one.webhookId),
      found.map((one) => one.eventId),
      found.map((one) => one.blockNumber),
      found.map((one) => one.blockTime),
    ],
  );
  return rowCount ?? 0;
}
