/** The functions that all handlers share: an event's place on the chain, its row in protocol_event, and the row of protocol_config. */

import type { Address, Hex } from "viem";
import { chainPosition } from "../../protocol/index-schema.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { type job, protocolConfig, protocolEvent } from "../ponder.schema.ts";
import type { Context } from "../registry.ts";

export type ChainEvent = {
  args: object;
  block: { number: bigint; timestamp: bigint };
  transaction: { hash: Hex };
  log: { logIndex: number };
};

/** Where an event was mined. */
export function place(event: ChainEvent) {
  return {
    blockNumber: Number(event.block.number),
    position: chainPosition(event.block.number, event.log.logIndex),
    blockTime: Number(event.block.timestamp),
    txHash: event.transaction.hash,
  };
}

/** The job of an event that has none. */
const NO_JOB: Hex = `0x${"0".repeat(32)}`;
/** The job that an event names, null if it names none. */
export const jobOf = (jobId: Hex): Hex | null => (jobId === NO_JOB ? null : jobId);

type EventRecord = {
  kind: string;
  /** The thing that the event is about: job id, wallet, signer, operator or model number, contract name. */
  subject: string | number;
  /** Tells events of one kind and subject apart: a sequence, an attempt, or a voter and the number of its vote. */
  ordinal?: number | string;
  wallet?: Address;
  jobId?: Hex | null;
  worker?: Address | null;
  /** Arguments to be kept, if not as they are: packed words unpacked. */
  args?: object;
  /** Values that a reader would otherwise have to look up; they override arguments of the same name. */
  derived?: Record<string, unknown>;
};

/**
 * Appends an event to protocol_event: all its arguments, and what is derived. Returns its key.
 *
 * The key is the same after its transaction was mined again elsewhere and after a re-index.
 * Therefore nothing of where it was mined may go in: no hash, no log index, no time.
 */
export async function record(context: Context, event: ChainEvent, about: EventRecord): Promise<string> {
  const { kind, subject, ordinal, wallet = null, jobId = null, worker = null, args = event.args, derived } = about;
  const escrow = (context.contracts.InferenceEscrow.address as Address).toLowerCase();
  const key = [context.chain.id, escrow, subject, kind, ...(ordinal === undefined ? [] : [ordinal])].join(":");
  const data = { ...snakeCaseKeys(args), ...jsonSafe(derived ?? {}) };
  const row = { key, kind, subject: String(subject), wallet, jobId, worker, ...place(event), data };
  await context.db.insert(protocolEvent).values(row);
  return key;
}

type JobFacts = Pick<typeof job.$inferSelect, "id" | "wallet" | "model" | "tier" | "worker">;

/**
 * Appends an event of a job, with what every reader asks for: the job's id as the API has it, model, tier, worker.
 * The worker is the job's, unless the event names its own.
 */
export async function recordJob(
  context: Context,
  event: ChainEvent,
  { id, wallet, model, tier, ...row }: JobFacts,
  { derived, worker = row.worker, ...about }: Pick<EventRecord, "kind" | "ordinal" | "worker" | "args" | "derived">,
): Promise<void> {
  const facts = { job_id: toApiJobId(id), model, tier, worker_address: worker };
  await record(context, event, { ...about, subject: id, wallet, jobId: id, worker, derived: { ...facts, ...derived } });
}

/** The values as JSON. Integers of up to 48 bits are numbers already; larger ones are bigints and become decimal strings. */
function jsonSafe(value: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, safe(inner)]));
}

/** The same, with keys in snake case: `creditsPer1kTokens` → `credits_per_1k_tokens`. */
function snakeCaseKeys(value: object): Record<string, unknown> {
  const snake = (name: string): string => name.replace(/([a-z])([A-Z0-9])/g, "$1_$2").toLowerCase();
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [snake(key), safe(inner)]));
}

/** PostgreSQL's JSON has no NUL, which any worker can put into its endpoint. Columns of text lose it, too. */
function safe(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll("\0", "");
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return value.map(safe);
  return value !== null && typeof value === "object" ? snakeCaseKeys(value) : value;
}

type Config = typeof protocolConfig.$inferSelect;
const EMPTY: Config = {
  id: 1,
  feeBps: null,
  operatorShare: null,
  nextFeeBps: null,
  nextOperatorShare: null,
  feeChangesAt: null,
  treasury: null,
  guardian: null,
  pausedByGuardian: false,
  pausedByGovernance: false,
  compensationCap: null,
  minimumStake: null,
  slashAmount: null,
  nextMinimumStake: null,
  nextSlashAmount: null,
  stakeTermsChangeAt: null,
  arbiterSet: null,
  arbiters: null,
  arbiterQuorum: null,
  registryEscrow: null,
  owners: {},
  ownerChanges: {},
  feesDeferred: 0,
};

/** Changes the one row of protocol_config. Contracts are deployed in any order, so every event may be the first. */
export async function configure(
  context: Context,
  change: (before: Config) => Partial<Omit<Config, "id">>,
): Promise<Config> {
  return await context.db
    .insert(protocolConfig)
    .values({ ...EMPTY, ...change(EMPTY) })
    .onConflictDoUpdate(change);
}
