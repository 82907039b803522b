import { JOB, some } from "./headers.ts";
import { type Json, ref } from "./json-schema.ts";
import { responses } from "./responses.ts";

const SSE = `data: {"id":"chatcmpl-job_0198c0de5f7a7c3e9b1d2f3a4b5c6d7e","object":"chat.completion.chunk","created":1767225600,"model":"qwen3-8b","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}]}

data: {"id":"chatcmpl-job_0198c0de5f7a7c3e9b1d2f3a4b5c6d7e","object":"chat.completion.chunk","created":1767225600,"model":"qwen3-8b","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

`;

const idempotencyKey: Json = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "Pay once: a repetition with the same key and the same body within the retention time gets the same job and the same " +
    "answer. With another body: 409 `conflict`. Errors are not kept.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]+$" },
};

const authorization: Json = {
  name: "x-service-authorization",
  in: "header",
  required: false,
  description:
    "Required for a wallet with an authorization key: that key's EIP-712 signature `Authorization` of this one job. Wallet, operator, the " +
    "model's catalog number and the SHA-256 of the body's bytes follow from the request. `job_id`: a UUIDv7 made " +
    "within 60 seconds of now, good for one job. `max_tokens`: their price is locked; at least what the body asks for. `max_credits`: at " +
    "least that price. `expires_at`: Unix seconds, at most 600 ahead. A repetition with the same header and body gets the same answer; " +
    "another use of the job id is 409 `conflict`. Not together with `Idempotency-Key`.",
  schema: {
    type: "string",
    pattern:
      "^job_id=job_[0-9a-f]{32};max_tokens=[0-9]+;max_credits=[0-9]+;expires_at=[0-9]+;signature=0x[0-9a-fA-F]{130}$",
  },
};

/** `POST /v1/chat/completions` */
export const createChatCompletion: Json = {
  operationId: "createChatCompletion",
  tags: ["Chat"],
  summary: "Generate a reply",
  description:
    "Locks the price in escrow, dispatches the request to a worker, and settles on chain. Fields that are not offered and would change the " +
    "answer are refused by name. Fields without a meaning for the answer (`user`, `metadata`, `store`, …) are ignored.",
  parameters: [idempotencyKey, authorization],
  requestBody: {
    required: true,
    description: "At most 4 MiB, and 1,000 entries in any list but `messages`.",
    content: {
      "application/json": {
        schema: ref("ChatCompletionRequest"),
        examples: {
          plain: { value: { model: "qwen3-8b", messages: [{ role: "user", content: "Say hello." }] } },
          streamed: { value: { model: "qwen3-8b", messages: [{ role: "user", content: "Say hello." }], stream: true } },
        },
      },
    },
  },
  responses: responses(
    {
      "200": {
        description:
          "The answer. With `stream`, events: the first chunk has `role` and content, the last one an empty `delta` and the " +
          "`finish_reason`, then `[DONE]`. Comment lines (`: keep-alive`) come in silence. A stream that breaks ends with " +
          '`data: {"error": …}` instead of `[DONE]`, and nothing is charged. The trailer `x-service-settlement-tx` follows.',
        headers: { ...JOB, ...some("Server-Timing", "Idempotent-Replayed") },
        content: {
          "application/json": { schema: ref("ChatCompletion") },
          "text/event-stream": {
            schema: {
              type: "string",
              description: "Server-Sent Events; each `data` is a chunk.",
              contentMediaType: "application/json",
              contentSchema: ref("ChatCompletionChunk"),
            },
            example: SSE,
          },
        },
      },
    },
    [
      "model_not_found",
      "context_length_exceeded",
      "insufficient_credits",
      "daily_limit_reached",
      "spending_frozen",
      "operator_not_chosen",
      "authorization_required",
      "authorization_invalid",
      "conflict",
      "no_workers_available",
      "job_timeout",
      "answer_withheld",
    ],
    true,
  ),
};
