import type { RequestHandler } from "express";
import { WebError } from "./errors.ts";

/** The application runs its own scripts and styles only, talks to its own host only, and is shown in no frame. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Headers of everything below /app. */
export const securityHeaders: RequestHandler = (_request, response, next) => {
  response.setHeader("content-security-policy", POLICY);
  response.setHeader("x-content-type-options", "nosniff");
  response.setHeader("referrer-policy", "no-referrer");
  response.setHeader("x-frame-options", "DENY");
  response.setHeader("cross-origin-opener-policy", "same-origin-allow-popups");
  response.setHeader("cross-origin-resource-policy", "same-origin");
  response.setHeader("permissions-policy", "camera=(), geolocation=(), microphone=()");
  next();
};

/** Sent by the application with every request that changes something. No form can, and a script elsewhere needs our leave. */
const CLIENT_HEADER = "x-requested-by";

const READS = new Set(["GET", "HEAD"]);

/**
 * Refuses what another site makes a browser send. Beside the cookie's SameSite=Strict: changes need the application's own Origin
 * and a header that only its own scripts can set (we answer no CORS preflight).
 */
export function sameOriginOnly(origin: string): RequestHandler {
  return (request, _response, next) => {
    if (READS.has(request.method)) return next();
    const from = request.headers.origin;
    if (from !== origin) {
      throw new WebError(
        "origin_not_allowed",
        `Requests from ${from ?? "no origin"} are refused: this application lives at ${origin}.`,
      );
    }
    if (request.headers[CLIENT_HEADER] === undefined) {
      throw new WebError("header_missing", `The request lacks the header ${CLIENT_HEADER}: web.`);
    }
    next();
  };
}
