import { POSITIONS_PER_BLOCK } from "../../protocol/index-schema.ts";
import { API_JOB_ID } from "../index/jobs.ts";
import { type Reader, read, view } from "../index/query.ts";
import { eventIdSql } from "./envelope.ts";
import type { EventName } from "./event-schemas.ts";
import { EVENT_SOURCES, type SourceRow } from "./event-sources.ts";
import { DEFAULT_LOW_CREDIT_THRESHOLD } from "./settings.ts";

/** An event and a webhook that is to have it and has no delivery of it yet. */
export type Candidate = SourceRow & {
  webhookId: string;
  eventId: string;
  event: EventName;
  position: number;
  blockTime: number;
  /** False: for the log only, the webhook had failed when it happened. */
  send: boolean;
};

export type CandidateRange = {
  deployment: string;
  /** From this position on. */
  from: number;
  /** Last block, inclusive. */
  toBlock: number;
  limit: number;
};

/** `row` was mined after the moment that `what` keeps as block and time. A reorganisation can lower its block, not its time. */
const after = (what: string) => `(e.block_number > ${what}_block OR e.block_time > ${what}_time)`;

const SOURCES = EVENT_SOURCES.map(
  ({ event, kind, everyone = false }, number) => `(${number}, '${event}', '${kind}', ${everyone})`,
).join(", ");

const CONDITIONS = EVENT_SOURCES.map(({ when }, number) => (when ? `WHEN ${number} THEN ${when}` : "")).join(" ");

const EVENT_ID = eventIdSql("$1::text", "e.key", "source.event");

const TEXT = `
  SELECT w.id AS "webhookId", ${EVENT_ID} AS "eventId", source.event, e.kind, ${API_JOB_ID("e.job_id")} AS "jobId", e.data, threshold,
    e.position, e.block_number AS "blockNumber", e.block_time AS "blockTime", e.tx_hash AS "txHash",
    w.status = 'active' AND ${after("w.enabled")} AS send
  FROM ${view("protocol_event")} e
  JOIN (VALUES ${SOURCES}) source (number, event, kind, everyone) ON source.kind = e.kind
  JOIN webhook w ON source.event = ANY (w.events) AND (source.everyone OR w.wallet = e.wallet) AND ${after("w.created")}
  LEFT JOIN wallet_setting s ON s.wallet = e.wallet
  CROSS JOIN LATERAL (SELECT CASE WHEN s.wallet IS NULL THEN ${DEFAULT_LOW_CREDIT_THRESHOLD}
    WHEN ${after("s.threshold")} THEN s.low_credit_threshold ELSE s.threshold_before END AS threshold) setting
  WHERE e.position >= $2 AND e.position < $3
    AND CASE source.number ${CONDITIONS} ELSE true END
    AND NOT EXISTS (SELECT FROM webhook_delivery d WHERE d.webhook_id = w.id AND d.event_id = ${EVENT_ID})
  ORDER BY e.position, source.number, w.id LIMIT $4`;

/** Events in the range that webhooks are to have and have not, in chain order. Throws IndexUnavailable. */
export async function findCandidates(reader: Reader, range: CandidateRange): Promise<Candidate[]> {
  const { deployment, from, toBlock, limit } = range;
  const end = (toBlock + 1) * POSITIONS_PER_BLOCK;
  return await read<Candidate>(reader, "webhook_candidates", TEXT, [deployment, from, end, limit]);
}
