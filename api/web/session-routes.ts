import { type Request, type RequestHandler, type Response, Router } from "express";
import { isHex } from "viem";
import { z } from "zod";
import type { Rpc } from "../chain/rpc.ts";
import { validate } from "../http/validate.ts";
import { readCookie, setCookie } from "./cookie.ts";
import { WebError } from "./errors.ts";
import type { Nonces } from "./nonces.ts";
import { SESSION_SECONDS, type Session, type Sessions } from "./sessions.ts";
import { type Audience, verifySignIn } from "./sign-in.ts";

const signInSchema = z.object({
  message: z.string().max(4_000),
  signature: z.custom<`0x${string}`>((v) => isHex(v) && v.length <= 20_000, "must be hex"),
});

export type SessionParts = { sessions: Sessions; nonces: Nonces; rpc: Rpc; audience: Audience };

const isSecure = ({ audience }: SessionParts): boolean => audience.origin.startsWith("https:");
const show = ({ wallet, expiresAt }: Session) => ({ wallet, expires_at: expiresAt.toISOString() });

/**
 * Below /app/api:
 * `POST /nonce` → `{nonce, expires_at}` for a sign-in message; `POST /session` `{message, signature}` → session and cookie;
 * `GET /session` → `{session: {wallet, expires_at} | null, ended}`, `ended` if the cookie's session is over; `DELETE /session` → 204.
 */
export function sessionRoutes(parts: SessionParts): Router {
  const secure = isSecure(parts);

  const nonce: RequestHandler = (_request, response) => {
    const { nonce, expiresAt } = parts.nonces.issue();
    response.json({ nonce, expires_at: expiresAt.toISOString() });
  };

  const signIn: RequestHandler = async (request, response) => {
    const wallet = await verifySignIn(validate(signInSchema, request.body), parts.audience, parts.nonces, parts.rpc);
    const earlier = readCookie(request, secure);
    if (earlier !== null) await parts.sessions.close(earlier);
    const { token, session } = await parts.sessions.open(wallet);
    setCookie(response, secure, token, SESSION_SECONDS);
    response.json({ session: show(session), ended: false });
  };

  // Asked by every visitor, so nobody being signed in is an answer and no error.
  const current: RequestHandler = async (request, response) => {
    const token = readCookie(request, secure);
    const session = token === null ? null : await parts.sessions.find(token);
    if (token !== null && session === null) setCookie(response, secure, null, 0);
    response.json({ session: session && show(session), ended: token !== null && session === null });
  };

  const signOut: RequestHandler = async (request, response) => {
    const token = readCookie(request, secure);
    if (token !== null) await parts.sessions.close(token);
    setCookie(response, secure, null, 0);
    response.status(204).end();
  };

  return Router().post("/nonce", nonce).post("/session", signIn).get("/session", current).delete("/session", signOut);
}

/**
 * Lets requests with a live session pass; 401 `not_signed_in` or `session_expired` otherwise. The session's wallet becomes the
 * request's client, so that the API's own routes (jobs, disputes, webhooks) serve the application as they are.
 */
export function requireSession(parts: SessionParts): RequestHandler {
  const secure = isSecure(parts);
  return async (request: Request, response: Response, next) => {
    const token = readCookie(request, secure);
    if (token === null) throw new WebError("not_signed_in", "Sign in with your wallet first.");
    const session = await parts.sessions.find(token);
    if (session === null) {
      setCookie(response, secure, null, 0);
      throw new WebError("session_expired", "The session is over. Sign in again.");
    }
    response.locals.session = session;
    request.client = { wallet: session.wallet, keyCreatedAt: session.createdAt };
    next();
  };
}

/** The session behind `requireSession`. */
export function sessionOf(response: Response): Session {
  const session = response.locals.session as Session | undefined;
  if (session === undefined) throw new Error(`${response.req.path} is not behind requireSession`);
  return session;
}
