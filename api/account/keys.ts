import { createHash, randomInt } from "node:crypto";
import type pg from "pg";
import { ReadLane } from "../../shared/read-lane.ts";
import { transaction } from "../db/pool.ts";

/** Key format: `svc_live_` and 32 alphanumeric characters (specification, "Authentication" 2). */
const PREFIX = "svc_live_";
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const FORMAT = /^svc_live_[A-Za-z0-9]{32}$/;

type KeyOwner = { wallet: string; createdAt: Date; suspended: boolean };

/** The part of a wallet's key that can be shown: its last four characters, never more. */
type KeySummary = {
  hint: string;
  createdAt: Date;
  /** To the minute; refused requests count. */
  lastUsedAt: Date | null;
  suspended: boolean;
};

/** A new key: 32 characters from a cryptographic source, about 190 bits. */
function newKey(): string {
  let key = PREFIX;
  for (let i = 0; i < 32; i++) key += ALPHABET[randomInt(ALPHABET.length)];
  return key;
}

/** SQL condition: the use of the key was not noted within the last minute. */
const UNNOTED = "(last_used_at IS NULL OR last_used_at < now() - interval '1 minute')";

// A fast hash is right here: a key has 190 random bits, there is nothing to guess.
const hashOf = (key: string) => createHash("sha256").update(key).digest();

/** API keys: one live key a wallet; only hashes are stored. */
export class Keys {
  readonly #pool: pg.Pool;
  readonly #owners = new ReadLane<Buffer, KeyOwner | null>((hashes) => this.#ownersOf(hashes));

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /**
   * Owner of a key; null if it does not exist or was revoked. The database is asked after the request came, so a revocation holds at once, on
   * every gateway. Requests of one moment share a query.
   */
  async owner(key: string): Promise<KeyOwner | null> {
    return FORMAT.test(key) ? this.#owners.ask(hashOf(key)) : null;
  }

  async #ownersOf(hashes: readonly Buffer[]): Promise<(KeyOwner | null)[]> {
    const { rows } = await this.#pool.query({
      name: "key-owners",
      text: `SELECT key_hash, wallet, created_at, suspended_at, ${UNNOTED} AS unnoted FROM api_key
             WHERE key_hash = ANY($1::bytea[]) AND revoked_at IS NULL`,
      values: [hashes],
    });
    const found = new Map<string, KeyOwner>();
    for (const { key_hash, wallet, created_at: createdAt, suspended_at } of rows) {
      found.set(key_hash.toString("hex"), { wallet, createdAt, suspended: suspended_at !== null });
    }
    const unnoted = rows.flatMap(({ key_hash, unnoted }) => (unnoted ? [key_hash] : []));
    if (unnoted.length > 0) this.#noteUse(unnoted);
    return hashes.map((hash) => found.get(hash.toString("hex")) ?? null);
  }

  /** No request waits for this write. If it fails, the key's next request makes it. A row that another gateway writes just now is left to it. */
  #noteUse(hashes: readonly Buffer[]): void {
    const write = this.#pool.query({
      name: "key-use",
      text: `UPDATE api_key SET last_used_at = now() WHERE id IN
             (SELECT id FROM api_key WHERE key_hash = ANY($1::bytea[]) AND ${UNNOTED} FOR UPDATE SKIP LOCKED)`,
      values: [hashes],
    });
    write.catch(() => {});
  }

  /** The wallet's live key; null if it has none. */
  async current(wallet: string): Promise<KeySummary | null> {
    const { rows } = await this.#pool.query(
      "SELECT hint, created_at, last_used_at, suspended_at FROM api_key WHERE wallet = $1 AND revoked_at IS NULL",
      [wallet.toLowerCase()],
    );
    const row = rows[0];
    if (row === undefined) return null;
    const { hint, created_at: createdAt, last_used_at: lastUsedAt, suspended_at } = row;
    return { hint, createdAt, lastUsedAt, suspended: suspended_at !== null };
  }

  /**
   * Creates the wallet's key, and deletes the one before it. The key is returned once and cannot be read again. A
   * suspension outlives the key: revoking a suspended key and creating another must not get around it.
   */
  async regenerate(wallet: string): Promise<string> {
    const key = newKey();
    const owner = wallet.toLowerCase();
    await transaction(this.#pool, async (client) => {
      // If several calls run at once, the last one's key stays. The lock comes first, so that the next statement sees the row that an
      // earlier call left.
      await client.query("SELECT pg_advisory_xact_lock(hashtextextended('api key of ' || $1, 0))", [owner]);
      await client.query(
        `WITH earlier AS (DELETE FROM api_key WHERE wallet = $2 RETURNING suspended_at, created_at)
         INSERT INTO api_key (key_hash, wallet, hint, suspended_at) VALUES ($1, $2, $3,
           (SELECT suspended_at FROM earlier ORDER BY created_at DESC LIMIT 1))`,
        [hashOf(key), owner, key.slice(-4)],
      );
    });
    return key;
  }

  /** Revokes the wallet's key; false if it had none. */
  async revoke(wallet: string): Promise<boolean> {
    const result = await this.#pool.query(
      "UPDATE api_key SET revoked_at = now() WHERE wallet = $1 AND revoked_at IS NULL",
      [wallet.toLowerCase()],
    );
    return (result.rowCount ?? 0) > 0;
  }

  /** Suspends or releases the wallet's key; false if it has none. */
  async setSuspended(wallet: string, suspended: boolean): Promise<boolean> {
    const result = await this.#pool.query(
      "UPDATE api_key SET suspended_at = CASE WHEN $2 THEN now() END WHERE wallet = $1 AND revoked_at IS NULL",
      [wallet.toLowerCase(), suspended],
    );
    return (result.rowCount ?? 0) > 0;
  }
}
