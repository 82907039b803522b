import { createHash, timingSafeEqual } from "node:crypto";
import type { RequestHandler } from "express";

const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/;
/** Added by a proxy: a request that has one comes from somewhere else, however near its last hop is. */
const FORWARDED = ["forwarded", "x-forwarded-for", "x-real-ip"];

const digest = (text: string) => createHash("sha256").update(text).digest();

/**
 * For what clients must not see: workers, balances, load. With a `token` the request needs it as `Authorization: Bearer`; without
 * one it must come from this very machine. Everybody else is answered 403.
 */
export function operatorsOnly(token: string | undefined): RequestHandler {
  return (request, response, next) => {
    if (token === undefined ? isLocal(request) : hasToken(request.headers.authorization, token)) return next();
    const message =
      token === undefined
        ? "Open to this machine only; set METRICS_TOKEN to read it from another one (docs/operations/watch.md)."
        : "Needs 'Authorization: Bearer <METRICS_TOKEN>'.";
    response.status(403).json({ error: { code: "forbidden", message } });
  };
}

function isLocal(request: Parameters<RequestHandler>[0]): boolean {
  if (FORWARDED.some((name) => request.headers[name] !== undefined)) return false;
  return LOOPBACK.test(request.socket.remoteAddress ?? "");
}

/** Digests have one length, so the comparison says nothing of the token's. */
function hasToken(header: string | undefined, token: string): boolean {
  return timingSafeEqual(digest(header ?? ""), digest(`Bearer ${token}`));
}
