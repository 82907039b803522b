import type { Context } from "ponder:registry";
import type { job } from "ponder:schema";
import { toApiJobId } from "../../protocol/job-id.ts";
import { type ChainEvent, type EventRecord, record } from "./event.ts";

type JobFacts = Pick<typeof job.$inferSelect, "id" | "wallet" | "model" | "tier" | "worker">;
type AboutJob = Pick<EventRecord, "kind" | "ordinal" | "worker" | "args" | "derived">;

/**
 * Appends an event of a job, with what every reader of one asks for: the job's id as the API has it, model, tier, worker.
 * The worker is the job's, unless the event names its own.
 */
export async function recordJob(
  context: Context,
  event: ChainEvent,
  { id, wallet, model, tier, ...row }: JobFacts,
  { derived, worker = row.worker, ...about }: AboutJob,
): Promise<void> {
  const facts = { job_id: toApiJobId(id), model, tier, worker_address: worker };
  await record(context, event, { ...about, subject: id, wallet, jobId: id, worker, derived: { ...facts, ...derived } });
}
