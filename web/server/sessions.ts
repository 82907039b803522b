/** Sessions of the web application: their rows, their cookie, and the guard of the routes that need one. */
import { createHash, randomBytes } from "node:crypto";
import type { Request, RequestHandler, Response } from "express";
import type pg from "pg";
import { type Address, getAddress } from "viem";
import { WebError } from "../../api/errors.ts";

/** A session ends this long after the signature, also while it is used. */
const SESSION_SECONDS = 12 * 3600;

/** Sessions of one wallet: with another one, the oldest ends. */
export const SESSIONS_PER_WALLET = 20;

export type Session = { wallet: Address; createdAt: Date; expiresAt: Date };

type Row = { wallet: string; created_at: Date; expires_at: Date };

const show = (row: Row): Session => ({
  wallet: getAddress(row.wallet),
  createdAt: row.created_at,
  expiresAt: row.expires_at,
});
const hashOf = (token: string) => createHash("sha256").update(token).digest();

/** Only hashes of the sessions' tokens are stored. */
export class Sessions {
  readonly #pool: pg.Pool;
  /** Whether browsers reach the application over HTTPS. */
  readonly #secure: boolean;

  constructor(pool: pg.Pool, origin: string) {
    this.#pool = pool;
    this.#secure = origin.startsWith("https:");
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
    await this.#pool.query(
      `DELETE FROM web_session WHERE token_hash IN
         (SELECT token_hash FROM web_session WHERE wallet = $1 ORDER BY created_at DESC, token_hash OFFSET $2)`,
      [wallet.toLowerCase(), SESSIONS_PER_WALLET],
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

  /** Value of the request's session cookie; null if it has none. */
  token(request: Request): string | null {
    const name = cookieName(this.#secure);
    for (const pair of (request.headers.cookie ?? "").split(";")) {
      const [key, value] = pair.trim().split("=", 2);
      if (key === name && value) return value;
    }
    return null;
  }

  /** Sets the session cookie; null deletes it. */
  setCookie(response: Response, token: string | null): void {
    response.cookie(cookieName(this.#secure), token ?? "", {
      httpOnly: true,
      sameSite: "strict",
      secure: this.#secure,
      path: "/",
      maxAge: token === null ? 0 : SESSION_SECONDS * 1000,
    });
  }
}

/** Over HTTPS the prefix makes browsers insist on Secure, no Domain and the whole path: no other host can set it. */
const cookieName = (secure: boolean): string => (secure ? "__Host-session" : "session");

/**
 * Lets requests with a live session pass; 401 `not_signed_in` or `session_expired` otherwise. The session's wallet
 * becomes the request's client. So the API's own routes (jobs, disputes, webhooks) serve the application as they are.
 */
export function requireSession(sessions: Sessions): RequestHandler {
  return async (request, response, next) => {
    const token = sessions.token(request);
    if (token === null) throw new WebError("not_signed_in", "Sign in with your wallet first.");
    const session = await sessions.find(token);
    if (session === null) {
      sessions.setCookie(response, null);
      throw new WebError("session_expired", "The session is over. Sign in again.");
    }
    request.client = { wallet: session.wallet, keyCreatedAt: session.createdAt };
    next();
  };
}
