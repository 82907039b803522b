/**
 * How model servers answer `POST /v1/chat/completions`, as far as it differs. Where each form is from:
 *
 *   llama-server  0.7.0 (b11669, Debian): recorded from the running program
 *   vLLM          commit 040a2cc2 of vllm-project/vllm: entrypoints/openai/engine/protocol.py; its refusals from excerpts in public reports
 *   SGLang        commit 002897c2 of sgl-project/sglang: entrypoints/openai/serving_chat.py, sse_utils.py (06713058), serving_base.py;
 *                 `SGLang 0.5` as serving_chat.py has it at 0c078e6f. Length and queue: managers/tokenizer_manager.py, managers/scheduler.py
 *   Ollama        v0.33.0-rc2 (fb307609): openai/openai.go, middleware/openai.go, llm/llama_server.go, server/routes.go
 *   TGI           3.3.6-dev0 (db931fcf): router/src/lib.rs, server.rs, chat.rs, validation.rs
 *   LM Studio     0.3.9 to 0.4.6: the document as lmstudio-ai/docs has it (c6854fba, REST API v0), chunks and errors as the reports #116, #378 and
 *                 #445 of lmstudio-ai/lmstudio-bug-tracker quote them; reasoning and errors in streams by its API changelog
 *   Mistral       mistralai/client-python 2.5.0 (05629d23): client/models/completionchunk.py, deltamessage.py, contentchunk.py,
 *                 chatcompletionchoice.py, usageinfo.py. Its errors from public reports
 *   OpenAI        from public code and reports that quote its answers, not from recordings
 */

export type Usage = { prompt: number; completion: number };
type Answer = { texts: readonly string[]; finish: "stop" | "length"; usage: Usage };

export type RecordedServer = {
  name: string;
  /** The data of each event of a stream, `[DONE]` included. */
  events: (answer: Answer) => unknown[];
  /** The same without `stream`. */
  document: (answer: Answer) => Record<string, unknown>;
  /** Refuses `max_tokens` behind a prompt; null where they fit, or where the server stops earlier instead. `status` 200: in the stream. */
  tooLong: (asked: { prompt: number; max_tokens: number; window: number }) => Refusal | null;
  /** Has no room; null where a server lets everybody wait. */
  busy: Refusal | null;
  /** Fails in mid-answer: the data of an event. */
  broken: unknown;
};
export type Refusal = { status: number; body: unknown; headers?: Record<string, string> };

const head = (more: Record<string, unknown> = {}) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1_795_825_421,
  model: "m",
  ...more,
});
const usageOf = ({ prompt, completion }: Usage) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
});
const choice = (delta: unknown, finish_reason: string | null = null, more: Record<string, unknown> = {}) => ({
  index: 0,
  delta,
  finish_reason,
  ...more,
});
const whole = (
  { texts, finish, usage }: Answer,
  message: Record<string, unknown> = {},
  more: Record<string, unknown> = {},
) => ({
  ...head({ object: "chat.completion" }),
  choices: [
    { index: 0, message: { role: "assistant", content: texts.join(""), ...message }, finish_reason: finish, ...more },
  ],
  usage: usageOf(usage),
});
const openAiError = (message: string, more: Record<string, unknown> = {}) => ({
  error: { message, type: "invalid_request_error", param: null, code: null, ...more },
});

const sglangChoice = (delta: object, finish: string | null = null, matched_stop: number | null = null) =>
  choice(delta, finish, { logprobs: null, matched_stop });

/** A refusal is 400, also of a stream: the first chunk is waited for. One token less than the window must be left. */
function sglangTooLong({ prompt, max_tokens, window }: { prompt: number; max_tokens: number; window: number }) {
  if (prompt + max_tokens < window) return null;
  const message =
    max_tokens > window
      ? `max_completion_tokens is too large: ${max_tokens}.This model supports at most ${window} completion tokens.`
      : prompt >= window
        ? `The input (${prompt} tokens) is longer than the model's context length (${window} tokens).`
        : `Requested token count exceeds the model's maximum context length of ${window} tokens. You requested a total of ${prompt + max_tokens} tokens: ${prompt} tokens from the input messages and ${max_tokens} tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.`;
  return { status: 400, body: { object: "error", message, type: "BadRequestError", param: null, code: 400 } };
}
const SGLANG_BUSY: Refusal = {
  status: 200,
  body: {
    error: {
      object: "error",
      message: "The request queue is full.",
      type: "SERVICE_UNAVAILABLE",
      param: null,
      code: 503,
    },
  },
};
const SGLANG_BROKEN = {
  error: { object: "error", message: "Internal error", type: "INTERNAL_SERVER_ERROR", param: null, code: 500 },
};

const fingerprint = { system_fingerprint: "b11669-Debian" };

export const SERVERS: readonly RecordedServer[] = [
  {
    name: "llama-server",
    events: ({ texts, finish, usage }) => [
      { ...head(fingerprint), choices: [choice({ role: "assistant", content: null })] },
      ...texts.map((content) => ({ ...head(fingerprint), choices: [choice({ content })] })),
      { ...head(fingerprint), choices: [choice({}, finish)] },
      {
        ...head(fingerprint),
        choices: [],
        usage: { ...usageOf(usage), prompt_tokens_details: { cached_tokens: 0 } },
        timings: { cache_n: 0, prompt_n: usage.prompt, predicted_n: usage.completion, predicted_per_second: 2923.9 },
      },
      "[DONE]",
    ],
    document: (answer) => ({ ...whole(answer), ...fingerprint, timings: { prompt_n: answer.usage.prompt } }),
    tooLong: ({ prompt, window }) =>
      prompt < window
        ? null
        : {
            status: 400,
            body: {
              error: {
                code: 400,
                message: `request (${prompt} tokens) exceeds the available context size (${window} tokens), try increasing it`,
                type: "exceed_context_size_error",
                n_prompt_tokens: prompt,
                n_ctx: window,
              },
            },
          },
    // While it loads its model. Its slots let everybody wait.
    busy: { status: 503, body: { error: { code: 503, message: "Loading model", type: "unavailable_error" } } },
    broken: { error: { code: 500, message: "failed to decode", type: "server_error" } },
  },
  {
    name: "vLLM",
    events: ({ texts, finish, usage }) => [
      {
        ...head(),
        choices: [choice({ role: "assistant", content: "" }, null, { logprobs: null })],
        prompt_token_ids: null,
      },
      ...texts.map((content) => ({
        ...head(),
        choices: [choice({ content }, null, { logprobs: null, token_ids: null })],
      })),
      { ...head(), choices: [choice({ content: "" }, finish, { logprobs: null, stop_reason: null, token_ids: null })] },
      { ...head(), choices: [], usage: usageOf(usage) },
      "[DONE]",
    ],
    document: (answer) => ({
      ...whole(
        answer,
        {
          refusal: null,
          annotations: null,
          audio: null,
          function_call: null,
          tool_calls: [],
          reasoning: null,
          reasoning_content: null,
        },
        { logprobs: null, stop_reason: null, token_ids: null },
      ),
      service_tier: null,
      prompt_logprobs: null,
      kv_transfer_params: null,
    }),
    tooLong: ({ prompt, max_tokens, window }) =>
      prompt + max_tokens <= window
        ? null
        : {
            status: 400,
            body: openAiError(
              `This model's maximum context length is ${window} tokens. However, you requested ${max_tokens} output tokens and your prompt contains ${prompt} input tokens, for a total of ${prompt + max_tokens} tokens. Please reduce the length of the input prompt or the number of requested output tokens.`,
              { type: "BadRequestError", param: "input_tokens", code: 400 },
            ),
          },
    busy: { status: 503, headers: { "retry-after": "2" }, body: openAiError("Server is overloaded", { code: 503 }) },
    broken: {
      error: { message: "EngineCore encountered an issue.", type: "InternalServerError", param: null, code: 500 },
    },
  },
  {
    name: "SGLang",
    events: ({ texts, finish, usage }) => [
      { ...head(), choices: [sglangChoice({ role: "assistant", content: "" })] },
      ...texts.map((content) => ({ ...head(), choices: [sglangChoice({ content })] })),
      { ...head(), choices: [sglangChoice({}, finish, 151645)] },
      { ...head(), choices: [], usage: { ...usageOf(usage), prompt_tokens_details: null, reasoning_tokens: 0 } },
      "[DONE]",
    ],
    document: (answer) => ({
      ...whole(answer, { reasoning_content: null, tool_calls: null }, { logprobs: null, matched_stop: 151645 }),
      metadata: { weight_version: "default" },
    }),
    tooLong: sglangTooLong,
    busy: SGLANG_BUSY,
    broken: SGLANG_BROKEN,
  },
  {
    name: "SGLang 0.5",
    events: ({ texts, finish, usage }) => {
      const nothing = { role: null, content: null, reasoning_content: null, tool_calls: null };
      const chunk = (delta: object, end: string | null = null, matched: number | null = null) => ({
        ...head(),
        choices: [sglangChoice({ ...nothing, ...delta }, end, matched)],
        usage: null,
      });
      return [
        chunk({ role: "assistant", content: "" }),
        ...texts.map((content) => chunk({ content })),
        chunk({}, finish, 151645),
        { ...head(), choices: [], usage: { ...usageOf(usage), prompt_tokens_details: null } },
        "[DONE]",
      ];
    },
    document: (answer) => ({
      ...whole(answer, { reasoning_content: null, tool_calls: null }, { logprobs: null, matched_stop: 151645 }),
      metadata: { weight_version: "default" },
    }),
    tooLong: sglangTooLong,
    busy: SGLANG_BUSY,
    broken: SGLANG_BROKEN,
  },
  {
    name: "Ollama",
    events: ({ texts, finish, usage }) => [
      ...texts.map((content, at) => ({
        ...head({ system_fingerprint: "fp_ollama" }),
        choices: [choice({ ...(at === 0 && { role: "assistant" }), content })],
      })),
      { ...head({ system_fingerprint: "fp_ollama" }), choices: [choice({}, finish)] },
      { ...head({ system_fingerprint: "fp_ollama" }), choices: [], usage: usageOf(usage) },
      "[DONE]",
    ],
    document: (answer) => ({ ...whole(answer), system_fingerprint: "fp_ollama" }),
    // It shortens a conversation by itself; what cannot be shortened is refused without counts.
    tooLong: ({ prompt, window }) =>
      prompt < window
        ? null
        : {
            status: 400,
            body: openAiError("the input length exceeds the context length", { type: "invalid_request_error" }),
          },
    busy: {
      status: 503,
      body: openAiError("server busy, please try again.  maximum pending requests exceeded", { type: "api_error" }),
    },
    broken: { error: { message: "llama runner process has terminated", type: "api_error", param: null, code: null } },
  },
  {
    name: "TGI",
    events: ({ texts, finish, usage }) => [
      ...texts.map((content) => ({
        ...head({ id: "", system_fingerprint: "3.3.6-sha" }),
        choices: [choice({ role: "assistant", content }, null, { logprobs: null })],
        usage: null,
      })),
      {
        ...head({ id: "", system_fingerprint: "3.3.6-sha" }),
        choices: [choice({ role: "assistant", content: "" }, finish, { logprobs: null })],
        usage: null,
      },
      { ...head({ id: "", system_fingerprint: "3.3.6-sha" }), choices: [], usage: usageOf(usage) },
      "[DONE]",
    ],
    document: (answer) => ({ ...whole(answer, {}, { logprobs: null }), id: "", system_fingerprint: "3.3.6-sha" }),
    tooLong: ({ prompt, max_tokens, window }) =>
      prompt + max_tokens <= window
        ? null
        : {
            status: 422,
            body: {
              error: `Input validation error: \`inputs\` tokens + \`max_new_tokens\` must be <= ${window}. Given: ${prompt} \`inputs\` tokens and ${max_tokens} \`max_new_tokens\``,
              error_type: "validation",
            },
          },
    busy: { status: 429, body: { error: "Model is overloaded", error_type: "overloaded" } },
    broken: { error: "Request failed during generation: Server error: CUDA out of memory", error_type: "generation" },
  },
  {
    name: "LM Studio",
    events: ({ texts, finish, usage }) => [
      ...texts.map((content) => ({
        ...head({ system_fingerprint: "qwen3-8b" }),
        choices: [choice({ role: "assistant", content }, null, { logprobs: null })],
      })),
      { ...head({ system_fingerprint: "qwen3-8b" }), choices: [choice({}, finish, { logprobs: null })] },
      { ...head({ system_fingerprint: "qwen3-8b" }), choices: [], usage: usageOf(usage) },
      "[DONE]",
    ],
    document: (answer) => ({
      ...whole(answer, {}, { logprobs: null }),
      stats: { tokens_per_second: 51.4, time_to_first_token: 0.111, generation_time: 0.954, stop_reason: "eosFound" },
      model_info: { arch: "qwen3", quant: "Q4_K_M", format: "gguf", context_length: 4096 },
      runtime: { name: "llama.cpp-mac-arm64-apple-metal-advsimd", version: "1.3.0", supported_formats: ["gguf"] },
    }),
    tooLong: ({ prompt, window }) =>
      prompt < window
        ? null
        : {
            status: 400,
            body: {
              error:
                "Trying to keep the first tokens when context overflows. However, the model is loaded with context length of only " +
                `${window} tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input`,
            },
          },
    busy: null,
    broken: {
      error: "<LM Studio error> The model has crashed without additional information. (Exit code: 0). Error Data: n/a",
    },
  },
  {
    name: "Mistral",
    events: ({ texts, finish, usage }) => [
      { ...head(), choices: [choice({ role: "assistant", content: "" })] },
      ...texts.map((text) => ({ ...head(), choices: [choice({ content: [{ type: "text", text }] })] })),
      { ...head(), choices: [choice({ content: "" }, finish)], usage: usageOf(usage) },
      "[DONE]",
    ],
    document: (answer) =>
      whole(answer, {
        tool_calls: null,
        prefix: false,
        content: answer.texts.map((text) => ({ type: "text", text })),
      }),
    tooLong: ({ prompt, max_tokens, window }) =>
      prompt + max_tokens <= window
        ? null
        : {
            status: 400,
            body: {
              object: "error",
              message: `Prompt contains ${prompt} tokens and ${max_tokens} draft tokens, too large for model with ${window} maximum context length`,
              type: "invalid_request_prompt",
              param: null,
              code: "3051",
            },
          },
    busy: {
      status: 429,
      headers: { "retry-after": "1" },
      body: { object: "error", message: "Rate limit exceeded", type: "rate_limited", param: null, code: "1300" },
    },
    broken: {
      object: "error",
      message: "Service unavailable.",
      type: "internal_server_error",
      param: null,
      code: "3000",
    },
  },
  {
    name: "OpenAI",
    events: ({ texts, finish, usage }) => [
      {
        ...head({ service_tier: "default" }),
        choices: [choice({ role: "assistant", content: "", refusal: null }, null, { logprobs: null })],
        usage: null,
        obfuscation: "aZ1",
      },
      ...texts.map((content) => ({
        ...head({ service_tier: "default" }),
        choices: [choice({ content }, null, { logprobs: null })],
        usage: null,
        obfuscation: "q",
      })),
      {
        ...head({ service_tier: "default" }),
        choices: [choice({}, finish, { logprobs: null })],
        usage: null,
        obfuscation: "",
      },
      {
        ...head({ service_tier: "default" }),
        choices: [],
        usage: {
          ...usageOf(usage),
          prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
          completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0, accepted_prediction_tokens: 0 },
        },
        obfuscation: "x2",
      },
      "[DONE]",
    ],
    document: (answer) => whole(answer, { refusal: null, annotations: [] }, { logprobs: null }),
    tooLong: ({ prompt, max_tokens, window }) =>
      prompt + max_tokens <= window
        ? null
        : {
            status: 400,
            body: openAiError(
              `This model's maximum context length is ${window} tokens. However, you requested ${prompt + max_tokens} tokens (${prompt} in the messages, ${max_tokens} in the completion). Please reduce the length of the messages or completion.`,
              { param: "messages", code: "context_length_exceeded" },
            ),
          },
    busy: {
      status: 429,
      headers: { "retry-after": "1" },
      body: openAiError("Rate limit reached for requests", { type: "requests", code: "rate_limit_exceeded" }),
    },
    broken: openAiError("The server had an error while processing your request.", {
      type: "server_error",
      code: "server_error",
    }),
  },
];
