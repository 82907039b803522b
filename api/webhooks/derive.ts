import type pg from "pg";
import type { Logger } from "pino";
import { POSITIONS_PER_BLOCK } from "../../protocol/index-schema.ts";
import { getHead, IndexUnavailable } from "../index/index.ts";
import { transaction } from "../store/database.ts";
import { type Candidate, findCandidates } from "./candidates.ts";
import type { ChainHead } from "./context.ts";
import { envelope } from "./envelope.ts";
import { eventData } from "./event-sources.ts";
import type { WebhookMetrics } from "./metrics.ts";

export type DeriveSettings = {
  /** Names chain and contracts: part of every event's identity. */
  deployment: string;
  /** Blocks on top of an event's before it counts; 0 on a chain that mines on demand. */
  confirmations: number;
  /** Blocks below the watermark that are looked at again: as many as a reorganisation can replace. */
  reorgDepth: number;
  /** Candidates a transaction. */
  pageSize?: number;
};

/** What a pass did. `busy`: another gateway was at it. */
export type Pass = "derived" | "nothing" | "busy";

/**
 * Makes deliveries from the index: for each event from the watermark (less the reorganisation depth) up to the index's head, one delivery for each
 * webhook that is to have it. The unique constraint on (webhook, event id) makes repetitions harmless, so passes may overlap, fail in the middle
 * or run in several gateways: the watermark only says where the next one begins.
 */
export class Deriver {
  readonly #pool: pg.Pool;
  readonly #head: ChainHead;
  readonly #settings: Required<DeriveSettings>;
  readonly #metrics: WebhookMetrics;
  readonly #logger: Logger;

  constructor(pool: pg.Pool, head: ChainHead, settings: DeriveSettings, metrics: WebhookMetrics, logger: Logger) {
    this.#pool = pool;
    this.#head = head;
    this.#settings = { pageSize: 2_000, ...settings };
    this.#metrics = metrics;
    this.#logger = logger;
  }

  /** One pass over everything that is new, or may have changed. Throws IndexUnavailable while there is no index. */
  async pass(): Promise<Pass> {
    let from: number | null = null;
    let made = 0;
    for (;;) {
      const page = await transaction(this.#pool, (client) => this.#page(client, from));
      if (page === "busy") return "busy";
      made += page.made;
      if (page.next === null) return made > 0 ? "derived" : "nothing";
      from = page.next;
    }
  }

  /** One page of a pass in a transaction of its own; `next`: position the following one begins at, null after the last. */
  async #page(client: pg.PoolClient, from: number | null): Promise<"busy" | { made: number; next: number | null }> {
    const { deployment, confirmations, reorgDepth, pageSize } = this.#settings;
    const head = await getHead(client);
    if (head === null || !head.ready) return { made: 0, next: null };
    const to = head.blockNumber - confirmations;
    const watermark = await this.#lockWatermark(client, to);
    if (watermark === "busy") return "busy";

    const begin = from ?? Math.max(0, watermark - reorgDepth + 1) * POSITIONS_PER_BLOCK;
    // Blocks come often and webhooks may be none: then there is nothing to look for. One that is just being created is seen by the next pass.
    const { rowCount: any } = await client.query("SELECT FROM webhook LIMIT 1");
    const found =
      any === 0 ? [] : await findCandidates(client, { deployment, from: begin, toBlock: to, limit: pageSize });
    const made = await insert(client, this.#rendered(found));
    const last = found.at(-1);
    if (last !== undefined && found.length === pageSize) {
      // A full page may have cut one event's webhooks in two: the next one begins at that event again, without those that are done.
      return { made, next: made > 0 ? last.position : last.position + 1 };
    }
    if (to > watermark) {
      await client.query("UPDATE webhook_watermark SET block = $2 WHERE deployment = $1", [deployment, to]);
    }
    this.#metrics.watermark.set(Math.max(watermark, to));
    return { made, next: null };
  }

  /** The block up to which events are derived, locked against other gateways. */
  async #lockWatermark(client: pg.PoolClient, to: number): Promise<number | "busy"> {
    const { deployment, reorgDepth } = this.#settings;
    const LOCK = "SELECT block FROM webhook_watermark WHERE deployment = $1 FOR UPDATE SKIP LOCKED";
    const { rows } = await client.query(LOCK, [deployment]);
    const block = rows[0]?.block as number | undefined;
    if (block === undefined) {
      const known = await client.query("SELECT FROM webhook_watermark WHERE deployment = $1", [deployment]);
      if ((known.rowCount ?? 0) > 0) return "busy";
      // The first pass on this deployment. Webhooks may be older than the index is complete.
      const { rowCount } = await client.query(
        `INSERT INTO webhook_watermark (deployment, block)
         SELECT $1, GREATEST(0, LEAST($2::bigint, (SELECT min(created_block) FROM webhook))) ON CONFLICT DO NOTHING`,
        [deployment, to],
      );
      return rowCount === 1 ? await this.#lockWatermark(client, to) : "busy";
    }
    // Only a development chain that was killed and lost blocks can be so much shorter; what it mines from now on is new.
    const chain = this.#head.block.number;
    if (chain > 0 && chain < block - reorgDepth) {
      this.#logger.warn(
        { chain, watermark: block },
        "the chain has lost blocks that were final: events are derived from its head on",
      );
      await client.query("UPDATE webhook_watermark SET block = $2 WHERE deployment = $1", [deployment, chain]);
      return chain;
    }
    return block;
  }

  /** Candidates with the body of their event. One that cannot be rendered is left out, loudly: it must not hold up all others. */
  #rendered(found: Candidate[]): Rendered[] {
    const bodies = new Map<string, string>();
    return found.flatMap((candidate) => {
      const { eventId, event, blockTime } = candidate;
      try {
        const body = bodies.get(eventId) ?? envelope(eventId, event, blockTime, eventData(event, candidate));
        bodies.set(eventId, body);
        return [{ ...candidate, body }];
      } catch (error) {
        this.#metrics.underivable.inc({ event });
        this.#logger.error({ err: error, eventId, event, kind: candidate.kind }, "a row of the index makes no event");
        return [];
      }
    });
  }
}

type Rendered = Candidate & { body: string };

/** Writes events and deliveries that are not there yet; returns the number of new deliveries. */
async function insert(client: pg.PoolClient, rendered: Rendered[]): Promise<number> {
  if (rendered.length === 0) return 0;
  const events = [...new Map(rendered.map((one) => [one.eventId, one])).values()];
  await client.query(
    `INSERT INTO webhook_event (id, name, occurred_at, body)
     SELECT id, name, to_timestamp(at), body FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS n(id, name, at, body)
     ON CONFLICT DO NOTHING`,
    [
      events.map((e) => e.eventId),
      events.map((e) => e.event),
      events.map((e) => e.blockTime),
      events.map((e) => e.body),
    ],
  );
  // The lock keeps a webhook from being deleted between here and the commit; a deleted one is no longer joined.
  const { rowCount } = await client.query(
    `INSERT INTO webhook_delivery (webhook_id, event_id, status, next_attempt_at, finished_at)
     SELECT w.id, n.event, CASE WHEN n.send THEN 'pending' ELSE 'skipped' END,
       CASE WHEN n.send THEN now() END, CASE WHEN NOT n.send THEN now() END
     FROM unnest($1::text[], $2::text[], $3::boolean[]) WITH ORDINALITY AS n(webhook, event, send, number)
     JOIN webhook w ON w.id = n.webhook ORDER BY n.number FOR KEY SHARE OF w
     ON CONFLICT (webhook_id, event_id) DO NOTHING`,
    [rendered.map((r) => r.webhookId), rendered.map((r) => r.eventId), rendered.map((r) => r.send)],
  );
  return rowCount ?? 0;
}

/** Whether an error of a pass only says that the index is not there yet. */
export const isWaiting = (error: unknown): boolean => error instanceof IndexUnavailable;
