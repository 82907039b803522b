import { createHash, randomBytes } from "node:crypto";
import type pg from "pg";
import { type Address, getAddress } from "viem";

/** A session ends this long after the signature, whatever happens in it. */
export const SESSION_SECONDS = 12 * 3600;

export type Session = { wallet: Address; createdAt: Date; expiresAt: Date };

type Row = { wallet: string; created_at: Date; expires_at: Date };

const show = (row: Row): Session => ({
  wallet: getAddress(row.wallet),
  createdAt: row.created_at,
  expiresAt: row.expires_at,
});
const hashOf = (token: string) => createHash("sha256").update(token).digest();

/** Sessions of the web application; only hashes of their tokens are stored. */
export class Sessions {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Opens a session; the token is the cookie's value. */
  async open(wallet: string): Promise<{ token: string; session: Session }> {
    await this.#pool.query("DELETE FROM web_session WHERE expires_at < now()");
    const token = randomBytes(32).toString("base64url");
    const { rows } = await this.#pool.query<Row>(
      `INSERT INTO web_session (token_hash, wallet, expires_at) VALUES ($1, $2, now() + make_interval(secs => $3))
       RETURNING wallet, created_at, expires_at`,
      [hashOf(token), wallet.toLowerCase(), SESSION_SECONDS],
    );
    return { token, session: show(rows[0] as Row) };
  }

  /** The session of a token; null if there is none or its time is over. */
  async find(token: string): Promise<Session | null> {
    const { rows } = await this.#pool.query<Row>({
      name: "web-session",
      text: "SELECT wallet, created_at, expires_at FROM web_session WHERE token_hash = $1 AND expires_at > now()",
      values: [hashOf(token)],
    });
    return rows[0] ? show(rows[0]) : null;
  }

  async close(token: string): Promise<void> {
    await this.#pool.query("DELETE FROM web_session WHERE token_hash = $1", [hashOf(token)]);
  }
}
