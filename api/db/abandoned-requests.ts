import type pg from "pg";
import type { Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import { ReadLane } from "../../shared/read-lane.ts";
import { CHAIN_JOB_ID } from "./pool.ts";

/** Seconds after its client hung up in which a repetition can join a request. */
const JOIN_SECONDS = 60;

/** A job that a repetition of its request may join. */
const JOINABLE = `NOT joined AND left_at > now() - make_interval(secs => ${JOIN_SECONDS})`;

/** Whose request it is, and the SHA-256 of its body as canonical JSON. */
type RepeatedRequest = { wallet: string; bodyHash: Buffer };

const keyOf = ({ wallet, bodyHash }: RepeatedRequest): string => `${wallet.toLowerCase()} ${bodyHash.toString("hex")}`;

/**
 * Requests without an Idempotency-Key whose clients hung up before any byte of the answer, for all gateways of one database. A client library that
 * hangs up at its timeout sends the same bytes again: the repetition joins the job of the first request, so that nobody pays twice.
 */
export class AbandonedRequests {
  readonly #pool: pg.Pool;
  /** Requests of this process that are being written down. */
  readonly #writing = new Map<string, Promise<void>>();
  readonly #joinable = new ReadLane<RepeatedRequest, boolean>((requests) => this.#areJoinable(requests));

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Notes that the client of a job hung up. Rejects if the database is away: then a repetition runs a job of its own. */
  async add(request: RepeatedRequest, jobId: Hex): Promise<void> {
    const { wallet, bodyHash } = request;
    const key = keyOf(request);
    const write = this.#pool
      .query({
        name: "abandoned-add",
        text: `INSERT INTO abandoned_request (job_id, wallet, body_hash) VALUES ($1, $2, $3)
               ON CONFLICT (job_id) DO UPDATE SET left_at = now(), joined = false`,
        values: [toApiJobId(jobId), wallet.toLowerCase(), bodyHash],
      })
      .then(() => {});
    this.#writing.set(key, write);
    try {
      await write;
    } finally {
      if (this.#writing.get(key) === write) this.#writing.delete(key);
    }
  }

  /** Takes the oldest job that a repetition of this request may join, for this caller alone; null if there is none. */
  async take(request: RepeatedRequest): Promise<Hex | null> {
    // A client can be back before this process has written that it left.
    await this.#writing.get(keyOf(request))?.catch(() => {});
    if (!(await this.#joinable.ask(request))) return null;
    const { rows } = await this.#pool.query<{ jobId: Hex }>({
      name: "abandoned-take",
      text: `UPDATE abandoned_request SET joined = true WHERE job_id = (
               SELECT job_id FROM abandoned_request WHERE wallet = $1 AND body_hash = $2 AND ${JOINABLE}
               ORDER BY left_at LIMIT 1 FOR UPDATE SKIP LOCKED)
             RETURNING ${CHAIN_JOB_ID} AS "jobId"`,
      values: [request.wallet.toLowerCase(), request.bodyHash],
    });
    return rows[0]?.jobId ?? null;
  }

  /** Whether each of the requests has a job to join. Few have one, so all requests of one moment share this query. */
  async #areJoinable(requests: readonly RepeatedRequest[]): Promise<boolean[]> {
    const { rows } = await this.#pool.query<{ wallet: string; bodyHash: Buffer }>({
      name: "abandoned-joinable",
      text: `SELECT wallet, body_hash AS "bodyHash" FROM abandoned_request
             WHERE (wallet, body_hash) IN (SELECT * FROM unnest($1::text[], $2::bytea[])) AND ${JOINABLE}`,
      values: [requests.map(({ wallet }) => wallet.toLowerCase()), requests.map(({ bodyHash }) => bodyHash)],
    });
    const found = new Set(rows.map(keyOf));
    return requests.map((request) => found.has(keyOf(request)));
  }

  /** Lets nobody join the job any more. False if a repetition has joined it, at whatever gateway: then somebody waits for its answer. */
  async close(jobId: Hex): Promise<boolean> {
    const { rowCount } = await this.#pool.query("DELETE FROM abandoned_request WHERE job_id = $1 AND NOT joined", [
      toApiJobId(jobId),
    ]);
    return rowCount === 1;
  }

  /** Deletes those whose jobs are long over. */
  async prune(): Promise<void> {
    await this.#pool.query("DELETE FROM abandoned_request WHERE left_at < now() - interval '1 hour'");
  }
}
