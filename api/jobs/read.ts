import type pg from "pg";
import type { Hex } from "viem";
import { fromApiJobId, toApiJobId } from "../../protocol/job-id.ts";
import { ApiError } from "../errors.ts";
import {
  getJob,
  getJobs,
  getPositions,
  IndexUnavailable,
  type JobQuery,
  type JobRow,
  listJobs,
  UnknownCursor,
} from "../index/index.ts";
import type { JobStore } from "../store/jobs.ts";
import type { StoredJob } from "../store/stored-job.ts";
import { type Cursors, cutAt, rangeOf } from "./page-range.ts";
import { type JobObject, jobObject } from "./view.ts";

/** Newest own jobs that are looked at for each page: more than a page has. */
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

  /** A job as the index has it, whosever it is; null if it does not. */
  indexed(jobId: Hex): Promise<JobRow | null> {
    return this.#indexed(() => getJob(this.#pool, toApiJobId(jobId)), null);
  }

  /**
   * One page, newest first. `after` and `before` are job ids. `cursor`: the `before` of the next page, null on the last one. With a
   * status filter a page can be short: rows whose state this service knows better are left out, and the cursor goes on.
   */
  async list(query: JobQuery): Promise<{ data: JobObject[]; cursor: string | null }> {
    const [page, cursors] = await Promise.all([this.#page(query), this.#cursors(query)]);
    // What was locked, and had come to its state, before the newest indexed row was locked is in the index as well.
    const since = page.rows[0]?.createdAt ?? 0;
    const [own, stored] = await Promise.all([
      this.#store.newest(query, rangeOf(query, cursors), since, OVERLAY_LIMIT),
      this.#store.findMany(page.rows.map((row) => row.id)),
    ]);
    const known = new Map(stored.map((job) => [toApiJobId(job.jobId), job]));
    const indexed = page.rows.map((row) => ({
      job: jobObject(row, known.get(row.id) ?? null, this.#escrow) as JobObject,
      position: row.position,
    }));
    const fresh = await this.#notIndexed(own.ids, page, cursors);
    const matching = [...fresh, ...indexed]
      .filter(({ job }) => query.status === undefined || job.status === query.status)
      // What is not mined for the index yet is newest; ids order it. The sort is stable: own jobs come newest first.
      .sort((a, b) => (a.position === b.position ? 0 : b.position - a.position))
      .map(({ job }) => job);
    const floor = await this.#floor(own.end);
    if (floor !== null) return cutAt(floor, matching, query.limit);
    const data = matching.slice(0, query.limit);
    if (matching.length > query.limit) return { data, cursor: data.at(-1)?.id ?? null };
    return { data, cursor: page.hasMore ? (page.rows.at(-1)?.id ?? null) : null };
  }

  /**
   * The oldest of the own jobs that were looked at, if there may be more that the index does not have: what is older can be told
   * only by a later page.
   */
  async #floor(end: string | null): Promise<string | null> {
    if (end === null) return null;
    return (await this.#indexed(() => getJob(this.#pool, end), null)) === null ? end : null;
  }

  async #page(query: JobQuery): Promise<{ rows: JobRow[]; hasMore: boolean }> {
    const none = { rows: [], hasMore: false };
    try {
      return await this.#indexed(() => listJobs(this.#pool, query), none);
    } catch (error) {
      if (!(error instanceof UnknownCursor)) throw error;
      const { param } = error;
      const cursor = query[param] as string;
      const id = fromApiJobId(cursor);
      const stored = id === null ? null : await this.#store.find(id);
      if (stored === null || stored.wallet !== query.wallet.toLowerCase()) {
        throw new ApiError("invalid_request", `${param}: there is no such job of this key's wallet.`, { param });
      }
      // A job that the index has not seen yet: everything indexed is older than it, unless it is one of ours as well.
      if (param === "after") return none;
      const { before: _, ...rest } = query;
      const page = await this.#page(rest);
      return { ...page, rows: page.rows.filter((row) => row.id < cursor) };
    }
  }

  /** The jobs that bound the page, as far as the index has them: then their places in the chain's order bound it. */
  async #cursors({ before, after }: JobQuery): Promise<Cursors> {
    const named = [before, after].filter((id) => id !== undefined);
    if (named.length === 0) return {};
    const rows = await this.#indexed(() => getJobs(this.#pool, named), []);
    const find = (id: string | undefined) => rows.find((row) => row.id === id);
    return { before: find(before), after: find(after) };
  }

  /**
   * Own jobs whose lock the index has not seen, or that it knows in another state than the query asks for, with their place in the
   * chain's order; infinite where the index has none.
   */
  async #notIndexed(
    own: readonly string[],
    { rows, hasMore }: { rows: readonly JobRow[]; hasMore: boolean },
    { before, after }: Cursors,
  ): Promise<{ job: JobObject; position: number }[]> {
    const listed = new Set(rows.map((row) => row.id));
    const unlisted = own.filter((id) => !listed.has(id));
    const positions = await this.#indexed(() => getPositions(this.#pool, unlisted), new Map<string, number>());
    // The chain's order of two jobs can be another than that of their ids: what has a position is on the page that it belongs to.
    const last = hasMore ? (rows.at(-1)?.position ?? -1) : -1;
    const from = Math.max(last, after?.position ?? -1);
    const to = before?.position ?? Number.POSITIVE_INFINITY;
    const ids = unlisted.filter((id) => {
      const position = positions.get(id);
      // What the index does not have is newer than all that it has: it was on a page before this one.
      return position === undefined ? before === undefined : position > from && position < to;
    });
    // Of a burst's jobs, nearly all have been left out by now.
    const [stored, indexed] = await Promise.all([
      this.#store.findMany(ids),
      this.#indexed(() => getJobs(this.#pool, ids), []),
    ]);
    const storedById = new Map(stored.map((job) => [toApiJobId(job.jobId), job]));
    const indexedById = new Map(indexed.map((row) => [row.id, row]));
    return ids.flatMap((id) => {
      const row = indexedById.get(id) ?? null;
      const job = jobObject(row, storedById.get(id) ?? null, this.#escrow);
      return job === null ? [] : [{ job, position: row?.position ?? Number.POSITIVE_INFINITY }];
    });
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
