import type pg from "pg";
import type { Address, Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import { WriteLane } from "../../protocol/write-lane.ts";
import type { SignedCompletion } from "./stored-job.ts";

/** The offer of a job to a worker. */
export type Offer = { worker: Address; workerEndpoint: string; attempt: number; acknowledgeBy: number };
export type LockedStep = { jobId: Hex; escrowTx: Hex; lockedAt: number; credits: number; offer: Offer | null };
export type AnsweredStep = {
  jobId: Hex;
  /** Who answered, in which attempt, with its signature that it took the job: what its settlement needs after a restart. */
  worker: Address;
  attempt: number;
  acknowledgement: Hex | null;
  completion: SignedCompletion;
  countedTokens: number;
  finalTokenAt: Date;
  creditsCharged: number;
  /** The answer, encrypted; null keeps none. */
  output: Buffer | null;
  retentionHours: number;
};
export type SettledStep = {
  jobId: Hex;
  settlementTx: Hex;
  settlementBlock: number;
  settledAt: number;
  creditsCharged: number;
};

/**
 * The steps that every job's row takes, written for many jobs at a time. Rows are locked in the order of their ids, so that two
 * statements over the same jobs never wait for each other.
 */
export class JobSteps {
  readonly #lanes: {
    locked: WriteLane<LockedStep>;
    acknowledged: WriteLane<Hex>;
    answered: WriteLane<AnsweredStep>;
    settled: WriteLane<SettledStep>;
  };

  constructor(pool: pg.Pool) {
    const lane = <T>(step: Step<T>) => new WriteLane<T>((items) => pool.query(statementOf(step, items)));
    this.#lanes = {
      locked: lane(LOCKED),
      acknowledged: lane(ACKNOWLEDGED),
      answered: lane(ANSWERED),
      settled: lane(SETTLED),
    };
  }

  /** A mined lock, with the first offer if there is one. What the job has reached meanwhile stays: its state, and who answered. */
  locked(step: LockedStep): Promise<void> {
    return this.#lanes.locked.add(step);
  }

  /** The worker has acknowledged. Nobody waits for this write: a short job can be further by the time it is made. */
  acknowledged(jobId: Hex): Promise<void> {
    return this.#lanes.acknowledged.add(jobId);
  }

  /** The answer and its Completion: the step before settlement, after which a crash loses nothing. */
  answered(step: AnsweredStep): Promise<void> {
    return this.#lanes.answered.add(step);
  }

  /** The mined settlement. */
  settled(step: SettledStep): Promise<void> {
    return this.#lanes.settled.add(step);
  }
}

/** One kind of step: its columns with their types, the values of a row in that order, and what it sets. */
type Step<T> = {
  name: string;
  columns: Record<string, string>;
  values: (item: T) => unknown[];
  set: string;
  where?: string;
};

const LOCKED: Step<LockedStep> = {
  name: "job-locked",
  columns: {
    escrow_tx: "text",
    locked_at: "bigint",
    credits_locked: "integer",
    worker: "text",
    worker_endpoint: "text",
    attempt: "smallint",
    acknowledge_by: "bigint",
  },
  values: ({ escrowTx, lockedAt, credits, offer }) => [
    escrowTx,
    lockedAt,
    credits,
    offer?.worker ?? null,
    offer?.workerEndpoint ?? null,
    offer?.attempt ?? 0,
    offer?.acknowledgeBy ?? null,
  ],
  set: `state = CASE state WHEN 'locking' THEN 'pending' ELSE state END, escrow_tx = new.escrow_tx, locked_at = new.locked_at,
        credits_locked = new.credits_locked, worker_endpoint = new.worker_endpoint, acknowledge_by = new.acknowledge_by,
        worker = CASE WHEN completion IS NULL THEN new.worker ELSE job.worker END,
        attempt = CASE WHEN completion IS NULL THEN new.attempt ELSE job.attempt END`,
};

const ACKNOWLEDGED: Step<Hex> = {
  name: "job-acknowledged",
  columns: {},
  values: () => [],
  set: "state = 'processing'",
  where: "job.state = 'pending'",
};

const ANSWERED: Step<AnsweredStep> = {
  name: "job-answered",
  columns: {
    worker: "text",
    attempt: "smallint",
    acknowledgement: "text",
    completion: "jsonb",
    counted_tokens: "integer",
    final_token_at: "timestamptz",
    credits_charged: "integer",
    output: "bytea",
    hours: "integer",
  },
  values: ({
    worker,
    attempt,
    acknowledgement,
    completion,
    countedTokens,
    finalTokenAt,
    creditsCharged,
    output,
    retentionHours,
  }) => [
    worker,
    attempt,
    acknowledgement,
    JSON.stringify(completion),
    countedTokens,
    finalTokenAt,
    creditsCharged,
    output,
    retentionHours,
  ],
  set: `state = 'settling', worker = new.worker, attempt = new.attempt, acknowledgement = new.acknowledgement,
        completion = new.completion, counted_tokens = new.counted_tokens,
        final_token_at = new.final_token_at, credits_charged = new.credits_charged, output = new.output,
        output_expires_at = now() + make_interval(hours => new.hours)`,
};

const SETTLED: Step<SettledStep> = {
  name: "job-settled",
  columns: { settlement_tx: "text", settlement_block: "bigint", settled_at: "bigint", credits_charged: "integer" },
  values: ({ settlementTx, settlementBlock, settledAt, creditsCharged }) => [
    settlementTx,
    settlementBlock,
    settledAt,
    creditsCharged,
  ],
  set: `state = 'settled', settlement_tx = new.settlement_tx, settlement_block = new.settlement_block,
        settled_at = new.settled_at, credits_charged = new.credits_charged`,
};

function statementOf<T>(step: Step<T>, items: readonly T[]): pg.QueryConfig {
  const { name, set, where = "true", values } = step;
  const columns = Object.entries({ job_id: "text", ...step.columns });
  const rows = items.map((item) => [toApiJobId(jobIdOf(item)), ...values(item)]);
  const arrays = columns.map(([, type], index) => `$${index + 1}::${type}[]`).join(", ");
  const names = columns.map(([column]) => column).join(", ");
  return {
    name,
    text: `UPDATE job SET ${set}, updated_at = now()
           FROM (SELECT given.* FROM unnest(${arrays}) AS given(${names}) JOIN job USING (job_id)
                 ORDER BY job_id FOR NO KEY UPDATE OF job) AS new
           WHERE job.job_id = new.job_id AND ${where}`,
    values: columns.map((_, index) => rows.map((row) => row[index])),
  };
}

const jobIdOf = (item: unknown): Hex => (typeof item === "string" ? (item as Hex) : (item as { jobId: Hex }).jobId);
