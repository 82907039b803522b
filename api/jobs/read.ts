import type pg from "pg";
import { fromApiJobId, toApiJobId } from "../../protocol/job-id.ts";
import { ApiError } from "../errors.ts";
import { getJob, IndexUnavailable, type JobQuery, type JobRow, listJobs, UnknownCursor } from "../index/index.ts";
import type { JobStore, StoredJob } from "../store/jobs.ts";
import { type JobObject, jobObject } from "./view.ts";

/** Newest own jobs that are looked at for a list's first page: more than the index can lag behind. */
const OVERLAY_LIMIT = 200;

/** Jobs as clients see them: the index, overlaid with what this service did itself a moment ago. */
export class JobReader {
  readonly #pool: pg.Pool;
  readonly #store: JobStore;
  readonly #escrow: string;

  constructor(pool: pg.Pool, store: JobStore, escrow: string) {
    this.#pool = pool;
    this.#store = store;
    this.#escrow = escrow;
  }

  /** A job of the wallet; throws `job_not_found` for any other. */
  async get(jobId: string, wallet: string): Promise<{ job: JobObject; stored: StoredJob | null; row: JobRow | null }> {
    const id = fromApiJobId(jobId);
    const owner = wallet.toLowerCase();
    if (id !== null) {
      const [stored, row] = await Promise.all([
        this.#store.find(id),
        this.#indexed(() => getJob(this.#pool, jobId), null),
      ]);
      const job = jobObject(row, stored, this.#escrow);
      if (job !== null && (row?.wallet ?? stored?.wallet) === owner) return { job, stored, row };
    }
    throw new ApiError("job_not_found", `There is no job '${jobId}' of this key's wallet.`);
  }

  /** One page, newest first. `after` and `before` are job ids. */
  async list(query: JobQuery): Promise<{ data: JobObject[]; hasMore: boolean }> {
    const page = await this.#page(query);
    const known = new Map(
      (await this.#store.findMany(page.rows.map((row) => row.id))).map((job) => [toApiJobId(job.jobId), job]),
    );
    const data = page.rows.map((row) => jobObject(row, known.get(row.id) ?? null, this.#escrow) as JobObject);
    const fresh = query.before === undefined ? await this.#notIndexed(query, page.rows) : [];
    const matching = [...fresh, ...data].filter((job) => query.status === undefined || job.status === query.status);
    return { data: matching.slice(0, query.limit), hasMore: page.hasMore || matching.length > query.limit };
  }

  async #page(query: JobQuery): Promise<{ rows: JobRow[]; hasMore: boolean }> {
    try {
      return await this.#indexed(() => listJobs(this.#pool, query), { rows: [], hasMore: false });
    } catch (error) {
      if (!(error instanceof UnknownCursor)) throw error;
      throw new ApiError("invalid_request", `${error.param}: there is no such job of this key's wallet.`, {
        param: error.param,
      });
    }
  }

  /** Jobs whose lock the index has not seen yet. */
  async #notIndexed(query: JobQuery, rows: readonly JobRow[]): Promise<JobObject[]> {
    const newest = await this.#store.newest(query.wallet, OVERLAY_LIMIT);
    const listed = new Set(rows.map((row) => row.id));
    const newestIndexed = rows[0]?.createdAt ?? 0;
    const candidates = newest.filter(
      (job) =>
        !listed.has(toApiJobId(job.jobId)) &&
        (job.lockedAt ?? 0) >= newestIndexed &&
        (query.model === undefined || job.model === query.model) &&
        (query.after === undefined || toApiJobId(job.jobId) > query.after),
    );
    const jobs: JobObject[] = [];
    for (const stored of candidates) {
      // With a filter, a job can be missing from the page because the index knows it in another state.
      const row = await this.#indexed(() => getJob(this.#pool, toApiJobId(stored.jobId)), null);
      if (row !== null && row.status === query.status) continue;
      if (row !== null && query.status === undefined) continue;
      const job = jobObject(row, stored, this.#escrow);
      if (job) jobs.push(job);
    }
    return jobs;
  }

  /** An index that is being rebuilt lacks jobs; what the gateway knows itself is still shown. */
  async #indexed<T>(ask: () => Promise<T>, absent: T): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof IndexUnavailable) return absent;
      throw error;
    }
  }
}
