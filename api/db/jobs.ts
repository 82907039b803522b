/**
 * A job's row: what the gateway that runs a job knows of it before the index does, and what a restart needs to end it. This file is its only
 * writer; `upkeep.ts` only encrypts kept answers anew. Each step is one statement, written for many jobs at a time:
 *
 *   step      state before                          state after
 *   insert    none                                  locking     in the statement that records the lock's transaction (outbox)
 *   locked    locking                               pending     the lock is mined; a later state stays
 *   taken     locking, pending                      processing  a worker acknowledged, and does not answer at once; a later attempt is noted
 *                                                               before its offer leaves
 *   left      any                                   the same    the client's connection ended, and what it had been sent; the job is charged all the same.
 *                                                               Written with the end of the job, if that comes soon
 *   refused   any                                   the same    the client got an error: `failure` says why, and nobody may charge it
 *   withdraw  settling                              the same    the worker proved the kept answer on chain, so the refusal is withdrawn
 *   answered  any that is not over                  settling    answer and signed Completion; a crash after it loses nothing
 *   ended     any                                   settled, failed, refunded, unlocked (never locked)
 *   reopen    settled, failed, refunded, unlocked   the one before: a reorganisation took the end back
 *
 * A row belongs to one process (`owner`), and only that one writes its steps: after another process claimed the row they fail with JobLost.
 * A claim also refuses each job whose client waited for the process that is gone: that client cannot have its answer, so nobody charges it. A job
 * is kept if its request can be repeated (an Idempotency-Key, a job id of the client's), or if its client had left before.
 */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { Address, Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import type { FailureReasonName, JobState } from "../../protocol/job-status.ts";
import type { Completion } from "../../protocol/messages.ts";
import type { Tier } from "../../protocol/tiers.ts";
import { retry } from "../../shared/retry.ts";
import { WriteLane } from "../../shared/write-lane.ts";
import { CHAIN_JOB_ID, column, type Reader, type RowOf, select, snakeCase } from "./pool.ts";

/** `locking` and `unlocked` are the gateway's own: a client never sees a job in them. */
export type StoredState = Exclude<JobState, "disputed"> | "locking" | "unlocked";
/**
 * The columns that are set when a process takes over an earlier one's job: the client that waited for the earlier process got no answer.
 */
const CLIENT_LOST = `failure_reason = CASE WHEN repeatable OR client_left OR failure IS NOT NULL THEN failure_reason ELSE 'answer_lost' END,
                     failure = CASE WHEN repeatable OR client_left THEN failure
                                    ELSE COALESCE(failure, 'the gateway ended while its client waited') END`;
const UNFINISHED = "('locking', 'pending', 'processing', 'settling')";

export type SignedCompletion = { completion: Completion; signature: Hex; finish_reason: string };

/** One job as its gateway knows it. Times are Unix seconds of the chain, credits whole credits. */
const JOB = {
  jobId: column<Hex>(CHAIN_JOB_ID),
  wallet: column<Address>(),
  /** Signer that locked it, or whose process claimed it later. */
  gateway: column<Address>(),
  model: column<string>(),
  tier: column<Tier>(),
  state: column<StoredState>(),
  /** The lock must be mined before this time. */
  validUntil: column<number>(),
  lockedAt: column<number | null>(),
  creditsLocked: column<number>(),
  /** Output tokens that its request asked for, at most; null if it may reason: then they limit the reasoning, too. */
  maxTokens: column<number | null>(),
  escrowTx: column<Hex | null>(),
  /** The last attempt on record and its worker: one that acknowledged, or any from the second attempt on. */
  attempt: column<number>(),
  worker: column<Address | null>(),
  /** The worker's signature that it took the attempt in which it answered; null if it gave none. */
  acknowledgement: column<Hex | null>(),
  /** Output tokens as the gateway bounds them. */
  countedTokens: column<number | null>(),
  completion: column<SignedCompletion | null>(),
  finalTokenAt: column<Date | null>(),
  /** SHA-256 of the text that its client was sent, and whether that was the whole reply; null while it is being sent, or where that is not known. */
  sentHash: column<Hex | null>(),
  /** Its length in UTF-16 code units. */
  sentCharacters: column<number | null>(),
  sentComplete: column<boolean | null>(),
  creditsCharged: column<number | null>(),
  settlementTx: column<Hex | null>(),
  settlementBlock: column<number | null>(),
  settledAt: column<number | null>(),
  refundTx: column<Hex | null>(),
  /** Transaction with which this service opened a dispute. */
  disputeTx: column<Hex | null>(),
  /** Why its client got an error. No gateway settles a job that has one, unless its worker proved the answer on chain. */
  failure: column<string | null>(),
  /** The reason of that on chain; `timeout` is refunded. Null without `failure`, and for a job that was never locked. */
  failureReason: column<FailureReasonName | "timeout" | null>(),
};
export type StoredJob = RowOf<typeof JOB>;

const SELECT = `SELECT ${select(JOB)} FROM job`;

// ---------------------------------------------------------------- new rows

/** A job whose lock is about to be sent. */
export type NewJob = {
  jobId: Hex;
  wallet: Address;
  gateway: Address;
  operator: number;
  owner: string;
  model: string;
  tier: Tier;
  validUntil: number;
  creditsLocked: number;
  /** Output tokens of the answer, at most; null if the request's `max_tokens` limits reasoning too. */
  maxTokens: number | null;
  /** True if the client can repeat the request and then gets this job's answer. */
  repeatable: boolean;
};

/**
 * Statement that inserts new jobs, given as JSON in the parameter. A job that is there already stays as it is: its lock goes out a
 * second time, in another transaction.
 */
export const insertJobs = (parameter: `$${number}`): string =>
  `INSERT INTO job (job_id, wallet, gateway, operator, owner, model, tier, state, valid_until, credits_locked, max_tokens, repeatable)
   SELECT job_id, wallet, gateway, operator, owner, model, tier, 'locking', valid_until, credits_locked, max_tokens, repeatable
   FROM jsonb_to_recordset(${parameter}::jsonb) AS new (job_id text, wallet text, gateway text, operator integer, owner uuid,
     model text, tier text, valid_until bigint, credits_locked integer, max_tokens integer, repeatable boolean)
   ON CONFLICT (job_id) DO NOTHING`;

/** The parameter of `insertJobs`. */
export const newJobsJson = (jobs: readonly NewJob[]): string =>
  JSON.stringify(
    jobs.map((job) => ({
      job_id: toApiJobId(job.jobId),
      wallet: job.wallet.toLowerCase(),
      gateway: job.gateway.toLowerCase(),
      operator: job.operator,
      owner: job.owner,
      model: job.model,
      tier: job.tier,
      valid_until: job.validUntil,
      credits_locked: job.creditsLocked,
      max_tokens: job.maxTokens,
      repeatable: job.repeatable,
    })),
  );

// ---------------------------------------------------------------- steps

/** A mined lock. */
type LockedStep = { jobId: Hex; escrowTx: Hex; lockedAt: number; credits: number };
/** A worker and the attempt that it is offered, or has `acknowledged`. */
type TakenStep = { jobId: Hex; worker: Address; attempt: number; acknowledged: boolean };
/** Why the client of a job got an error: the reason on chain, and words for the operator. */
type RefusedStep = { jobId: Hex; reason: FailureReasonName | "timeout"; why: string };
/** The text that a client had been sent when its connection ended. */
type LeftStep = { jobId: Hex; sentHash: Hex; sentCharacters: number; sentComplete: boolean };
export type AnsweredStep = {
  jobId: Hex;
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
/** How a job ended, with what is known of it: the settlement's transaction, block, time and charge, or the transaction that returned the credits. */
type EndedStep = {
  jobId: Hex;
  state: "settled" | "failed" | "refunded" | "unlocked";
  settlementTx?: Hex;
  settlementBlock?: number;
  settledAt?: number;
  creditsCharged?: number;
  refundTx?: Hex;
  failure?: string;
} & Partial<Omit<LeftStep, "jobId">>;

/** One kind of step: the types of its values, which are columns of `new` by their names in snake case, and what it sets. */
type Step<T> = { name: string; types: Record<Exclude<keyof T, "jobId">, string>; set: string };

const LOCKED: Step<LockedStep> = {
  name: "locked",
  types: { escrowTx: "text", lockedAt: "bigint", credits: "integer" },
  set: `state = CASE state WHEN 'locking' THEN 'pending' ELSE state END, escrow_tx = new.escrow_tx,
        locked_at = new.locked_at, credits_locked = new.credits`,
};

const TAKEN: Step<TakenStep> = {
  name: "taken",
  types: { worker: "text", attempt: "smallint", acknowledged: "boolean" },
  // A worker can be offered a lock that is only promised, and a mined one can be written later than this. A short job can even have its answer by now.
  set: `state = CASE WHEN state IN ('locking', 'pending') AND new.acknowledged THEN 'processing' ELSE state END,
        worker = CASE WHEN completion IS NULL THEN new.worker ELSE job.worker END,
        attempt = CASE WHEN completion IS NULL THEN new.attempt ELSE job.attempt END`,
};

const LEFT: Step<LeftStep> = {
  name: "left",
  types: { sentHash: "text", sentCharacters: "integer", sentComplete: "boolean" },
  set: `client_left = true, sent_hash = new.sent_hash, sent_characters = new.sent_characters,
        sent_complete = new.sent_complete`,
};

/** Why a job was refused whose worker had refused it first, and then took it on chain: nothing that it says of the job is believed. */
export const TOOK_REFUSED = "took_refused";

const REFUSED: Step<RefusedStep> = {
  name: "refused",
  types: { reason: "text", why: "text" },
  set: `failure_reason = CASE WHEN job.failure IS NULL THEN new.reason ELSE job.failure_reason END,
        failure = CASE WHEN new.why = '${TOOK_REFUSED}' THEN new.why ELSE COALESCE(job.failure, new.why) END`,
};

const ANSWERED: Step<AnsweredStep> = {
  name: "answered",
  types: {
    worker: "text",
    attempt: "smallint",
    acknowledgement: "text",
    completion: "jsonb",
    countedTokens: "integer",
    finalTokenAt: "timestamptz",
    creditsCharged: "integer",
    output: "bytea",
    retentionHours: "integer",
  },
  set: `state = CASE WHEN state IN ${UNFINISHED} THEN 'settling' ELSE state END, worker = new.worker, attempt = new.attempt, acknowledgement = new.acknowledgement,
        completion = new.completion, counted_tokens = new.counted_tokens, final_token_at = new.final_token_at,
        credits_charged = new.credits_charged, output = new.output,
        output_expires_at = now() + make_interval(hours => new.retention_hours)`,
};

const ENDED: Step<EndedStep> = {
  name: "ended",
  types: {
    state: "text",
    settlementTx: "text",
    settlementBlock: "bigint",
    settledAt: "bigint",
    creditsCharged: "integer",
    refundTx: "text",
    failure: "text",
    ...LEFT.types,
  },
  set: `state = new.state, settlement_tx = COALESCE(new.settlement_tx, job.settlement_tx),
        settlement_block = COALESCE(new.settlement_block, job.settlement_block),
        settled_at = COALESCE(new.settled_at, job.settled_at),
        credits_charged = COALESCE(new.credits_charged, job.credits_charged),
        refund_tx = COALESCE(new.refund_tx, job.refund_tx), failure = COALESCE(job.failure, new.failure),
        client_left = job.client_left OR new.sent_hash IS NOT NULL, sent_hash = COALESCE(new.sent_hash, job.sent_hash),
        sent_characters = COALESCE(new.sent_characters, job.sent_characters),
        sent_complete = COALESCE(new.sent_complete, job.sent_complete)`,
};

/** A step as PostgreSQL gets it: owner, job ids, then a list for each of the properties. */
type Statement<T> = { name: string; text: string; properties: Exclude<keyof T, "jobId">[] };

/** Rows are locked in the order of their ids, so that two statements over the same jobs never wait for each other. */
function statementOf<T>({ name, types, set }: Step<T>): Statement<T> {
  const given = Object.entries<string>(types);
  const lists = given.map(([, type], index) => `, $${index + 3}::${type}[]`).join("");
  const names = given.map(([property]) => `, ${snakeCase(property)}`).join("");
  const text = `UPDATE job SET ${set}, updated_at = now()
    FROM (SELECT given.* FROM unnest($2::text[]${lists}) AS given(job_id${names}) JOIN job USING (job_id)
          ORDER BY job_id FOR NO KEY UPDATE OF job) AS new
    WHERE job.job_id = new.job_id AND job.owner = $1`;
  return { name: `job-${name}`, text, properties: given.map(([property]) => property as Exclude<keyof T, "jobId">) };
}

/** Another process claimed the job: this one must neither write its row nor charge it any more. */
export class JobLost extends Error {
  override name = "JobLost";
  constructor(jobIds: readonly Hex[]) {
    super(`the row of ${jobIds.map(toApiJobId).join(", ")} belongs to another gateway process`);
  }
}

/** Pause before a write that failed is made again. */
const RETRY_MS = 250;
/** A client's leave is written with the end of its job if that comes within this time. If this process dies before, the job is not charged. */
const LEAVE_MS = 500;

type Leave = { step: LeftStep; write: () => void; written: PromiseWithResolvers<void> };

/** Writes the rows of this process's jobs. */
export class JobStore {
  readonly #pool: pg.Pool;
  readonly #self: { gateway: Address; operator: number };
  readonly #onState: (state: StoredState) => void;
  /** This process, among all that ever had this signer. */
  readonly #owner = randomUUID();
  readonly #lanes: {
    locked: WriteLane<LockedStep>;
    taken: WriteLane<TakenStep>;
    left: WriteLane<LeftStep>;
    refused: WriteLane<RefusedStep>;
    answered: WriteLane<AnsweredStep>;
    ended: WriteLane<EndedStep>;
  };
  readonly #leaves = new Map<Hex, Leave>();
  #leaveMs = LEAVE_MS;

  /** `onState` is called whenever a job was written in a new state. */
  constructor(
    pool: pg.Pool,
    self: { gateway: Address; operator: number },
    onState: (state: StoredState) => void = () => {},
  ) {
    this.#pool = pool;
    this.#self = self;
    this.#onState = onState;
    const lane = <T extends { jobId: Hex }>(step: Step<T>) => {
      const statement = statementOf(step);
      return new WriteLane<T>((items) => this.#write(statement, items));
    };
    this.#lanes = {
      locked: lane(LOCKED),
      taken: lane(TAKEN),
      left: lane(LEFT),
      refused: lane(REFUSED),
      answered: lane(ANSWERED),
      ended: lane(ENDED),
    };
  }

  /** The row of a new job of this process. */
  newJob(job: Omit<NewJob, "gateway" | "operator" | "owner">): NewJob {
    return { ...job, ...this.#self, owner: this.#owner };
  }

  async locked(step: LockedStep): Promise<void> {
    await this.#lanes.locked.add(step);
    this.#onState("pending");
  }

  async taken(step: TakenStep): Promise<void> {
    await this.#lanes.taken.add(step);
    if (step.acknowledged) this.#onState("processing");
  }

  left(step: LeftStep): Promise<void> {
    const write = () => {
      if (this.#leaves.get(step.jobId) !== leave) return;
      this.#leaves.delete(step.jobId);
      leave.written.resolve(this.#lanes.left.add(step));
    };
    const leave: Leave = { step, write, written: Promise.withResolvers<void>() };
    // If several clients of a job leave, only the last one's leave is written.
    this.#leaves.get(step.jobId)?.written.resolve(leave.written.promise);
    this.#leaves.set(step.jobId, leave);
    setTimeout(write, this.#leaveMs);
    return leave.written.promise;
  }

  /** A client of the job is back after another one had left: until it leaves, the job counts as one whose client waits. */
  async returned(jobId: Hex): Promise<void> {
    const leave = this.#leaves.get(jobId);
    this.#leaves.delete(jobId);
    leave?.written.resolve();
    await this.#pool.query("UPDATE job SET client_left = false WHERE job_id = $1 AND owner = $2", [
      toApiJobId(jobId),
      this.#owner,
    ]);
  }

  /** This process stops: the leaves that wait are written now, and later ones do not wait. */
  writeLeaves(): void {
    this.#leaveMs = 0;
    for (const { write } of this.#leaves.values()) write();
  }

  async refused(step: RefusedStep): Promise<void> {
    await this.#lanes.refused.add(step);
  }

  async answered(step: AnsweredStep): Promise<void> {
    await this.#lanes.answered.add(step);
    this.#onState("settling");
  }

  async ended(step: EndedStep): Promise<void> {
    const leave = this.#leaves.get(step.jobId);
    this.#leaves.delete(step.jobId);
    const written = this.#lanes.ended.add({ ...leave?.step, ...step });
    leave?.written.resolve(written);
    await written;
    this.#onState(step.state);
  }

  /** Makes a write until it succeeds, the row is lost, or `until` (ms since the epoch) is over; then rejects with the last error. */
  async retry(until: number, write: () => Promise<void>, report: (error: unknown) => void): Promise<void> {
    const isPassing = (error: unknown): boolean => {
      if (error instanceof JobLost) return false;
      report(error);
      return true;
    };
    await retry(write, isPassing, { pauseMs: RETRY_MS, timeoutMs: until - Date.now() });
  }

  /** Notes the transaction with which this service opened a dispute. Any process may: the job is over for the one that ran it. */
  async disputed(jobId: Hex, disputeTx: Hex): Promise<void> {
    await this.#pool.query("UPDATE job SET dispute_tx = $2, updated_at = now() WHERE job_id = $1", [
      toApiJobId(jobId),
      disputeTx,
    ]);
  }

  /**
   * The chain took operations of these jobs back, or mined them elsewhere, where they can have come to something else. Jobs of this signer that
   * were over are unfinished again, and this process's; a dispute may be none. `failure` stays, so that a refused job is never charged, and
   * so does the charge of an answer that is to be settled again.
   */
  async reopen(jobIds: readonly Hex[]): Promise<void> {
    await this.#pool.query(
      `UPDATE job SET state = CASE WHEN state = 'settled' THEN 'settling' WHEN state = 'unlocked' THEN 'locking'
                                   WHEN state IN ('failed', 'refunded') THEN 'pending' ELSE state END,
                      settlement_tx = NULL, settlement_block = NULL, settled_at = NULL, refund_tx = NULL,
                      dispute_tx = NULL, owner = $3, updated_at = now()
       WHERE job_id = ANY($1) AND gateway = $2
         AND (state IN ('settled', 'unlocked', 'failed', 'refunded') OR dispute_tx IS NOT NULL)`,
      [jobIds.map(toApiJobId), this.#self.gateway.toLowerCase(), this.#owner],
    );
  }

  /**
   * Claims the unfinished jobs of this signer, which an earlier process left. The caller holds the signer's lock. Returns how many were claimed.
   */
  async claimOwn(): Promise<number> {
    const { rowCount } = await this.#pool.query(
      `UPDATE job SET owner = $1, ${CLIENT_LOST} WHERE gateway = $2 AND state IN ${UNFINISHED} AND owner <> $1`,
      [this.#owner, this.#self.gateway.toLowerCase()],
    );
    return rowCount ?? 0;
  }

  /** Other signers of this operator that have unfinished jobs. */
  async othersUnfinished(): Promise<Address[]> {
    const { rows } = await this.#pool.query<{ gateway: Address }>(
      `SELECT DISTINCT gateway FROM job WHERE state IN ${UNFINISHED} AND operator = $1 AND gateway <> $2`,
      [this.#self.operator, this.#self.gateway.toLowerCase()],
    );
    return rows.map(({ gateway }) => gateway);
  }

  /**
   * Claims the unfinished jobs of another signer, if no process holds its advisory lock. One statement takes that lock, claims, and gives
   * it back: a process of that signer that still runs, or starts meanwhile, cannot write the rows any more. Returns how many were claimed.
   */
  async claimFrom(gateway: Address, lockKey: bigint): Promise<number> {
    const { rowCount } = await this.#pool.query(
      `WITH free AS MATERIALIZED (SELECT pg_try_advisory_xact_lock($4) AS is_free)
       UPDATE job SET owner = $1, gateway = $2, ${CLIENT_LOST} FROM free
       WHERE is_free AND gateway = $3 AND operator = $5 AND state IN ${UNFINISHED}`,
      [this.#owner, this.#self.gateway.toLowerCase(), gateway.toLowerCase(), lockKey, this.#self.operator],
    );
    return rowCount ?? 0;
  }

  /** The most jobs of one wallet that ended without a charge, of all that were made in the last ten minutes. */
  async mostUnpaid(): Promise<number> {
    // Ids begin with the time, in milliseconds.
    const since = (Date.now() - 600_000).toString(16).padStart(12, "0");
    const { rows } = await this.#pool.query(
      `SELECT count(*)::int AS jobs FROM job WHERE job_id > $1 AND state IN ('failed', 'refunded')
       GROUP BY wallet ORDER BY 1 DESC LIMIT 1`,
      [`job_${since}`],
    );
    return rows[0]?.jobs ?? 0;
  }

  /** Unfinished jobs of this process, oldest first. */
  async unfinished(): Promise<Hex[]> {
    const { rows } = await this.#pool.query<{ jobId: Hex }>(
      `SELECT ${CHAIN_JOB_ID} AS "jobId" FROM job WHERE gateway = $1 AND owner = $2 AND state IN ${UNFINISHED} ORDER BY job_id`,
      [this.#self.gateway.toLowerCase(), this.#owner],
    );
    return rows.map(({ jobId }) => jobId);
  }

  find(jobId: Hex): Promise<StoredJob | null> {
    return findJob(this.#pool, jobId);
  }

  /** The stored answer, encrypted; null if none is kept. */
  async output(jobId: Hex): Promise<Buffer | null> {
    const { rows } = await this.#pool.query("SELECT output FROM job WHERE job_id = $1 AND output_expires_at > now()", [
      toApiJobId(jobId),
    ]);
    return rows[0]?.output ?? null;
  }

  /**
   * The answer of a job that is not settled yet goes to its client: from now on it is charged also after a crash, as if its client had left with
   * it. False if its client was told already that nothing is charged.
   */
  async handOut(jobId: Hex): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      "UPDATE job SET client_left = true WHERE job_id = $1 AND failure IS NULL",
      [toApiJobId(jobId)],
    );
    return rowCount === 1;
  }

  /** The worker of a job of this process proved its kept answer on chain: it is charged, whatever its client was told, and handed out. */
  async withdrawRefusal(jobId: Hex): Promise<void> {
    await this.#pool.query("UPDATE job SET failure = NULL, failure_reason = NULL WHERE job_id = $1 AND owner = $2", [
      toApiJobId(jobId),
      this.#owner,
    ]);
  }

  /** Deletes rows of jobs that ended that many days ago: the index has them. */
  async deleteEnded(days: number): Promise<void> {
    await this.#pool.query(
      `DELETE FROM job WHERE state NOT IN ${UNFINISHED} AND output IS NULL AND updated_at < now() - make_interval(days => $1)`,
      [days],
    );
  }

  /** Erases answers whose time is over. */
  async eraseExpiredOutputs(): Promise<void> {
    await this.#pool.query("UPDATE job SET output = NULL WHERE output IS NOT NULL AND output_expires_at <= now()");
  }

  async #write<T extends { jobId: Hex }>({ properties, ...query }: Statement<T>, items: readonly T[]): Promise<void> {
    const ids = items.map(({ jobId }) => toApiJobId(jobId));
    const columns = properties.map((property) => items.map((item) => item[property] ?? null));
    const { rowCount } = await this.#pool.query({ ...query, values: [this.#owner, ids, ...columns] });
    // The lane then writes each alone, and only those that are lost fail.
    if ((rowCount ?? 0) < items.length) throw new JobLost(items.map((item) => item.jobId));
  }
}

/** Deletes every job: those of contracts that are gone. Returns how many there were. */
export async function deleteJobs(client: pg.ClientBase): Promise<number> {
  return (await client.query("DELETE FROM job")).rowCount ?? 0;
}

// ---------------------------------------------------------------- reads

/** One job; null if this database does not know it. */
export async function findJob(reader: Reader, jobId: Hex): Promise<StoredJob | null> {
  const { rows } = await reader.query<StoredJob>({
    name: "job-find",
    text: `${SELECT} WHERE job_id = $1`,
    values: [toApiJobId(jobId)],
  });
  return rows[0] ?? null;
}

/** Rows of the given jobs. */
export async function findJobs(reader: Reader, jobIds: readonly Hex[]): Promise<StoredJob[]> {
  if (jobIds.length === 0) return [];
  const { rows } = await reader.query<StoredJob>({
    name: "job-find-many",
    text: `${SELECT} WHERE job_id = ANY($1)`,
    values: [jobIds.map(toApiJobId)],
  });
  return rows;
}

/**
 * The locked jobs of a wallet between two ids, exclusive, in the order of their ids: at most `limit`, the oldest or the newest ones first. Ids are
 * UUIDv7, so their order is that of their creation.
 */
export async function ownJobs(
  reader: Reader,
  { wallet, before, after }: { wallet: string; before?: Hex | undefined; after?: Hex | undefined },
  { oldestFirst, limit }: { oldestFirst: boolean; limit: number },
): Promise<StoredJob[]> {
  const direction = oldestFirst ? "ASC" : "DESC";
  const { rows } = await reader.query<StoredJob>({
    name: `job-list-${direction}`,
    text: `${SELECT} WHERE wallet = $1 AND escrow_tx IS NOT NULL AND state <> 'unlocked'
           AND ($2::text IS NULL OR job_id < $2) AND ($3::text IS NULL OR job_id > $3) ORDER BY job_id ${direction} LIMIT $4`,
    values: [wallet.toLowerCase(), before ? toApiJobId(before) : null, after ? toApiJobId(after) : null, limit],
  });
  return rows;
}
