/** Every error a client can get: code, status and type in one table (specification, "Errors"; design section 5, "Codes"). */

const TABLE = {
  invalid_request: [400, "invalid_request_error"],
  model_not_found: [400, "invalid_request_error"],
  context_length_exceeded: [400, "invalid_request_error"],
  missing_api_key: [401, "authentication_error"],
  invalid_api_key: [401, "authentication_error"],
  insufficient_credits: [402, "payment_error"],
  daily_limit_reached: [402, "payment_error"],
  key_suspended: [403, "permission_error"],
  spending_frozen: [403, "permission_error"],
  operator_not_chosen: [403, "permission_error"],
  authorization_required: [403, "permission_error"],
  authorization_invalid: [403, "permission_error"],
  job_not_found: [404, "not_found_error"],
  output_not_found: [404, "not_found_error"],
  webhook_not_found: [404, "not_found_error"],
  route_not_found: [404, "not_found_error"],
  conflict: [409, "conflict_error"],
  job_not_settled: [409, "conflict_error"],
  dispute_already_open: [409, "conflict_error"],
  unprocessable: [422, "invalid_request_error"],
  request_failed_at_model: [422, "invalid_request_error"],
  dispute_window_expired: [422, "invalid_request_error"],
  rate_limited: [429, "rate_limit_error"],
  internal_error: [500, "api_error"],
  answer_withheld: [500, "api_error"],
  no_workers_available: [503, "capacity_error"],
  service_unavailable: [503, "capacity_error"],
  job_timeout: [504, "timeout_error"],
} as const satisfies Record<string, readonly [number, string]>;

export type ErrorCode = keyof typeof TABLE;

export const ERROR_CODES = Object.keys(TABLE) as ErrorCode[];

/** Longest quotation of what a client sent, characters. */
const QUOTED = 100;

/** Quotes what a client sent for an error message, and shortens it to its beginning if it is long. */
export const quoted = (text: string): string => `'${text.length > QUOTED ? `${text.slice(0, QUOTED)}…` : text}'`;

type Extra = { param?: string; details?: Record<string, unknown>; status?: number; cause?: unknown };

/** An error with the body the specification gives it. `message` says what was wrong, with which value, and what to do. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly type: string;
  readonly param: string | null;
  readonly details: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, extra: Extra = {}) {
    super(message, { cause: extra.cause });
    this.name = "ApiError";
    this.code = code;
    const [status, type] = TABLE[code];
    // `model_not_found` is 400 in a chat request and 404 on the model's own route.
    this.status = extra.status ?? status;
    this.type = this.status === 404 ? "not_found_error" : type;
    this.param = extra.param ?? null;
    this.details = extra.details;
  }

  /** The response body; `docsUrl` is the public documentation site. */
  body(docsUrl: string) {
    return {
      error: {
        code: this.code,
        message: this.message,
        type: this.type,
        param: this.param,
        docs: `${docsUrl}/errors#${this.code}`,
        ...(this.details === undefined ? {} : { details: this.details }),
      },
    };
  }
}

/** 503 for a fault that passes: a client may come back after so many seconds. */
export const unavailable = (message: string, retryAfter: number, cause?: unknown): ApiError =>
  new ApiError("service_unavailable", message, { details: { retry_after: retryAfter }, cause });

/** Errors of the web application's own routes; those that the API has too (job_not_found, …) keep their API form. */
const WEB_TABLE = {
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
  too_long: 502,
  node_refused: 502,
  not_built: 503,
} as const;

type WebErrorCode = keyof typeof WEB_TABLE;

/** An error of the web application's routes. Its body has `error.code` and `error.message` as the API's errors do. */
export class WebError extends Error {
  readonly code: WebErrorCode;
  readonly status: number;

  constructor(code: WebErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "WebError";
    this.code = code;
    this.status = WEB_TABLE[code];
  }
}
