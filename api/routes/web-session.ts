import { type RequestHandler, Router } from "express";
import { isHex } from "viem";
import { z } from "zod";
import type { Session, Sessions } from "../account/sessions.ts";
import { type SignInCheck, verifySignIn } from "../account/sign-in.ts";
import { addressOf, validate } from "./request.ts";

const signInSchema = z.object({
  message: z.string().max(4_000),
  signature: z.custom<`0x${string}`>((v) => isHex(v) && v.length <= 20_000, "must be hex"),
});

type Parts = SignInCheck & { sessions: Sessions };

const shown = ({ wallet, expiresAt }: Session) => ({ wallet, expires_at: expiresAt.toISOString() });

/**
 * Below /app/api:
 * - `POST /nonce` → `{nonce, expires_at}` for a sign-in message
 * - `POST /session` `{message, signature}` → session and cookie
 * - `GET /session` → `{session: {wallet, expires_at} | null, ended}`; `ended` if the cookie's session is over
 * - `DELETE /session` → 204
 */
export function sessionRoutes({ sessions, ...check }: Parts): Router {
  const nonce: RequestHandler = (_request, response) => {
    const { nonce, expiresAt } = check.nonces.issue();
    response.json({ nonce, expires_at: expiresAt.toISOString() });
  };

  const signIn: RequestHandler = async (request, response) => {
    const signed = validate(signInSchema, request.body);
    const wallet = await verifySignIn({ ...signed, from: addressOf(request) }, check);
    const earlier = sessions.token(request);
    if (earlier !== null) await sessions.close(earlier);
    const { token, session } = await sessions.open(wallet);
    sessions.setCookie(response, token);
    response.json({ session: shown(session), ended: false });
  };

  // Asked by every visitor, so nobody being signed in is an answer and no error.
  const current: RequestHandler = async (request, response) => {
    const token = sessions.token(request);
    const session = token === null ? null : await sessions.find(token);
    const ended = token !== null && session === null;
    if (ended) sessions.setCookie(response, null);
    response.json({ session: session && shown(session), ended });
  };

  const signOut: RequestHandler = async (request, response) => {
    const token = sessions.token(request);
    if (token !== null) await sessions.close(token);
    sessions.setCookie(response, null);
    response.status(204).end();
  };

  return Router().post("/nonce", nonce).post("/session", signIn).get("/session", current).delete("/session", signOut);
}
