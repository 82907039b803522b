import type pg from "pg";
import type { Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import { CHAIN_JOB_ID } from "./pool.ts";

/** Whose request it is, under which key, and the SHA-256 of its body. */
type IdempotentRequest = { wallet: string; key: string; bodyHash: Buffer };

/** An earlier request's claim on a key, so many milliseconds ago, for this job. */
type EarlierClaim = { jobId: Hex; ageMs: number };
/** `new`: this request runs it. `known`: an earlier one did. `mismatch`: the key was used for another body, the job id by another wallet. */
export type Claim = { status: "new" } | ({ status: "known" } & EarlierClaim) | { status: "mismatch"; jobId: Hex };

/** Rows live as long as answers may be asked for again, and never shorter than this. */
const LEAST_HOURS = 24;

/**
 * Claims on Idempotency-Keys, shared by all gateways of one database. A job id that a client chose is its own key: one job has one claim,
 * whosever it is.
 */
export class IdempotencyStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Claims the key for `jobId`, or says who did before. */
  async claim({ wallet, key, bodyHash }: IdempotentRequest, jobId: Hex): Promise<Claim> {
    const owner = wallet.toLowerCase();
    const inserted = await this.#pool.query(
      `INSERT INTO idempotency (wallet, key, fingerprint, job_id) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
      [owner, key, bodyHash, toApiJobId(jobId)],
    );
    if (inserted.rowCount === 1) return { status: "new" };
    const found = await this.#pool.query<EarlierClaim & { wallet: string; fingerprint: Buffer }>(
      `SELECT wallet, fingerprint, ${CHAIN_JOB_ID} AS "jobId", (extract(epoch FROM now() - created_at) * 1000)::float8 AS "ageMs"
       FROM idempotency WHERE wallet = $1 AND key = $2 OR job_id = $3`,
      [owner, key, toApiJobId(jobId)],
    );
    const [row] = found.rows;
    // Released between the two statements: the request before us failed, so this one is new.
    if (row === undefined) return this.claim({ wallet, key, bodyHash }, jobId);
    const { jobId: earlier, ageMs } = row;
    if (row.wallet !== owner || !row.fingerprint.equals(bodyHash)) return { status: "mismatch", jobId: earlier };
    return { status: "known", jobId: earlier, ageMs };
  }

  /** Whether the key is still claimed for this job. */
  async isClaimed(wallet: string, key: string, jobId: Hex): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      "SELECT 1 FROM idempotency WHERE wallet = $1 AND key = $2 AND job_id = $3",
      [wallet.toLowerCase(), key, toApiJobId(jobId)],
    );
    return rowCount === 1;
  }

  /** Gives the key free again: the job came to nothing, a repetition may try anew. */
  async release(wallet: string, key: string, jobId: Hex): Promise<void> {
    await this.#pool.query("DELETE FROM idempotency WHERE wallet = $1 AND key = $2 AND job_id = $3", [
      wallet.toLowerCase(),
      key,
      toApiJobId(jobId),
    ]);
  }

  /** Forgets keys older than the retention of answers. */
  async prune(retentionHours: number): Promise<void> {
    await this.#pool.query("DELETE FROM idempotency WHERE created_at < now() - make_interval(hours => $1)", [
      Math.ceil(Math.max(retentionHours, LEAST_HOURS)),
    ]);
  }
}
