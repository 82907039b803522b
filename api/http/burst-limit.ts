import type { RequestHandler } from "express";
import { ipKeyGenerator, rateLimit } from "express-rate-limit";
import { ApiError } from "../errors.ts";

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
    // An IPv6 client owns a whole /56: one address of it is not one client.
    keyGenerator: (request) => ipKeyGenerator(request.ip ?? "unknown", 56),
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
