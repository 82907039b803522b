import type { IncomingMessage, ServerResponse } from "node:http";
import express, { type Request, type RequestHandler } from "express";
import { whyUnreasonable } from "../../shared/json-shape.ts";
import { ApiError } from "../errors.ts";
import { AUTHORIZATION_HEADER } from "../jobs/authorization.ts";

/** Largest request body. */
export const BODY_LIMIT = 4 * 1024 * 1024;

/** Without this, a body of another type would be skipped and the answer would complain about a missing one. */
const onlyJson: RequestHandler = (request, _response, next) => {
  const { "content-length": length } = request.headers;
  if (request.method === "POST" && length !== "0" && request.is("application/json") === false) {
    const type = request.headers["content-type"]?.slice(0, 100) ?? "none";
    throw new ApiError("invalid_request", `Content-Type: must be application/json, not '${type}'`, {
      param: "Content-Type",
    });
  }
  next();
};

/** An Idempotency-Key and an authorization stand for the bytes that were sent with them, as they were before any compression. */
function keepRawBody(request: IncomingMessage, _response: ServerResponse, body: Buffer): void {
  const { headers } = request;
  const isKept = headers["idempotency-key"] !== undefined || headers[AUTHORIZATION_HEADER] !== undefined;
  if (isKept) (request as Request).rawBody = body;
}

/** Refuses bodies whose parts are so many or so deep that looking at them would hold up everybody else. */
export const plainShape: RequestHandler = (request, _response, next) => {
  const reason = whyUnreasonable(request.body);
  if (reason !== null) throw new ApiError("invalid_request", `The body ${reason}.`);
  next();
};

/** Reads request bodies: JSON of at most 4 MiB, also compressed. Whatever cannot be read is `invalid_request`. */
export const readBody: RequestHandler[] = [
  onlyJson,
  express.json({ limit: BODY_LIMIT, strict: false, verify: keepRawBody }),
  plainShape,
];
