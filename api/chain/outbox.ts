/**
 * The pipeline's tables. Signed bytes are on disk before they are sent, so after a crash the same transactions go out
 * again.
 */
import type pg from "pg";
import type { Address, Hex } from "viem";
import { insertJobs, type NewJob, newJobsJson } from "../db/jobs.ts";
import type { Operation } from "./operations.ts";

/** The terms of a signed transaction: how many of its nonce's operations are in it, from the first on, and its gas and prices. */
export type Offer = { operations: number; gas: bigint; maxFee: bigint; priorityFee: bigint };

/** One signed form of a transaction. */
export type Variant = Offer & { hash: Hex; raw: Hex };

/**
 * The operations that are sent with one nonce, and the signed variants of their transaction, oldest first. The first variant has all
 * operations.
 */
export type OutboxRow = { nonce: number; items: Operation[]; variants: Variant[] };

/** In place of the mined hash where another transaction used the nonce. */
export const VOID: Hex = "0x";

/** The transactions of one signer. */
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
  async insert({ nonce, items, variants }: OutboxRow, jobs: readonly NewJob[]): Promise<void> {
    const { hash, raw, operations, gas, maxFee, priorityFee } = variants[0] as Variant;
    const transaction = [this.#signer, nonce, JSON.stringify(items), gas];
    const variant = [hash, raw, maxFee.toString(), priorityFee.toString()];
    await this.#pool.query({
      name: "outbox-insert",
      text: `WITH tx AS (INSERT INTO chain_transaction (signer, nonce, items, gas) VALUES ($1, $2, $3, $4) RETURNING signer, nonce),
             jobs AS (${insertJobs("$9")})
             INSERT INTO chain_transaction_variant (hash, signer, nonce, raw, max_fee, priority_fee, operations, gas)
             SELECT $5, signer, nonce, $6, $7, $8, $10::integer, $4::bigint FROM tx`,
      values: [...transaction, ...variant, newJobsJson(jobs), operations],
    });
  }

  /** Records another variant: same nonce, at another price or with fewer operations. */
  async addVariant(nonce: number, variant: Variant): Promise<void> {
    const { hash, raw, maxFee, priorityFee, operations, gas } = variant;
    await this.#pool.query(
      `INSERT INTO chain_transaction_variant (hash, signer, nonce, raw, max_fee, priority_fee, operations, gas)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (hash) DO NOTHING`,
      [hash, this.#signer, nonce, raw, maxFee.toString(), priorityFee.toString(), operations, gas],
    );
  }

  /** Records where a transaction was seen mined, or, of a `VOID` one, a block in which another had used its nonce. */
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

  /** Every signed form of one transaction, oldest first. */
  async variants(nonce: number): Promise<Variant[]> {
    const [row] = await this.#read("t.nonce = $2", [nonce]);
    return row?.variants ?? [];
  }

  /** Transactions not known to be mined, oldest nonce first. */
  open(): Promise<OutboxRow[]> {
    return this.#read("t.mined_hash IS NULL");
  }

  /**
   * Transactions seen mined whose nonce is one of these, or lies between `from` and `to`, both included. A void nonce is among them: free
   * again, it would be a gap.
   */
  mined(nonces: readonly number[], from: number, to: number): Promise<OutboxRow[]> {
    const where = "t.mined_hash IS NOT NULL AND (t.nonce = ANY($2) OR t.nonce BETWEEN $3 AND $4)";
    return this.#read(where, [nonces, from, to]);
  }

  /** The transactions that were seen mined above this block, each with its block. */
  async minedAbove(block: number): Promise<{ nonce: number; block: number; hash: Hex }[]> {
    const result = await this.#pool.query({
      name: "outbox-mined-above",
      text: `SELECT nonce, mined_block AS block, mined_block_hash AS hash FROM chain_transaction
             WHERE signer = $1 AND mined_block > $2 AND mined_block_hash IS NOT NULL`,
      values: [this.#signer, block],
    });
    return result.rows;
  }

  /** Highest nonce ever recorded, -1 if none. */
  lastNonce(): Promise<number> {
    return this.#highest("outbox-last", "true");
  }

  /** Highest nonce that was seen mined, -1 if none. */
  lastMined(): Promise<number> {
    return this.#highest("outbox-last-mined", "mined_hash IS NOT NULL");
  }

  /** Forgets what is final. */
  async prune(finalBlock: number): Promise<void> {
    await this.#pool.query("DELETE FROM chain_transaction WHERE signer = $1 AND mined_block <= $2", [
      this.#signer,
      finalBlock,
    ]);
  }

  async #highest(name: string, where: string): Promise<number> {
    const result = await this.#pool.query<{ nonce: number }>({
      name,
      text: `SELECT nonce FROM chain_transaction WHERE signer = $1 AND ${where} ORDER BY nonce DESC LIMIT 1`,
      values: [this.#signer],
    });
    return result.rows[0]?.nonce ?? -1;
  }

  async #read(where: string, values: unknown[] = []): Promise<OutboxRow[]> {
    const result = await this.#pool.query(
      `SELECT t.nonce, t.items,
              json_agg(json_build_object('hash', v.hash, 'raw', v.raw, 'maxFee', v.max_fee::text, 'priorityFee', v.priority_fee::text,
                                         'operations', COALESCE(v.operations, jsonb_array_length(t.items)),
                                         'gas', COALESCE(v.gas, t.gas)::text)
                       ORDER BY v.created_at) AS variants
       FROM chain_transaction t JOIN chain_transaction_variant v USING (signer, nonce)
       WHERE t.signer = $1 AND ${where} GROUP BY t.signer, t.nonce ORDER BY t.nonce`,
      [this.#signer, ...values],
    );
    return result.rows.map(({ nonce, items, variants }) => ({
      nonce,
      items,
      variants: variants.map((variant: Record<keyof Variant, string>) => ({
        ...variant,
        gas: BigInt(variant.gas),
        maxFee: BigInt(variant.maxFee),
        priorityFee: BigInt(variant.priorityFee),
      })),
    }));
  }
}

/**
 * The transactions that settlements are in, of all signers, by job: the mined one, otherwise the newest variant that has it. Of jobs that settle
 * now: what was mined long ago is pruned.
 */
export async function settlementsSent(reader: Pick<pg.Pool, "query">, jobIds: readonly Hex[]): Promise<Map<Hex, Hex>> {
  if (jobIds.length === 0) return new Map();
  const { rows } = await reader.query<{ jobId: Hex; hash: Hex }>({
    name: "outbox-settlements",
    text: `SELECT item->>'jobId' AS "jobId", v.hash FROM chain_transaction t
           CROSS JOIN LATERAL jsonb_array_elements(t.items) WITH ORDINALITY AS items (item, place)
           -- A variant can hold the first operations only: then the others leave in a later transaction.
           CROSS JOIN LATERAL (SELECT hash FROM chain_transaction_variant
             WHERE signer = t.signer AND nonce = t.nonce AND COALESCE(t.mined_hash, hash) = hash AND COALESCE(operations, place) >= place
             ORDER BY created_at DESC LIMIT 1) v
           WHERE (t.mined_hash IS NULL OR t.created_at > now() - interval '10 minutes')
             AND item->>'kind' = 'complete' AND item->>'jobId' = ANY($1)
           ORDER BY t.created_at`,
    values: [jobIds],
  });
  // One that was sent again is in the last of them.
  return new Map(rows.map(({ jobId, hash }) => [jobId, hash]));
}
