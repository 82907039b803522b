import type pg from "pg";
import type { Address, Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import { CHAIN_JOB_ID, column, type RowOf, select } from "./pool.ts";

/** A dispute request: what a client says it received, when it first said so, and the gateway that decides it. */
const REQUEST = {
  jobId: column<Hex>(CHAIN_JOB_ID),
  receivedHash: column<Hex>(),
  wallet: column<Address>(),
  gateway: column<Address>(),
  arrivedAt: column<Date>(),
};
export type DisputeRequest = RowOf<typeof REQUEST>;

/**
 * A dispute request with its answer: `outcome` is `opened`, `equal` or a reason of refusal; null until then. The job's row has the
 * transaction.
 */
const ANSWERED = { ...REQUEST, outcome: column<string | null>() };
export type AnsweredRequest = RowOf<typeof ANSWERED>;

const SELECT = `SELECT ${select(ANSWERED)} FROM dispute_request`;

export class DisputeStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /**
   * Records a request, or that it was repeated. Returns it with its first arrival. A job has one request: another hash takes the place of one
   * that was answered, and is null before that. A request stays with the gateway that has it until that one answers, for at most `patience`
   * (seconds).
   */
  async record(
    { jobId, receivedHash, wallet, gateway, arrivedAt }: DisputeRequest,
    patience: number,
  ): Promise<DisputeRequest | null> {
    const kept = "d.outcome IS NULL AND d.updated_at > now() - make_interval(secs => $6)";
    const repeated = "d.received_hash = EXCLUDED.received_hash";
    const { rows } = await this.#pool.query<DisputeRequest>({
      name: "dispute-record",
      text: `INSERT INTO dispute_request AS d (job_id, received_hash, wallet, gateway, arrived_at)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (job_id) DO UPDATE SET outcome = NULL, received_hash = EXCLUDED.received_hash,
               arrived_at = CASE WHEN ${repeated} THEN d.arrived_at ELSE EXCLUDED.arrived_at END,
               gateway = CASE WHEN ${kept} THEN d.gateway ELSE EXCLUDED.gateway END,
               updated_at = CASE WHEN ${kept} THEN d.updated_at ELSE now() END
             WHERE ${repeated} OR NOT (${kept})
             RETURNING ${select(REQUEST)}`,
      values: [toApiJobId(jobId), receivedHash, wallet.toLowerCase(), gateway.toLowerCase(), arrivedAt, patience],
    });
    return rows[0] ?? null;
  }

  /** False if it is another gateway's to answer by now, or answered. Who opened the dispute has the last word: the others found it open. */
  async answer(
    { jobId, receivedHash, gateway }: Pick<DisputeRequest, "jobId" | "receivedHash" | "gateway">,
    outcome: string,
  ): Promise<boolean> {
    const { rowCount } = await this.#pool.query({
      name: "dispute-answer",
      text: `UPDATE dispute_request SET outcome = $4, updated_at = now()
             WHERE job_id = $1 AND received_hash = $2
               AND (gateway = $3 AND outcome IS NULL OR $4 = 'opened' AND outcome IS DISTINCT FROM 'opened')`,
      values: [toApiJobId(jobId), receivedHash, gateway.toLowerCase(), outcome],
    });
    return rowCount === 1;
  }

  /** One request; null if it was never recorded, or another hash has its place. */
  async find(jobId: Hex, receivedHash: Hex): Promise<AnsweredRequest | null> {
    const { rows } = await this.#pool.query<AnsweredRequest>({
      name: "dispute-find",
      text: `${SELECT} WHERE job_id = $1 AND received_hash = $2`,
      values: [toApiJobId(jobId), receivedHash],
    });
    return rows[0] ?? null;
  }

  /** Requests that this gateway has and nobody has answered. */
  async unanswered(gateway: Address): Promise<AnsweredRequest[]> {
    const { rows } = await this.#pool.query<AnsweredRequest>({
      name: "dispute-unanswered",
      text: `${SELECT} WHERE gateway = $1 AND outcome IS NULL ORDER BY arrived_at`,
      values: [gateway.toLowerCase()],
    });
    return rows;
  }

  /** Other gateways of the operator that have unanswered requests. */
  async othersUnanswered(gateway: Address, operator: number): Promise<Address[]> {
    const { rows } = await this.#pool.query<{ gateway: Address }>({
      name: "dispute-others",
      text: `SELECT DISTINCT d.gateway FROM dispute_request d JOIN job USING (job_id)
             WHERE d.outcome IS NULL AND d.gateway <> $1 AND job.operator = $2`,
      values: [gateway.toLowerCase(), operator],
    });
    return rows.map((row) => row.gateway);
  }

  /**
   * Claims the unanswered requests of another gateway's signer, if no process holds its advisory lock: the contract's window closes before a
   * client would be heard anew. Returns how many were claimed.
   */
  async claimFrom(other: Address, lockKey: bigint, { gateway, operator }: { gateway: Address; operator: number }) {
    const { rowCount } = await this.#pool.query(
      `WITH free AS MATERIALIZED (SELECT pg_try_advisory_xact_lock($3) AS is_free)
       UPDATE dispute_request d SET gateway = $1, updated_at = now() FROM free, job
       WHERE is_free AND d.gateway = $2 AND d.outcome IS NULL AND job.job_id = d.job_id AND job.operator = $4`,
      [gateway.toLowerCase(), other.toLowerCase(), lockKey, operator],
    );
    return rowCount ?? 0;
  }

  /** Deletes requests that many days old: no window is open for them any more. */
  async prune(days: number): Promise<void> {
    await this.#pool.query("DELETE FROM dispute_request WHERE updated_at < now() - make_interval(days => $1)", [days]);
  }
}
