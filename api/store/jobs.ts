import { createHash } from "node:crypto";
import type pg from "pg";
import type { Address, Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import type { JobQuery } from "../index/index.ts";
import { type AnsweredStep, JobSteps, type LockedStep, type SettledStep } from "./job-steps.ts";
import { COLUMNS, readJob, SELECT, type StoredJob, type StoredState } from "./stored-job.ts";

export type JobChange = Partial<Omit<StoredJob, "jobId" | "wallet" | "gateway" | "model" | "tier">>;

/** Bounds of API ids, exclusive, and of the times of locks (Unix seconds), inclusive. */
export type JobRange = { idAbove?: string; idBelow?: string; lockedFrom?: number; lockedUntil?: number };

/** The gateway's job rows: written at each step, overlaid on the index by reads, taken up again after a crash. */
export class JobStore {
  readonly #pool: pg.Pool;
  readonly #steps: JobSteps;
  readonly #onState: (state: StoredState) => void;

  /** `onState` is called whenever a job was written in a new state. */
  constructor(pool: pg.Pool, onState: (state: StoredState) => void = () => {}) {
    this.#pool = pool;
    this.#steps = new JobSteps(pool);
    this.#onState = onState;
  }

  /** A mined lock, with the job's first offer. A state that the job has reached meanwhile stays. */
  async locked(step: LockedStep): Promise<void> {
    await this.#steps.locked(step);
    this.#onState("pending");
  }

  /** The worker has acknowledged. Nobody waits for this write: a short job can be further by the time it is made. */
  async acknowledged(jobId: Hex): Promise<void> {
    await this.#steps.acknowledged(jobId);
    this.#onState("processing");
  }

  /** The answer and its Completion: the step before settlement, after which a crash loses nothing. */
  async answered(step: AnsweredStep): Promise<void> {
    await this.#steps.answered(step);
    this.#onState("settling");
  }

  /** The mined settlement. */
  async settled(step: SettledStep): Promise<void> {
    await this.#steps.settled(step);
    this.#onState("settled");
  }

  /** Writes the named fields. */
  async update(jobId: Hex, change: JobChange): Promise<void> {
    const entries = Object.entries(change) as [keyof typeof COLUMNS, unknown][];
    const sets = entries.map(([name], index) => `${COLUMNS[name]} = $${index + 2}`);
    const text = `UPDATE job SET ${sets.join(", ")}, updated_at = now() WHERE job_id = $1`;
    await this.#pool.query({
      // One name a text; PostgreSQL cuts names at 63 characters.
      name: `job-update-${createHash("sha256").update(text).digest("hex").slice(0, 16)}`,
      text,
      values: [toApiJobId(jobId), ...entries.map(([, value]) => value)],
    });
    if (change.state) this.#onState(change.state);
  }

  /** One job; null if this gateway's database does not know it. */
  async find(jobId: Hex): Promise<StoredJob | null> {
    const result = await this.#pool.query({
      name: "job-find",
      text: `${SELECT} WHERE job_id = $1`,
      values: [toApiJobId(jobId)],
    });
    return result.rows[0] ? readJob(result.rows[0]) : null;
  }

  /** Rows of the given jobs, for the overlay of a list. */
  async findMany(jobIds: readonly string[]): Promise<StoredJob[]> {
    if (jobIds.length === 0) return [];
    const result = await this.#pool.query({
      name: "job-find-many",
      text: `${SELECT} WHERE job_id = ANY($1)`,
      values: [jobIds],
    });
    return result.rows.map(readJob);
  }

  /**
   * API ids of what an index may not show yet of a wallet's newest jobs: of the `limit` newest locked ones in the range, those that the query admits
   * and that were locked at `since` (Unix seconds) or later. Where a status is asked for: those that are in it, as far as this service
   * knows, and were locked or written since. Newest first; ids are UUIDv7, so their order is the order of creation. `end`: the oldest job
   * looked at, null if all were.
   */
  async newest(
    { wallet, model, status }: Pick<JobQuery, "wallet" | "model" | "status">,
    { idAbove, idBelow, lockedFrom, lockedUntil }: JobRange,
    since: number,
    limit: number,
  ): Promise<{ ids: string[]; end: string | null }> {
    const result = await this.#pool.query({
      name: "job-newest",
      // The limit is on what is looked at, not on what is found: rare states and models would cost a walk through all of a wallet's rows.
      // Blocks' times and the database's clock can differ by a little.
      text: `WITH looked_at AS (
               SELECT job_id, model, state, dispute_tx, locked_at, settled_at, updated_at FROM job
               WHERE wallet = $1 AND escrow_tx IS NOT NULL
               AND ($3::text IS NULL OR job_id < $3) AND ($4::text IS NULL OR job_id > $4)
               AND ($5::bigint IS NULL OR locked_at <= $5) AND ($6::bigint IS NULL OR locked_at >= $6)
               ORDER BY job_id DESC LIMIT $2)
             SELECT job.job_id, reach.looked, reach.end_id
             FROM (SELECT count(*)::integer AS looked, min(job_id) AS end_id FROM looked_at) AS reach
             LEFT JOIN looked_at AS job
               ON ($7::text IS NULL OR job.model = $7)
               AND ($8::text IS NULL OR job.state = $8 OR ($8 = 'disputed' AND job.dispute_tx IS NOT NULL))
               AND (job.locked_at IS NULL OR job.locked_at >= $9
                 OR ($8 IS NOT NULL AND (job.settled_at >= $9 OR job.updated_at >= to_timestamp($9 - 60))))
             ORDER BY job.job_id DESC`,
      values: [
        wallet.toLowerCase(),
        limit,
        idBelow ?? null,
        idAbove ?? null,
        lockedUntil ?? null,
        lockedFrom ?? null,
        model ?? null,
        status ?? null,
        since,
      ],
    });
    const { looked, end_id } = result.rows[0] as { looked: number; end_id: string | null };
    const ids = result.rows.flatMap(({ job_id }) => (job_id === null ? [] : [job_id as string]));
    return { ids, end: looked < limit ? null : end_id };
  }

  /**
   * The chain took operations of these jobs back, or mined them elsewhere, where they can have come to something else: jobs that were
   * over are unfinished again, for recovery to see how they stand, and a dispute may be none. Where and when they had ended is no longer
   * so. `failure` stays: a job that its client was refused is never charged; so does the charge of an answer that is to be settled again.
   */
  async reopen(jobIds: readonly Hex[]): Promise<void> {
    await this.#pool.query(
      `UPDATE job SET state = CASE WHEN state = 'settled' THEN 'settling' WHEN state = 'unlocked' THEN 'locking'
                                   WHEN state IN ('failed', 'refunded') THEN 'pending' ELSE state END,
                      settlement_tx = NULL, settlement_block = NULL, settled_at = NULL, refund_tx = NULL, dispute_tx = NULL,
                      updated_at = now()
       WHERE job_id = ANY($1) AND (state IN ('settled', 'unlocked', 'failed', 'refunded') OR dispute_tx IS NOT NULL)`,
      [jobIds.map(toApiJobId)],
    );
  }

  /** Jobs of this gateway that are not over: what a restart takes up. */
  async unfinished(gateway: Address): Promise<StoredJob[]> {
    const result = await this.#pool.query(
      `${SELECT} WHERE gateway = $1 AND state IN ('locking', 'pending', 'processing', 'settling') ORDER BY created_at`,
      [gateway.toLowerCase()],
    );
    return result.rows.map(readJob);
  }

  /** The stored answer, encrypted; null if none is kept. */
  async output(jobId: Hex): Promise<Buffer | null> {
    const result = await this.#pool.query("SELECT output FROM job WHERE job_id = $1 AND output_expires_at > now()", [
      toApiJobId(jobId),
    ]);
    return result.rows[0]?.output ?? null;
  }

  /** Deletes rows of jobs that ended that many days ago: the index has them. */
  async deleteEnded(days: number): Promise<void> {
    await this.#pool.query(
      `DELETE FROM job WHERE state IN ('unlocked', 'settled', 'failed', 'refunded') AND output IS NULL
       AND updated_at < now() - make_interval(days => $1)`,
      [days],
    );
  }

  /** Erases answers whose time is over; returns how many. */
  async eraseExpiredOutputs(): Promise<number> {
    const result = await this.#pool.query(
      "UPDATE job SET output = NULL WHERE output IS NOT NULL AND output_expires_at <= now()",
    );
    return result.rowCount ?? 0;
  }
}
