import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";
import type pg from "pg";

/** A message must be signed and sent within this time. */
export const NONCE_SECONDS = 600;

const FORMAT = /^[0-9a-f]{8}[0-9a-f]{24}[0-9a-f]{32}$/;

/**
 * Nonces of sign-in messages: expiry (8 hex digits), 12 random bytes, and a MAC over both. Whether a nonce is ours and still
 * good is computed, not stored: who asks for nonces fills no table. A used one is stored until it expires, so that it signs in
 * once, on whichever gateway.
 */
export class Nonces {
  readonly #pool: pg.Pool;
  /** The first one signs; those of other master keys are good too. */
  readonly #keys: readonly [Buffer, ...Buffer[]];

  constructor(pool: pg.Pool, masterKeyHex: string, others: readonly string[] = []) {
    const derive = (hex: string) => Buffer.from(hkdfSync("sha256", Buffer.from(hex, "hex"), "", "sign-in nonces", 32));
    this.#pool = pool;
    this.#keys = [derive(masterKeyHex), ...others.map(derive)];
  }

  /** A new nonce and when it expires. */
  issue(now: Date = new Date()): { nonce: string; expiresAt: Date } {
    const expires = Math.floor(now.getTime() / 1000) + NONCE_SECONDS;
    const head = expires.toString(16).padStart(8, "0") + randomBytes(12).toString("hex");
    return { nonce: head + mac(this.#keys[0], head), expiresAt: new Date(expires * 1000) };
  }

  /** Whether this service issued the nonce and its time is not over. Says nothing about use. */
  isGood(nonce: string, now: Date = new Date()): boolean {
    if (!FORMAT.test(nonce)) return false;
    const given = Buffer.from(nonce.slice(32), "hex");
    const head = nonce.slice(0, 32);
    if (!this.#keys.some((key) => timingSafeEqual(given, Buffer.from(mac(key, head), "hex")))) return false;
    return now.getTime() < expiryOf(nonce).getTime();
  }

  /** Uses the nonce up; false if it was used before. */
  async spend(nonce: string): Promise<boolean> {
    // With an hour to spare: by the gateway's clock it may be good for longer than by the database's.
    await this.#pool.query("DELETE FROM web_nonce WHERE expires_at < now() - interval '1 hour'");
    const { rowCount } = await this.#pool.query(
      "INSERT INTO web_nonce (nonce, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING",
      [nonce, expiryOf(nonce)],
    );
    return rowCount === 1;
  }
}

const mac = (key: Buffer, head: string): string => createHmac("sha256", key).update(head).digest("hex").slice(0, 32);

const expiryOf = (nonce: string): Date => new Date(Number.parseInt(nonce.slice(0, 8), 16) * 1000);
