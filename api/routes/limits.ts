import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type RequestListener, type Server } from "node:http";
import type { RequestHandler } from "express";
import { rateLimit } from "express-rate-limit";
import { boundUnderWay, LOOPBACK } from "../../shared/connections.ts";
import { ApiError } from "../errors.ts";
import { HEADERS } from "./openapi/headers.ts";
import { addressOf } from "./request.ts";
import { methodsOf } from "./routes.ts";

const WINDOW_MS = 1_000;

/**
 * Per-IP burst limit of this process (specification, "Limits"): protects the machine, not capacity. `perSecond` requests a
 * second; beyond that 429 with `Retry-After` and the RateLimit headers of the IETF draft. Behind a proxy, TRUST_PROXY says how
 * many hops of X-Forwarded-For are ours.
 */
export function burstLimit(perSecond: number): RequestHandler {
  return rateLimit({
    windowMs: WINDOW_MS,
    limit: perSecond,
    standardHeaders: "draft-8",
    legacyHeaders: false,
    keyGenerator: addressOf,
    // Both only print a warning, for a header that any client can send; TRUST_PROXY says what is believed.
    validate: { xForwardedForHeader: false, forwardedHeader: false },
    handler: (_request, _response, next) => {
      next(
        new ApiError("rate_limited", `More than ${perSecond} requests a second from one address; slow down.`, {
          details: { retry_after: 1 },
        }),
      );
    },
  });
}

// ---------------------------------------------------------------- the socket

/** A request's headers must be there within `headers`, all of it within `request`. Node looks every `check` for those that are late. */
const TIMES_MS = { headers: 20_000, request: 60_000, check: 5_000 };
/** Longer than the idle time of usual load balancers: a connection is never closed under a request on its way. */
const KEEP_ALIVE_MS = 75_000;
/** Longer than any answer is silent (a plain one comes after at most 172 s): who reads nothing for so long has gone. */
const SILENT_MS = 300_000;
/**
 * The HTTP server with its limits against clients that are slow on purpose: headers and bodies that trickle in, answers that nobody
 * reads, connections that do nothing; and against those that ask a thousand things at once.
 */
export function createHttpServer(app: RequestListener, maxConnections: number, times = TIMES_MS): Server {
  const bounded = boundUnderWay(app);
  const server = createServer(
    {
      headersTimeout: times.headers,
      requestTimeout: times.request,
      connectionsCheckingInterval: times.check,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    bounded,
  );
  server.timeout = SILENT_MS;
  server.maxConnections = maxConnections;
  // A request with an unknown Expect header is answered all the same.
  server.on("checkExpectation", bounded);
  return server;
}

// ---------------------------------------------------------------- operators only

/** Names of this machine. A web page whose own name was pointed here asks for that name. */
const OWN_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;
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
  return LOOPBACK.test(request.socket.remoteAddress ?? "") && OWN_HOST.test(request.headers.host ?? "");
}

/** Digests have one length, so the comparison says nothing of the token's. */
function hasToken(header: string | undefined, token: string): boolean {
  return timingSafeEqual(digest(header ?? ""), digest(`Bearer ${token}`));
}

// ---------------------------------------------------------------- other origins

/** The response headers that scripts in a browser may read. */
const EXPOSED = Object.keys(HEADERS).join(", ").toLowerCase();
const PREFLIGHT_SECONDS = "7200";
/** Names of headers that a preflight may ask for, in characters. A proxy takes a gateway whose answer has a long head for broken. */
const MOST_NAMES = 1_024;

/**
 * Any origin may call the API: a key in the Authorization header is the only authority there is, and no browser adds it by
 * itself, as it would a cookie.
 */
export const anyOrigin: RequestHandler = (_request, response, next) => {
  response.setHeader("access-control-allow-origin", "*");
  response.setHeader("access-control-expose-headers", EXPOSED);
  next();
};

/** Answers OPTIONS, before authentication: a preflight carries no key. */
export const preflight: RequestHandler = (request, response, next) => {
  if (request.method !== "OPTIONS") {
    next();
    return;
  }
  const methods = methodsOf(`${request.baseUrl}${request.path}`)?.join(", ");
  if (methods === undefined) {
    next();
    return;
  }
  response.setHeader("allow", methods);
  response.setHeader("access-control-allow-methods", methods);
  // SDKs send headers of their own (x-stainless-…): a list of names would never be complete.
  const asked = request.headers["access-control-request-headers"] ?? "";
  const isUsual = asked !== "" && asked.length <= MOST_NAMES;
  response.setHeader("access-control-allow-headers", isUsual ? asked : "authorization, content-type, idempotency-key");
  response.setHeader("access-control-max-age", PREFLIGHT_SECONDS);
  response.setHeader("vary", "access-control-request-headers");
  response.status(204).end();
};

/** Answers belong to one client and change: no cache may keep them. */
export const noStore: RequestHandler = (_request, response, next) => {
  response.setHeader("cache-control", "no-store");
  response.setHeader("x-content-type-options", "nosniff");
  next();
};
