/** What an event says: names, `data` of each and the envelope (specification, "Events"). The documentation is made from it. */
import { z } from "zod";
import { TIERS } from "../../protocol/tiers.ts";

/** Date of the shape of all events below. A change that could break a receiver gets another one. */
export const API_VERSION = "2026-11-01";

const jobId = z.string().regex(/^job_[0-9a-f]{32}$/);
const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
const transaction = z.string().regex(/^0x[0-9a-f]{64}$/);
const hash = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const whole = z.int().min(0);
const block = whole.describe("Block of the transaction when the event was first seen.");
const remaining = whole.describe("Spendable credits of the wallet after the event.");
const usdg = z.number().describe("Stablecoin value: credits / 100.");
const workerAddress = address.describe("Signing key of the worker.");
const lastWorker = workerAddress.nullable().describe("The worker that acknowledged the job last; null if none did.");

const job = {
  job_id: jobId,
  model: z.string().describe("Model id."),
  tier: z.enum(TIERS),
};

/** Why a job failed. `equivocation`: its worker signed two different answers. */
const FAILURE_REASONS = [
  "routing_failed",
  "worker_failed",
  "hash_mismatch",
  "answer_lost",
  "cancelled",
  "equivocation",
] as const;

/** `data` of each event. Keys are always there; what is not known is null. */
export const EVENT_DATA = {
  "job.submitted": z.object({
    ...job,
    credits_locked: whole.describe("Credits locked in escrow: the most the job can cost."),
    usdg_value: usdg,
    escrow_tx: transaction,
    block_number: block,
    credits_remaining: remaining,
  }),
  "job.processing": z.object({
    ...job,
    worker_address: workerAddress,
    attempt: z.int().min(1).describe("A later attempt's worker replaces the one before."),
    acknowledge_tx: transaction.describe(
      "The settlement itself where that came first: then `job.completed` follows at once.",
    ),
    block_number: block,
  }),
  "job.completed": z.object({
    ...job,
    credits_charged: whole,
    usdg_value: usdg,
    worker_address: workerAddress,
    settlement_tx: transaction,
    block_number: block,
    prompt_tokens: whole,
    completion_tokens: whole.describe("Output tokens that were billed."),
    credits_remaining: remaining,
  }),
  "job.failed": z.object({
    ...job,
    reason: z.enum(FAILURE_REASONS),
    worker_address: lastWorker,
    credits_refunded: whole,
    usdg_value: usdg,
    refund_tx: transaction,
    block_number: block,
    credits_remaining: remaining,
  }),
  "job.timeout": z.object({
    ...job,
    worker_address: lastWorker,
    credits_refunded: whole,
    usdg_value: usdg,
    refund_tx: transaction,
    block_number: block,
    credits_remaining: remaining,
  }),
  "job.disputed": z.object({
    ...job,
    worker_address: workerAddress,
    your_hash: hash.nullable().describe("What the client says it received; null for nothing."),
    worker_hash: hash.describe("What the worker signed."),
    opened_by: z.enum(["operator", "wallet"]).describe("Through the API, or by the wallet itself on chain."),
    credits_disputed: whole,
    usdg_value: usdg,
    dispute_tx: transaction,
    arbitration_window_hours: z.number(),
    block_number: block,
    credits_remaining: remaining,
  }),
  "credit.low": z.object({
    credits_remaining: remaining,
    usdg_value: usdg,
    threshold: whole.describe("The wallet's own threshold that spendable and escrowed credits together fell below."),
  }),
  "credit.topup": z.object({
    credits_added: whole,
    usdg_value: usdg,
    source: z
      .enum(["deposit", "compensation"])
      .describe("Bought, or given back by operator or treasury after a ruling."),
    related_job_id: jobId.nullable().describe("The job a compensation is for; null for a deposit."),
    topup_tx: transaction,
    block_number: block,
    credits_remaining: remaining,
  }),
  "worker.registered": z.object({
    worker_address: workerAddress,
    owner_address: address.describe("Holds the worker's stake."),
    payout_address: address.describe("Is paid for the worker's jobs."),
    endpoint: z.string(),
    registration_tx: transaction,
    block_number: block,
  }),
  "worker.slashed": z.object({
    worker_address: workerAddress,
    slash_amount_svc: z.number().describe("Stake taken, in SVC."),
    slash_tx: transaction,
    reason: z
      .enum(["fraudulent_proof", "equivocation"])
      .describe("A panel's ruling, or two answers signed for one job."),
    related_job_id: jobId,
  }),
} as const;

export type EventName = keyof typeof EVENT_DATA;
export type EventData<Name extends EventName = EventName> = z.output<(typeof EVENT_DATA)[Name]>;

/** All event names, in the order of the specification. */
export const EVENT_NAMES = Object.keys(EVENT_DATA) as [EventName, ...EventName[]];

/** When each event fires (specification, "Events"). */
export const EVENT_MEANINGS: Record<EventName, string> = {
  "job.submitted": "A job is created and credits are locked in escrow.",
  "job.processing": "A worker acknowledged the job and inference started.",
  "job.completed": "The job settled on chain and the worker was paid.",
  "job.failed": "The job failed before completion (routing error, worker dropped).",
  "job.timeout": "No worker completed within 120 seconds; credits refunded.",
  "job.disputed": "A dispute was opened on a completed job.",
  "credit.low": "The balance fell below the configured threshold (default 100 credits, configurable in Settings).",
  "credit.topup": "Credits were added.",
  "worker.registered": "A new worker registered (provider-facing).",
  "worker.slashed": "A worker's stake was slashed after a confirmed fraudulent proof.",
};

/** Event id: the same for the same event, however often it is delivered, mined again or indexed anew. */
const eventIdSchema = z.string().regex(/^evt_[0-9a-f]{32}$/);

/** The envelope of one event: the body of a delivery. */
export function envelopeSchema<Name extends EventName>(name: Name) {
  return z.object({
    id: eventIdSchema.describe("Deduplicate by it: an event can be delivered more than once, always with this id."),
    event: z.literal(name),
    created_at: z.iso.datetime().describe("When it happened: time of its block."),
    api_version: z.literal(API_VERSION),
    data: EVENT_DATA[name],
  });
}
