import type { RequestHandler } from "express";
import { methodsOf } from "./methods.ts";

/** What scripts in a browser may read of an answer. */
const EXPOSED = [
  "x-request-id",
  "x-service-job-id",
  "x-service-tx-hash",
  "x-service-settlement-tx",
  "x-service-worker",
  "x-service-credits-remaining",
  "indexed-until",
  "idempotent-replayed",
  "retry-after",
  "ratelimit",
  "ratelimit-policy",
].join(", ");
const PREFLIGHT_SECONDS = "7200";

/**
 * Any origin may call the API: a key in the Authorization header is the only authority there is, and no browser adds it by
 * itself, as it would a cookie. OPTIONS is answered here, before authentication: a preflight carries no key.
 */
export const cors: RequestHandler = (request, response, next) => {
  response.setHeader("access-control-allow-origin", "*");
  response.setHeader("access-control-expose-headers", EXPOSED);
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
  const asked = request.headers["access-control-request-headers"];
  response.setHeader("access-control-allow-headers", asked ?? "authorization, content-type, idempotency-key");
  response.setHeader("access-control-max-age", PREFLIGHT_SECONDS);
  response.setHeader("vary", "access-control-request-headers");
  response.status(204).end();
};
