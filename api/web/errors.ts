import type { ErrorRequestHandler } from "express";

/** Errors of the web application's own routes; those that the API has too (job_not_found, …) keep their API form. */
const TABLE = {
  invalid_message: 400,
  wrong_domain: 400,
  wrong_chain: 400,
  not_signed_in: 401,
  session_expired: 401,
  message_expired: 401,
  nonce_expired: 401,
  nonce_used: 401,
  invalid_signature: 401,
  origin_not_allowed: 403,
  header_missing: 403,
  transaction_not_found: 404,
  not_found: 404,
  not_built: 503,
} as const;

export type WebErrorCode = keyof typeof TABLE;

/** An error of the web application's routes. Its body has `error.code` and `error.message` as the API's errors do. */
export class WebError extends Error {
  readonly code: WebErrorCode;
  readonly status: number;

  constructor(code: WebErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "WebError";
    this.code = code;
    this.status = TABLE[code];
  }
}

/** Answers a `WebError`; everything else is for the API's own handler. */
export const webErrorHandler: ErrorRequestHandler = (error, _request, response, next) => {
  if (!(error instanceof WebError) || response.headersSent) return next(error);
  response.status(error.status).json({ error: { code: error.code, message: error.message } });
};
