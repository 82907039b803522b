/** Which rows of the index's protocol_event are which events, and what each says (docs/indexer-events.md has the rows). */
import { usdgValue } from "../../protocol/money.ts";
import { showAddress } from "../http/request.ts";
import type { ProtocolEventRow } from "../index/index.ts";
import { EVENT_DATA, type EventData, type EventName } from "./event-schemas.ts";

/**
 * One way for an event to come about. `when` is a condition on the row in SQL (`e` is the row, `threshold` the wallet's own);
 * `everyone` events are public facts of the network and go to every webhook that names them, the others to their wallet's.
 */
export type EventSource = { event: EventName; kind: string; when?: string; everyone?: boolean };

const CROSSED = "(e.data->>'total_before')::bigint >= threshold AND (e.data->>'total_after')::bigint < threshold";
const CREDITED = "(e.data->>'credits_compensated')::bigint > 0";
// A settlement from pending assigns its worker, too: the contract has no event of its own for that.
const FUSED = "(e.data->>'fused')::boolean";
// A proven job returns its escrow only because its worker equivocated: it was answered in time, so that is no timeout.
const EQUIVOCATION = "e.data->>'reason' IS NOT DISTINCT FROM 'equivocation'";

/** Of two events from one row the first here is told first. */
export const EVENT_SOURCES: readonly EventSource[] = [
  { event: "job.submitted", kind: "job.locked" },
  { event: "job.processing", kind: "job.acknowledged" },
  { event: "job.processing", kind: "job.settled", when: FUSED },
  { event: "job.completed", kind: "job.settled" },
  { event: "job.failed", kind: "job.failed" },
  { event: "job.failed", kind: "job.refunded", when: EQUIVOCATION },
  { event: "job.timeout", kind: "job.refunded", when: `NOT (${EQUIVOCATION})` },
  { event: "job.disputed", kind: "job.disputed" },
  // Everything that takes from free and escrowed credits together; a lock only moves them.
  { event: "credit.low", kind: "job.settled", when: CROSSED },
  { event: "credit.low", kind: "account.withdrawn", when: CROSSED },
  { event: "credit.low", kind: "job.dispute_resolved", when: CROSSED },
  { event: "credit.topup", kind: "account.deposited" },
  { event: "credit.topup", kind: "job.compensated", when: CREDITED },
  { event: "credit.topup", kind: "job.operator_charged", when: CREDITED },
  { event: "worker.registered", kind: "worker.registered", everyone: true },
  { event: "worker.slashed", kind: "worker.slashed", everyone: true },
];

export type SourceRow = Pick<ProtocolEventRow, "kind" | "jobId" | "blockNumber" | "txHash" | "data"> & {
  /** The wallet's threshold that holds for the row. */
  threshold: number;
};

type Builders = { [Name in EventName]: (row: SourceRow) => unknown };

/** `data` of an event from its row. Throws if the row lacks something: a fault of index or mapping, never of the receiver. */
export function eventData<Name extends EventName>(event: Name, row: SourceRow): EventData<Name> {
  return EVENT_DATA[event].parse(BUILDERS[event](row)) as EventData<Name>;
}

const BUILDERS: Builders = {
  "job.submitted": ({ data, txHash, blockNumber }) => ({
    ...job(data),
    credits_locked: data.credits_locked,
    usdg_value: usdgValue(data.credits_locked as number),
    escrow_tx: txHash,
    block_number: blockNumber,
    credits_remaining: data.free,
  }),
  "job.processing": ({ data, txHash, blockNumber }) => ({
    ...job(data),
    worker_address: shown(data.worker_address),
    attempt: data.attempt,
    acknowledge_tx: txHash,
    block_number: blockNumber,
  }),
  "job.completed": ({ data, txHash, blockNumber }) => ({
    ...job(data),
    credits_charged: data.credits_charged,
    usdg_value: usdgValue(data.credits_charged as number),
    worker_address: shown(data.worker_address),
    settlement_tx: txHash,
    block_number: blockNumber,
    prompt_tokens: data.prompt_tokens,
    completion_tokens: data.billed_tokens,
    credits_remaining: data.free,
  }),
  "job.failed": (row) => ({ ...refund(row), reason: row.data.reason }),
  "job.timeout": (row) => refund(row),
  "job.disputed": ({ data, txHash, blockNumber }) => ({
    ...job(data),
    worker_address: shown(data.worker_address),
    your_hash: data.your_hash,
    worker_hash: data.worker_hash,
    opened_by: data.opened_by,
    credits_disputed: data.credits_disputed,
    usdg_value: usdgValue(data.credits_disputed as number),
    dispute_tx: txHash,
    arbitration_window_hours: data.arbitration_window_hours,
    block_number: blockNumber,
    credits_remaining: data.free,
  }),
  "credit.low": ({ data, threshold }) => ({
    credits_remaining: data.free,
    usdg_value: usdgValue(data.free as number),
    threshold,
  }),
  "credit.topup": ({ kind, jobId, data, txHash, blockNumber }) => {
    const deposit = kind === "account.deposited";
    const credits = (deposit ? data.credits : data.credits_compensated) as number;
    return {
      credits_added: credits,
      usdg_value: usdgValue(credits),
      source: deposit ? "deposit" : "compensation",
      related_job_id: jobId,
      topup_tx: txHash,
      block_number: blockNumber,
      credits_remaining: data.free,
    };
  },
  "worker.registered": ({ data, txHash, blockNumber }) => ({
    worker_address: shown(data.worker_address),
    owner_address: shown(data.owner),
    payout_address: shown(data.payout),
    endpoint: data.endpoint,
    registration_tx: txHash,
    block_number: blockNumber,
  }),
  "worker.slashed": ({ data, txHash }) => ({
    worker_address: shown(data.worker_address),
    slash_amount_svc: data.slash_amount_svc,
    slash_tx: txHash,
    reason: data.reason,
    related_job_id: data.related_job_id,
  }),
};

const job = (data: Record<string, unknown>) => ({ job_id: data.job_id, model: data.model, tier: data.tier });

const refund = ({ data, txHash, blockNumber }: SourceRow) => ({
  ...job(data),
  worker_address: shown(data.worker_address),
  credits_refunded: data.credits_returned,
  usdg_value: usdgValue(data.credits_returned as number),
  refund_tx: txHash,
  block_number: blockNumber,
  credits_remaining: data.free,
});

const shown = (address: unknown) => (typeof address === "string" ? showAddress(address) : null);
