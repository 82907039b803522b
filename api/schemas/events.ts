import { z } from "zod";
import { address, count, jobId, modelId, tier, timestamp, txHash, usdg } from "./primitives.ts";

/** Every event a webhook can receive (specification, "Events"). */
export const EVENT_NAMES = [
  "job.submitted",
  "job.processing",
  "job.completed",
  "job.failed",
  "job.timeout",
  "job.disputed",
  "credit.low",
  "credit.topup",
  "worker.registered",
  "worker.slashed",
] as const;
export type EventName = (typeof EVENT_NAMES)[number];

const remaining = count("Free credits after the event.", 9_992);
const block = count("Block of the transaction.", 4_711);
const job = { job_id: jobId, model: modelId, tier };

/** `data` of each event. Names of fields that the specification leaves open follow those of the job and the error details. */
export const EVENT_DATA = {
  "job.submitted": z.object({
    ...job,
    credits_locked: count("Credits in escrow.", 8),
    usdg_value: usdg,
    escrow_tx: txHash,
    block_number: block,
    credits_remaining: remaining,
  }),
  "job.processing": z.object({ ...job, worker_address: address }),
  "job.completed": z.object({
    ...job,
    credits_charged: count("Credits charged.", 8),
    usdg_value: usdg,
    worker_address: address,
    settlement_tx: txHash,
    block_number: block,
    prompt_tokens: count("Tokens of the prompt.", 12),
    completion_tokens: count("Billed output tokens.", 84),
    credits_remaining: remaining,
  }),
  "job.failed": z.object({
    ...job,
    reason: z.string().meta({ description: "Why it failed.", examples: ["worker_failed"] }),
    credits_returned: count("Credits that went back to the balance.", 8),
    credits_remaining: remaining,
  }),
  "job.timeout": z.object({
    ...job,
    credits_refunded: count("Credits that went back to the balance.", 8),
    refund_tx: txHash,
    credits_remaining: remaining,
  }),
  "job.disputed": z.object({
    ...job,
    worker_address: address,
    your_hash: z.string(),
    worker_hash: z.string(),
    dispute_tx: txHash,
    arbitration_window_hours: z.int(),
  }),
  "credit.low": z.object({
    credits_remaining: remaining,
    usdg_value: usdg,
    threshold: count("The threshold that was crossed.", 100),
  }),
  "credit.topup": z.object({
    credits_added: count("Credits added.", 1_000),
    usdg_value: usdg,
    topup_tx: txHash,
    credits_remaining: remaining,
  }),
  "worker.registered": z.object({ worker_address: address, models: z.array(modelId) }),
  "worker.slashed": z.object({
    worker_address: address,
    slash_amount_svc: z.number().meta({ description: "Stake tokens.", examples: [500] }),
    slash_tx: txHash,
    reason: z.string().meta({ examples: ["fraudulent_proof"] }),
    related_job_id: jobId,
  }),
} satisfies Record<EventName, z.ZodType>;

/** What is delivered: one event in its envelope. */
export const envelopeOf = (name: EventName) =>
  z.object({
    id: z.string().regex(/^evt_/).meta({ description: "The same at every delivery of the event: deduplicate by it." }),
    event: z.literal(name),
    created_at: timestamp,
    api_version: z
      .string()
      .regex(/^\d{4}-\d\d-\d\d$/)
      .meta({ description: "Version of the payload." }),
    data: EVENT_DATA[name],
  });
