/**
 * Jobs as clients see them. A job has two rows, because neither source has all of it at every moment:
 *
 *   index     `IndexedJob`  What the chain says of every operator's jobs. A block is there a moment after it is mined, and none while the index is
 *                           built anew.
 *   gateways  `StoredJob`   What the gateways of this database did, from the moment they did it until a week after the job's end. Only this row
 *                           has what is on no chain: the kept answer, the signed Completion before its settlement, what the client was sent.
 *
 * Clients read their own writes, so the gateways' row fills in what the index lacks:
 *
 *   facts             of the index where it has them, so that a reorganisation is shown; else of the gateways' row (`ownFacts` names them)
 *   status            the further one on a job's way, as that row is the newer; once the index has an end, the index's
 *   disputed          also by our own dispute's transaction, until the index has one
 *   credits_charged   the index's charge less what disputes brought back; before the index has the settlement, the gateways' charge of a settled job
 *   failure_reason, refund_reason, compensation    the index's alone
 *   settlement_tx     of a job that is settling: the transaction on its way (`withSettlements`)
 */
import type pg from "pg";
import { getAddress, type Hex } from "viem";
import type { z } from "zod";
import { toProofHash } from "../../protocol/answer-hash.ts";
import { fromApiJobId, toApiJobId } from "../../protocol/job-id.ts";
import type { JobState } from "../../protocol/job-status.ts";
import { creditsOf, usdgValue } from "../../protocol/money.ts";
import { billedReasoning } from "../../protocol/pricing.ts";
import { settlementsSent } from "../chain/outbox.ts";
import { getJob, getJobs, type IndexedJob, ifIndexed, type JobQuery, listJobs, walksUp } from "../db/index-reads.ts";
import { findJob, findJobs, ownJobs, type StoredJob } from "../db/jobs.ts";
import type { Reader } from "../db/pool.ts";
import { ApiError, quoted } from "../errors.ts";
import type { jobSchema, REFUND_REASONS } from "../schemas/resources.ts";

/** The Job resource of the specification. */
export type JobObject = z.infer<typeof jobSchema>;

/** The rows of one job: the index's, and the gateways' own. */
type Rows = { row: IndexedJob | null; stored: StoredJob | null };

/** The order of a job's states. If two sources differ, the one with the further state is the newer one. */
const PROGRESS: Record<JobState, number> = {
  pending: 0,
  processing: 1,
  settling: 2,
  settled: 3,
  failed: 3,
  refunded: 3,
  disputed: 4,
};

/** The gateway's own row of a job, with the index's field names. */
const ownFacts = (stored: StoredJob) => ({
  id: stored.jobId,
  wallet: stored.wallet,
  model: stored.model,
  tier: stored.tier,
  worker: stored.worker,
  createdAt: stored.lockedAt,
  answeredAt: stored.completion?.completion.completedAt ?? null,
  completedAt: stored.settledAt,
  escrowTx: stored.escrowTx,
  settlementTx: stored.settlementTx,
  settlementBlock: stored.settlementBlock,
  proofHash: stored.completion?.completion.proofHash ?? null,
  promptTokens: stored.completion?.completion.promptTokens ?? null,
  completionTokens: stored.completion?.completion.completionTokens ?? null,
  billedTokens: stored.countedTokens,
});
type Facts = ReturnType<typeof ownFacts>;

/** The facts of the index, those that it lacks from the gateways' row; null without either row. */
function factsOf({ row, stored }: Rows): Facts | null {
  const own = stored && ownFacts(stored);
  if (row === null || own === null) return row ?? own;
  const known = Object.entries(row).filter(([, value]) => value !== null);
  return { ...own, ...Object.fromEntries(known) };
}

/** One job from its two rows; null while neither shows a mined lock. */
export function jobObject({ row, stored }: Rows, escrow: string): JobObject | null {
  const facts = factsOf({ row, stored });
  const disputed = stored?.disputeTx && !row?.disputeTx;
  const status = disputed ? "disputed" : newer(row?.status ?? null, visible(stored));
  if (facts === null || status === null) return null;
  const { worker, proofHash, promptTokens: prompt, billedTokens: output, completionTokens: content } = facts;
  const credits = cost(status, row, stored);
  return {
    id: toApiJobId(facts.id),
    object: "job",
    status,
    model: facts.model,
    tier: facts.tier,
    credits_charged: credits,
    usdg_value: usdgValue(credits),
    worker_address: worker && getAddress(worker),
    created_at: isoTime(facts.createdAt ?? 0),
    completed_at: isoTime(facts.completedAt),
    on_chain: {
      escrow_tx: facts.escrowTx,
      settlement_tx: facts.settlementTx,
      escrow_address: getAddress(escrow),
      block_number: facts.settlementBlock,
      proof_hash: proofHash && toProofHash(proofHash),
    },
    usage: {
      prompt_tokens: prompt,
      completion_tokens: output,
      total_tokens: prompt === null || output === null ? null : prompt + output,
      ...(output !== null && content !== null && reasoningDetails({ billedTokens: output, completionTokens: content })),
    },
    ...whyUncharged(status, row),
    ...(row !== null && compensationOf(row)),
  };
}

/** The additional field of a `usage` that tells the billed reasoning; left out where there is none. */
export function reasoningDetails(usage: { billedTokens: number; completionTokens: number }) {
  const reasoning_tokens = billedReasoning(usage);
  return reasoning_tokens === 0 ? {} : { completion_tokens_details: { reasoning_tokens } };
}

/** Why a job ended without a charge, or lost it: the contract's own word, or the rule that gave its credits back. */
export const whyUncharged = (status: JobState | null, row: IndexedJob | null) => ({
  ...(status === "failed" && row?.failureReason && { failure_reason: row.failureReason }),
  ...(status === "refunded" && { refund_reason: refundReason(row) }),
});

/** Why a refunded job was: the specification has this state for timeouts, the contract also for what it gives back after a proof or a charge. */
function refundReason(row: IndexedJob | null): (typeof REFUND_REASONS)[number] {
  if (row?.disputeTx) return "dispute";
  return row?.equivocated ? "equivocation" : "timeout";
}

/** The credits that operator and treasury give back of the charge; no field if nothing is due. */
function compensationOf({ compensationPaid: paid, compensationOwed: owed }: IndexedJob) {
  if (paid + owed === 0) return {};
  const credits = { credits_due: creditsOf(paid + owed), credits_paid: creditsOf(paid) };
  return { compensation: { ...credits, credits_outstanding: creditsOf(owed) } };
}

/**
 * The job's cost for its client: the charge of its settlement, less the whole credits that a dispute brought back. Nothing is charged
 * before the settlement, so an answer that was disputed before it costs nothing yet.
 */
function cost(status: JobState, row: IndexedJob | null, stored: StoredJob | null): number {
  if (row?.settlementTx) return row.creditsCharged - row.creditsCompensated;
  const settled = status === "settled" || status === "disputed";
  return settled && stored?.state === "settled" ? (stored.creditsCharged ?? 0) : 0;
}

/** Unix seconds → ISO 8601 UTC. */
export function isoTime(seconds: number): string;
export function isoTime(seconds: number | null): string | null;
export function isoTime(seconds: number | null): string | null {
  return seconds === null ? null : new Date(seconds * 1000).toISOString();
}

/** The gateway's own states are not a client's: a job exists from its mined lock on. */
function visible(stored: StoredJob | null): JobState | null {
  if (stored === null || stored.escrowTx === null || stored.state === "locking" || stored.state === "unlocked")
    return null;
  return stored.state;
}

function newer(indexed: JobState | null, stored: JobState | null): JobState | null {
  if (indexed === null || stored === null) return indexed ?? stored;
  // Both ended: the index has the chain's last word (a dispute, a ruling).
  if (PROGRESS[indexed] >= 3) return indexed;
  return PROGRESS[stored] > PROGRESS[indexed] ? stored : indexed;
}

/** True if the gateway's own row, without the index, already shows that the job matches the query. */
function admits({ status, model }: JobQuery, stored: StoredJob): boolean {
  const isInState = status === undefined || stored.state === status;
  const isDisputed = status === "disputed" && stored.disputeTx !== null;
  return (model === undefined || stored.model === model) && (isInState || isDisputed);
}

/** Own jobs that are looked at for a page with a filter: more than a page has. */
const OVERLAY_LIMIT = 200;

/** A job of a wallet, with the two rows that it was made of. */
export type FoundJob = Rows & { id: Hex; job: JobObject };

/** A clock that is set right differs from the chain's by less. */
const CLOCK_SECONDS = 5;

/**
 * Seconds from the request to the final token, to the millisecond, where this service's clock measured both: an id tells when it was made. An id
 * that a client made says what its clock says, so a time that the blocks' times do not bear out counts for nothing. Otherwise whole seconds from
 * the job's lock to its final token, by the times of their blocks; null while it has no answer.
 */
export function answerSeconds({ row, stored }: Rows): number | null {
  const blocks = secondsByBlocks({ row, stored });
  if (blocks === null || stored === null || stored.finalTokenAt === null) return blocks;
  const seconds = (stored.finalTokenAt.getTime() - Number.parseInt(stored.jobId.slice(2, 14), 16)) / 1000;
  return seconds >= 0 && Math.abs(seconds - blocks) <= CLOCK_SECONDS ? seconds : blocks;
}

function secondsByBlocks(rows: Rows): number | null {
  const { answeredAt = null, createdAt = null } = factsOf(rows) ?? {};
  return answeredAt === null || createdAt === null ? null : Math.max(0, answeredAt - createdAt);
}

/** An index that is being rebuilt lacks jobs; what the gateway knows itself is still shown. */
export class JobReader {
  readonly #pool: pg.Pool;
  readonly #escrow: string;

  constructor(pool: pg.Pool, escrow: string) {
    this.#pool = pool;
    this.#escrow = escrow;
  }

  /** A job of the wallet; throws `job_not_found` for any other. */
  async get(jobId: string, wallet: string): Promise<FoundJob> {
    const id = fromApiJobId(jobId);
    if (id !== null) {
      const [found, row] = await Promise.all([findJob(this.#pool, id), this.indexed(id)]);
      const [stored = null] = await withSettlements(this.#pool, found === null ? [] : [found]);
      const job = jobObject({ row, stored }, this.#escrow);
      if (job !== null && (row ?? stored)?.wallet === wallet.toLowerCase()) return { id, job, stored, row };
    }
    throw new ApiError("job_not_found", `There is no job ${quoted(jobId)} of this key's wallet.`);
  }

  /** A job as the index has it, whosever it is; null if it does not. */
  indexed(jobId: Hex): Promise<IndexedJob | null> {
    return ifIndexed(getJob(this.#pool, jobId), null);
  }

  /**
   * One page of a wallet's jobs, newest first, in the order of their ids. `cursor` continues it: the next `before`, or
   * the next `after` if only `after` was given. That page has the oldest jobs above the id. Null where nothing follows.
   *
   * With a status filter a page can be short. Jobs whose state this service knows better than the index are left out,
   * and the cursor goes on.
   */
  async list(query: JobQuery): Promise<{ data: FoundJob[]; cursor: Hex | null }> {
    const { limit, status, model } = query;
    const up = walksUp(query);
    const look = status === undefined && model === undefined ? limit + 1 : OVERLAY_LIMIT;
    const [rows, own] = await Promise.all([
      ifIndexed(listJobs(this.#pool, { ...query, limit: limit + 1 }), []),
      ownJobs(this.#pool, query, { oldestFirst: up, limit: look }),
    ]);
    const rowOf = new Map(rows.map((row) => [row.id, row]));
    const ownOf = new Map(own.map((job) => [job.jobId, job]));
    // Own jobs that the index may lack, or have in another state; the others of a filtered page are among `rows`.
    const unlisted = [...ownOf].flatMap(([id, job]) => (!rowOf.has(id) && admits(query, job) ? [id] : []));
    const lastOwn = own.length === look ? [...ownOf.keys()].at(-1) : undefined;
    const [moreRows, moreOwn] = await Promise.all([
      ifIndexed(getJobs(this.#pool, lastOwn === undefined ? unlisted : [...unlisted, lastOwn]), []),
      findJobs(
        this.#pool,
        rows.flatMap(({ id }) => (ownOf.has(id) ? [] : [id])),
      ),
    ]);
    for (const job of await withSettlements(this.#pool, [...own, ...moreOwn])) ownOf.set(job.jobId, job);
    const known = new Map(moreRows.map((row) => [row.id, row]));

    // Each source is whole as far as it was read. Where the index has the last own job, it has those beyond it, too.
    const ends = [
      ...(rows.length > limit ? [(rows.at(-1) as IndexedJob).id] : []),
      ...(lastOwn === undefined || rowOf.has(lastOwn) || known.has(lastOwn) ? [] : [lastOwn]),
    ].sort();
    const horizon = up ? ends[0] : ends.at(-1);
    const isWhole = (id: Hex): boolean => horizon === undefined || (up ? id <= horizon : id >= horizon);
    const jobs = [...rowOf.keys(), ...unlisted]
      .filter(isWhole)
      .flatMap((id): FoundJob[] => {
        const rows = { row: rowOf.get(id) ?? known.get(id) ?? null, stored: ownOf.get(id) ?? null };
        const job = jobObject(rows, this.#escrow);
        return job === null ? [] : [{ id, job, ...rows }];
      })
      .filter(({ job }) => status === undefined || job.status === status)
      .sort((a, b) => (a.id < b.id === up ? -1 : 1));
    const data = jobs.slice(0, limit);
    const cursor = jobs.length > limit ? (data.at(-1)?.id ?? null) : (horizon ?? null);
    return { data: up ? data.reverse() : data, cursor };
  }
}

/** The rows, those that settle with the transaction on its way: the reply named it. */
export async function withSettlements(reader: Reader, jobs: readonly StoredJob[]): Promise<StoredJob[]> {
  const settling = jobs.filter(({ state, settlementTx }) => state === "settling" && settlementTx === null);
  const sent = await settlementsSent(
    reader,
    settling.map(({ jobId }) => jobId),
  );
  return jobs.map((job) => ({ ...job, settlementTx: job.settlementTx ?? sent.get(job.jobId) ?? null }));
}
