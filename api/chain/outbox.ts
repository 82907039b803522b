import type pg from "pg";
import type { Address, Hex } from "viem";
import { insertJobs, type NewJob, newJobsJson } from "../store/new-jobs.ts";
import type { Operation } from "./operations.ts";

/** One signed form of a transaction. */
export type Variant = { hash: Hex; raw: Hex; maxFee: bigint; priorityFee: bigint };

/** A transaction of ours that may or may not be mined. */
export type OutboxRow = { nonce: number; gas: bigint; items: Operation[]; variants: Variant[] };

/** Signed bytes on disk before they are on the wire: after a crash the very same transactions go out again. */
export class Outbox {
  readonly #pool: pg.Pool;
  readonly #signer: string;

  constructor(pool: pg.Pool, signer: Address) {
    this.#pool = pool;
    this.#signer = signer.toLowerCase();
  }

  /**
   * Records a new transaction with its first variant, and the jobs whose locks are in it: all of it or nothing. Fails if the nonce
   * is taken: another process sends as this signer.
   */
  async insert(row: Omit<OutboxRow, "variants">, variant: Variant, jobs: readonly NewJob[]): Promise<void> {
    await this.#pool.query({
      name: "outbox-insert",
      text: `WITH tx AS (INSERT INTO chain_transaction (signer, nonce, items, gas) VALUES ($1, $2, $3, $4) RETURNING signer, nonce),
             jobs AS (${insertJobs("$9")})
             INSERT INTO chain_transaction_variant (hash, signer, nonce, raw, max_fee, priority_fee)
             SELECT $5, signer, nonce, $6, $7, $8 FROM tx`,
      values: [
        this.#signer,
        row.nonce,
        JSON.stringify(row.items),
        row.gas,
        variant.hash,
        variant.raw,
        variant.maxFee.toString(),
        variant.priorityFee.toString(),
        newJobsJson(jobs),
      ],
    });
  }

  /** Records a replacement: same nonce and calldata, higher fee. */
  async addVariant(nonce: number, variant: Variant): Promise<void> {
    await this.#pool.query(
      `INSERT INTO chain_transaction_variant (hash, signer, nonce, raw, max_fee, priority_fee) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (hash) DO NOTHING`,
      [variant.hash, this.#signer, nonce, variant.raw, variant.maxFee.toString(), variant.priorityFee.toString()],
    );
  }

  /** Every signed form of one transaction, oldest first. */
  async variants(nonce: number): Promise<Variant[]> {
    const result = await this.#pool.query(
      `SELECT hash, raw, max_fee::text AS "maxFee", priority_fee::text AS "priorityFee" FROM chain_transaction_variant
       WHERE signer = $1 AND nonce = $2 ORDER BY created_at`,
      [this.#signer, nonce],
    );
    return result.rows.map(toVariant);
  }

  /** Records where a transaction was seen mined. */
  async markMined(nonce: number, hash: Hex, block: number, blockHash: Hex | null): Promise<void> {
    await this.#pool.query({
      name: "outbox-mined",
      text: `UPDATE chain_transaction SET mined_hash = $3, mined_block = $4, mined_block_hash = $5
             WHERE signer = $1 AND nonce = $2`,
      values: [this.#signer, nonce, hash, block, blockHash],
    });
  }

  /** A reorganisation took a transaction out of the chain again. */
  async markUnmined(nonce: number): Promise<void> {
    await this.#pool.query(
      `UPDATE chain_transaction SET mined_hash = NULL, mined_block = NULL, mined_block_hash = NULL
       WHERE signer = $1 AND nonce = $2`,
      [this.#signer, nonce],
    );
  }

  /** Transactions not known to be mined, oldest nonce first. */
  async open(): Promise<OutboxRow[]> {
    return this.#read("t.mined_hash IS NULL");
  }

  /** Highest nonce ever recorded, -1 if none. */
  async lastNonce(): Promise<number> {
    const result = await this.#pool.query<{ nonce: number | null }>(
      "SELECT max(nonce) AS nonce FROM chain_transaction WHERE signer = $1",
      [this.#signer],
    );
    return result.rows[0]?.nonce ?? -1;
  }

  /** Where transactions were seen mined above this block; without those of which only the number is known. */
  async minedAbove(block: number): Promise<{ nonce: number; block: number; hash: Hex }[]> {
    const result = await this.#pool.query({
      name: "outbox-mined-above",
      text: `SELECT nonce, mined_block AS block, mined_block_hash AS hash FROM chain_transaction
             WHERE signer = $1 AND mined_block > $2 AND mined_hash <> '0x' AND mined_block_hash IS NOT NULL`,
      values: [this.#signer, block],
    });
    return result.rows;
  }

  /** Highest nonce that was seen mined, -1 if none. */
  async lastMined(): Promise<number> {
    const result = await this.#pool.query<{ nonce: number }>({
      name: "outbox-last-mined",
      text: `SELECT nonce FROM chain_transaction WHERE signer = $1 AND mined_hash IS NOT NULL ORDER BY nonce DESC LIMIT 1`,
      values: [this.#signer],
    });
    return result.rows[0]?.nonce ?? -1;
  }

  /**
   * Transactions seen mined whose nonce is one of these, or lies between `from` and `to`, both included. A nonce that a foreign
   * transaction had used is among them: free again, it would be a gap.
   */
  async mined(nonces: readonly number[], from: number, to: number): Promise<OutboxRow[]> {
    return this.#read("t.mined_hash IS NOT NULL AND (t.nonce = ANY($2) OR t.nonce BETWEEN $3 AND $4)", [
      nonces,
      from,
      to,
    ]);
  }

  /** Forgets what is final. */
  async prune(finalBlock: number): Promise<void> {
    await this.#pool.query("DELETE FROM chain_transaction WHERE signer = $1 AND mined_block <= $2", [
      this.#signer,
      finalBlock,
    ]);
  }

  /** Drops every row: the chain they were sent to is gone (local development only). */
  async clear(): Promise<void> {
    await this.#pool.query("DELETE FROM chain_transaction WHERE signer = $1", [this.#signer]);
  }

  async #read(where: string, values: unknown[] = []): Promise<OutboxRow[]> {
    const result = await this.#pool.query(
      `SELECT t.nonce, t.gas, t.items, t.mined_hash AS "minedHash",
              json_agg(json_build_object('hash', v.hash, 'raw', v.raw, 'maxFee', v.max_fee::text, 'priorityFee', v.priority_fee::text)
                       ORDER BY v.created_at) AS variants
       FROM chain_transaction t JOIN chain_transaction_variant v USING (signer, nonce)
       WHERE t.signer = $1 AND ${where} GROUP BY t.signer, t.nonce ORDER BY t.nonce`,
      [this.#signer, ...values],
    );
    return result.rows.map((row) => ({
      ...row,
      gas: BigInt(row.gas),
      variants: row.variants.map(toVariant),
    }));
  }
}

function toVariant(row: { hash: Hex; raw: Hex; maxFee: string; priorityFee: string }): Variant {
  return { ...row, maxFee: BigInt(row.maxFee), priorityFee: BigInt(row.priorityFee) };
}
