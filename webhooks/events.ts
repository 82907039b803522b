/**
 * The events of webhooks (specification, "Events"): when each fires, from which rows of the index, and what its `data`
 * says. indexer/src/ writes the rows. The API reference is made from the schemas.
 */
import { randomBytes } from "node:crypto";
import { getAddress } from "viem";
import { z } from "zod";
import { view } from "../api/db/index-rows.ts";
import { address, contentHash as hash, jobId, txHash as transaction } from "../api/schemas/primitives.ts";
import { FAILURE_REASONS } from "../protocol/job-status.ts";
import { usdgValue } from "../protocol/money.ts";
import { TIERS } from "../protocol/tiers.ts";

/**
 * The worker of row `e` has enough stake to take jobs. Registering costs none, and each such event makes a delivery for every webhook that names it:
 * strangers could have the service send thousands for the gas of one transaction.
 */
const HAS_STAKE = `EXISTS (SELECT FROM ${view("worker")} registered, ${view("protocol_config")} terms
  WHERE registered.signer = e.worker AND registered.stake >= LEAST(terms.minimum_stake, terms.next_minimum_stake))`;

/** Date of the shape of all events below. A change that could break a receiver gets another one. */
const API_VERSION = "2026-11-01";

/** A row of the index's `protocol_event`, as far as webhook events are made from it. */
export type EventRow = {
  kind: string;
  blockNumber: number;
  txHash: string;
  data: Record<string, unknown>;
  /** The low-credit threshold of the row's wallet when it was mined. */
  threshold: number;
};

export type EventDefinition = {
  meaning: string;
  /** Kinds of rows that make the event. `when`: a condition in SQL; `e` is the row, `threshold` the wallet's own. */
  from: readonly { kind: string; when?: string }[];
  /** True for public facts of the network: they go to every webhook that names them. Others go to the row's wallet. */
  everyone?: boolean;
  /** Schema of `data`. Keys are always there; what is not known is null. */
  data: z.ZodObject;
  /** Fields that the row has under another name, or not at all. */
  fields: (row: EventRow) => Record<string, unknown>;
};

const whole = z.int().min(0);
const block = whole.describe("Block of the transaction when the event was first seen.");
const remaining = whole.describe("Spendable credits of the wallet after the event.");
const usdg = z.number().describe("Stablecoin value: credits / 100.");
const workerAddress = address.describe("Signing key of the worker.");
const lastWorker = workerAddress.nullable().describe("The worker that acknowledged the job last; null if none did.");

const job = { job_id: jobId, model: z.string().describe("Model id."), tier: z.enum(TIERS) };

/** Why a job failed. `equivocation`: its worker signed two different answers. */
const REASONS = [...FAILURE_REASONS, "equivocation"] as const;

const refunded = {
  worker_address: lastWorker,
  credits_refunded: whole,
  usdg_value: usdg,
  refund_tx: transaction,
  block_number: block,
  credits_remaining: remaining,
};
const refund = ({ data, txHash }: EventRow) => ({ credits_refunded: data.credits_returned, refund_tx: txHash });

// A proven job returns its escrow only because its worker equivocated: it was answered in time, so that is no timeout.
const EQUIVOCATED = "e.data->>'reason' IS NOT DISTINCT FROM 'equivocation'";
const CROSSED = "(e.data->>'total_before')::bigint >= threshold AND (e.data->>'total_after')::bigint < threshold";
const CREDITED = "(e.data->>'credits_compensated')::bigint > 0";

/** All events, in the order of the specification. Of two events from one row the first here is told first. */
export const EVENTS = {
  "job.submitted": {
    meaning: "A job is created and credits are locked in escrow.",
    from: [{ kind: "job.locked" }],
    data: z.object({
      ...job,
      credits_locked: whole.describe("Credits locked in escrow: the most the job can cost."),
      usdg_value: usdg,
      escrow_tx: transaction,
      block_number: block,
      credits_remaining: remaining,
    }),
    fields: ({ txHash }) => ({ escrow_tx: txHash }),
  },
  "job.processing": {
    meaning: "A worker acknowledged the job and inference started.",
    // A settlement from pending assigns its worker, too: the contract has no event of its own for that.
    from: [{ kind: "job.acknowledged" }, { kind: "job.settled", when: "(e.data->>'fused')::boolean" }],
    data: z.object({
      ...job,
      worker_address: workerAddress,
      attempt: z.int().min(1).describe("A later attempt's worker replaces the one before."),
      acknowledge_tx: transaction.describe(
        "The settlement itself where that came first: then `job.completed` follows at once.",
      ),
      block_number: block,
    }),
    fields: ({ txHash }) => ({ acknowledge_tx: txHash }),
  },
  "job.completed": {
    meaning: "The job settled on chain and the worker was paid.",
    from: [{ kind: "job.settled" }],
    data: z.object({
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
    fields: ({ data, txHash }) => ({ settlement_tx: txHash, completion_tokens: data.billed_tokens }),
  },
  "job.failed": {
    meaning: "The job failed before completion (routing error, worker dropped).",
    from: [{ kind: "job.failed" }, { kind: "job.refunded", when: EQUIVOCATED }],
    data: z.object({
      ...job,
      reason: z.enum(REASONS),
      ...refunded,
    }),
    fields: refund,
  },
  "job.timeout": {
    meaning: "No worker completed within 120 seconds; credits refunded.",
    from: [{ kind: "job.refunded", when: `NOT (${EQUIVOCATED})` }],
    data: z.object({ ...job, ...refunded }),
    fields: refund,
  },
  "job.disputed": {
    meaning: "A dispute was opened on a completed job.",
    from: [{ kind: "job.disputed" }],
    data: z.object({
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
    fields: () => ({}),
  },
  "credit.low": {
    meaning: "The balance fell below the configured threshold (default 100 credits, configurable in Settings).",
    // Everything that takes from free and escrowed credits together; a lock only moves them.
    from: ["job.settled", "account.withdrawn", "job.dispute_resolved"].map((kind) => ({ kind, when: CROSSED })),
    data: z.object({
      credits_remaining: remaining,
      usdg_value: usdg,
      threshold: whole.describe("The wallet's own threshold that spendable and escrowed credits together fell below."),
    }),
    fields: ({ data, threshold }) => ({ usdg_value: usdgValue(data.free as number), threshold }),
  },
  "credit.topup": {
    meaning: "Credits were added.",
    from: [
      { kind: "account.deposited" },
      { kind: "job.compensated", when: CREDITED },
      { kind: "job.operator_charged", when: CREDITED },
    ],
    data: z.object({
      credits_added: whole,
      usdg_value: usdg,
      source: z
        .enum(["deposit", "compensation"])
        .describe("Bought, or given back by operator or treasury after a ruling."),
      related_job_id: jobId.nullable().describe("The job a compensation is for; null for a deposit."),
      credits_due: z.number().min(0).nullable().describe("All that is due for that job; null for a deposit."),
      credits_outstanding: z
        .number()
        .min(0)
        .nullable()
        .describe("What of it is still to come, from the treasury, in a later `credit.topup`; null for a deposit."),
      topup_tx: transaction,
      block_number: block,
      credits_remaining: remaining,
    }),
    fields: ({ kind, data, txHash }) => ({
      credits_added: kind === "account.deposited" ? data.credits : data.credits_compensated,
      source: kind === "account.deposited" ? "deposit" : "compensation",
      related_job_id: data.job_id ?? null,
      credits_due: data.credits_due ?? null,
      credits_outstanding: data.credits_outstanding ?? null,
      topup_tx: txHash,
    }),
  },
  "worker.registered": {
    meaning: "A new worker registered, with at least the minimum stake (provider-facing).",
    from: [{ kind: "worker.registered", when: HAS_STAKE }],
    everyone: true,
    data: z.object({
      worker_address: workerAddress,
      owner_address: address.describe("Holds the worker's stake."),
      payout_address: address.describe("Is paid for the worker's jobs."),
      endpoint: z.string(),
      registration_tx: transaction,
      block_number: block,
    }),
    fields: ({ data, txHash }) => ({
      owner_address: checksummed(data.owner),
      payout_address: checksummed(data.payout),
      registration_tx: txHash,
    }),
  },
  "worker.slashed": {
    meaning: "A worker's stake was slashed after a confirmed fraudulent proof.",
    from: [{ kind: "worker.slashed" }],
    everyone: true,
    data: z.object({
      worker_address: workerAddress,
      slash_amount_svc: z.number().describe("Stake taken, in SVC."),
      slash_tx: transaction,
      reason: z
        .enum(["fraudulent_proof", "equivocation"])
        .describe("A panel's ruling, or two answers signed for one job."),
      related_job_id: jobId,
    }),
    fields: () => ({}),
  },
} as const satisfies Record<string, EventDefinition>;

export type EventName = keyof typeof EVENTS;

export const EVENT_NAMES = Object.keys(EVENTS) as [EventName, ...EventName[]];

/** The envelope of one event: the body of a delivery. */
export function envelopeSchema<Name extends EventName>(name: Name) {
  const data: (typeof EVENTS)[Name]["data"] = EVENTS[name].data;
  return z.object({
    id: z
      .string()
      .regex(/^evt_[0-9a-f]{32}$/)
      .meta({
        description: "Deduplicate by it: an event can be delivered more than once, always with this id.",
        examples: [`evt_${"e7".repeat(16)}`],
      }),
    event: z.literal(name),
    created_at: z.iso.datetime().describe("When it happened: time of its block."),
    api_version: z.literal(API_VERSION),
    data,
  });
}

/** Name of what a webhook's owner sends to it as a test. No webhook can name it, and no row of the index makes it. */
export const TEST_EVENT = "webhook.test";

/** A test in the envelope of an event. Its id, name and data all say that nothing happened. */
export function testEvent(webhookId: string, at: Date): { id: string; body: string } {
  const id = `evt_test_${randomBytes(16).toString("hex")}`;
  const data = { webhook_id: webhookId, message: "This is a test. Nothing happened." };
  const envelope = { id, event: TEST_EVENT, created_at: at.toISOString(), api_version: API_VERSION, data };
  return { id, body: JSON.stringify(envelope) };
}

/**
 * SQL of an event's id, from SQL expressions of the deployment, the row's key and the event's name. It is a digest of
 * these. So it is the same in every gateway, after a reorganisation, and for a new index.
 */
export function eventIdSql(deployment: string, key: string, name: string): string {
  const digest = `sha256(convert_to(${deployment} || '|' || ${key} || '|' || ${name}, 'UTF8'))`;
  return `'evt_' || left(encode(${digest}, 'hex'), 32)`;
}

/**
 * The body of an event's deliveries: written once, sent as it is. `blockTime` in Unix seconds.
 * Throws if the row lacks something: a fault of the index or of this table, never of the receiver.
 */
export function eventBody(id: string, event: EventName, blockTime: number, row: EventRow): string {
  const { data, fields }: EventDefinition = EVENTS[event];
  const known = {
    ...row.data,
    worker_address: checksummed(row.data.worker_address),
    block_number: row.blockNumber,
    credits_remaining: row.data.free,
    ...fields(row),
  };
  // The schema picks the event's own fields and gives them their order.
  const created_at = new Date(blockTime * 1000).toISOString();
  return JSON.stringify({ id, event, created_at, api_version: API_VERSION, data: data.parse(known) });
}

function checksummed(address: unknown): string | null {
  return typeof address === "string" ? getAddress(address) : null;
}
