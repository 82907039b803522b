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

/** `POST /v1/chat/completions` */
export const createChatCompletion: Json = {
  operationId: "createChatCompletion",
  tags: ["Chat"],
  summary: "Generate a reply",
  description:
    "Locks the price in escrow, has a worker answer, settles on chain. Fields that would change the answer and are not " +
    "offered (`n` above 1, `tools`, image parts, JSON `response_format`, `logprobs`, `logit_bias`, …) are refused by name; fields " +
    "without a meaning for the answer (`user`, `metadata`, `store`, …) are ignored.",
  parameters: [idempotencyKey],
  requestBody: {
    required: true,
    description: "At most 4 MiB.",
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
      "conflict",
      "no_workers_available",
      "job_timeout",
    ],
    true,
  ),
};
