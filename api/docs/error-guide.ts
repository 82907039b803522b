import type { ErrorCode } from "../errors.ts";

/** The documentation of one error code. `retry`: what a repetition of the same request can achieve; absent if it achieves nothing. */
type ErrorEntry = { cause: string; fix: string; retry?: string };

/** One entry for every code: the type says when one is missing. */
export const ERROR_GUIDE: Record<ErrorCode, ErrorEntry> = {
  invalid_request: {
    cause: "The body, a query parameter or a header is malformed, missing or out of range; `param` names it.",
    fix: "Correct the field. Tools, images, several choices and log probabilities are not offered.",
  },
  model_not_found: {
    cause: "No listed model has this id. A model is listed only while at least one worker hosts it.",
    fix: "Take an id from GET /v1/models.",
  },
  context_length_exceeded: {
    cause:
      "The texts of the messages have more tokens than the model's context window, by the count of a common tokenizer (o200k_base). Or no model " +
      "server holds them with what its chat template adds: about 5 tokens a message, with 1/32 of the window beside it.",
    fix: "Shorten the conversation, or choose a model with a larger window.",
  },
  missing_api_key: {
    cause: "The request has no Authorization header.",
    fix: "Send `Authorization: Bearer <API_KEY>`.",
  },
  invalid_api_key: {
    cause: "The key does not exist, or was revoked or regenerated.",
    fix: "Create a key in the web application's Settings. A key is shown only once.",
  },
  insufficient_credits: {
    cause:
      "The free balance is below what the request locks: `details.credits_required` of `details.credits_remaining`.",
    fix: "Add credits in the web application, lower `max_tokens`, or choose a model of a lower tier.",
    retry: "After adding credits.",
  },
  daily_limit_reached: {
    cause:
      "The wallet's own daily limit, set on chain, does not allow this lock: `details.spent_today` of `details.daily_limit`.",
    fix: "Raise the limit with the wallet, or wait for the next day (UTC).",
    retry: "After that.",
  },
  key_suspended: {
    cause: "The key is suspended for a policy violation.",
    fix: "Contact the operator.",
  },
  spending_frozen: {
    cause: "The wallet has frozen its spending on chain.",
    fix: "Unfreeze it with the wallet.",
    retry: "After that.",
  },
  operator_not_chosen: {
    cause:
      "The wallet has chosen another operator, or none, so this service may not lock its credits: `details.chosen_operator` instead of `details.operator`.",
    fix: "Choose this service's operator in the web application, or with the wallet itself (chooseOperator).",
    retry: "After that.",
  },
  authorization_required: {
    cause: "The wallet has an authorization key on chain, and the request carries no signature of it.",
    fix: "Sign the job and send the signature in `x-service-authorization`, or remove the key with the wallet (setAuthorizationKey).",
    retry: "After that.",
  },
  authorization_invalid: {
    cause:
      "The authorization is not signed by the wallet's authorization key, `details.key`, or the wallet has none. `details.message` was checked.",
    fix: "Compare `details.message` with what was signed: the body's hash, the model's number, the operator.",
  },
  job_not_found: {
    cause: "No job of this key's wallet has this id. A job exists from its mined escrow on.",
    fix: "Check the id; GET /v1/jobs lists yours.",
  },
  output_not_found: {
    cause: "No answer of this job is kept: it had none, or the retention time is over.",
    fix: "Keep answers yourself; the service erases them.",
  },
  webhook_not_found: {
    cause: "No webhook of this key's wallet has this id.",
    fix: "GET /v1/webhooks lists yours.",
  },
  route_not_found: {
    cause: "There is no such route, or not with this method.",
    fix: "Check path and method against the API reference.",
  },
  conflict: {
    cause:
      "The request conflicts with an earlier one: an Idempotency-Key used with another body, a job id that was used before, a dispute of a job that " +
      "was never charged, or a ninth open dispute of one wallet.",
    fix: "The message says which. Use a new key or id for a new request; a wallet can also open a dispute itself, for a bond.",
  },
  job_not_settled: {
    cause:
      "The job has not reached the state that the request needs: a dispute waits for the settlement, 30 seconds as a rule, `/output` for the answer.",
    fix: "Send it again; a repeated dispute counts from its first arrival.",
    retry: "Yes, a little later.",
  },
  dispute_already_open: {
    cause: "A job can be disputed once. `details.dispute_tx` is the transaction, where this service opened it.",
    fix: "Watch the job: it stays `disputed` until the ruling, which comes within 24 hours.",
  },
  unprocessable: {
    cause: "The request is well-formed, but it cannot be carried out.",
    fix: "The message says why.",
  },
  request_failed_at_model: {
    cause:
      "The model server failed on this request at up to two workers, and then passed the gateway's own test: the request itself makes it fail.",
    fix: "Change the request: the order of the messages' roles, the JSON schema, optional parameters. A wallet that repeats such requests waits between its jobs.",
    retry: "No: the same request would fail again. Nothing is charged.",
  },
  dispute_window_expired: {
    cause:
      "The dispute arrived later than 60 seconds after the final output token, or was repeated after the contract's own window.",
    fix: "Hash answers as they arrive, and send a dispute at once.",
  },
  rate_limited: {
    cause: "Too many requests a second from one address. There is no limit by policy; capacity is priced.",
    fix: "Slow down; the RateLimit headers tell how much is left.",
    retry: "Yes, after `Retry-After` seconds.",
  },
  internal_error: {
    cause: "A fault of the service.",
    fix: "Tell the operator the x-request-id of the answer.",
    retry: "Yes. Nothing is charged without an answer.",
  },
  no_workers_available: {
    cause:
      "No worker that hosts the model answers now, none may take a job of that many credits, or all were busy for as long as a request may wait.",
    fix: "Wait, ask for fewer `max_tokens`, or choose another model.",
    retry: "Yes, after `details.retry_after` seconds.",
  },
  service_unavailable: {
    cause:
      "The settlement chain or a part of the service is out of reach, the worker broke off, or the wallet's other requests keep this one waiting. The message says which.",
    fix: "Retry. Nothing is charged, but look at the job where `details.job_id` names one: another gateway may have ended it with an answer.",
    retry: "Yes, after `Retry-After` seconds where given.",
  },
  answer_withheld: {
    cause:
      "The worker proved an answer on chain that it did not deliver, so the job can neither fail nor be refunded at once.",
    fix: "Follow the job. The service asks the worker for the answer: then it is at `GET /v1/jobs/{job_id}/output`, and is charged. Without it the service disputes the charge before `details.held_until`.",
    retry: "Yes. The credits of the first job stay in escrow until then.",
  },
  job_timeout: {
    cause: "No worker completed the job within 120 seconds.",
    fix: "Retry, or ask for fewer tokens. `details.refund_tx` is the refund's transaction; while that is not mined it is null, and `credits_refunded` is 0.",
    retry: "Yes. The credits are back, or on their way.",
  },
};
