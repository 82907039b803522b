/**
 * What users reported of model servers and gateways, tried here one by one: the server's answer as the report has it, and what a worker makes of
 * it. Read on 2026-11-28. "mended": it failed here when it was first tried.
 *
 *   report                                    kind                                                              here
 *   ----------------------------------------  ----------------------------------------------------------------  ---------
 *   vllm-project/vllm#35705                   the last text and the reason of the end in one chunk              held
 *   NousResearch/hermes-agent#91373           the same, then counts with no reason                              held
 *   ollama/ollama#4357, sgl-project/…#3912    an empty reason in every chunk                                    held
 *   ollama/ollama#13371                       no text, no counts, and an end                                    held
 *   BerriAI/litellm#1371                      `usage: {}` in every chunk                                        held
 *   BerriAI/litellm#28735                     counts in a chunk with a choice                                   held
 *   BerriAI/litellm#40578                     an error in a stream that began with 200                          held
 *   the same                                  a full queue, told in words only                                  mended
 *   openai/openai-go#227                      comments before the first event                                   held
 *   diegosouzapw/OmniRoute#8210               an error beside an empty list of choices                          held
 *   damianvtran/local-operator#223            an error in the chunk that ends the answer                        held
 *   OleksandrChekhovskyi/hax#15               a failure told in `native_finish_reason` alone                    mended
 *   dcdpr/jp#978, RooCodeInc/Roo-Code#5816    "prompt is too long: N tokens > M maximum"                        mended
 *   continuedev/continue#8454                 "… exceed context limit: N + M > L"                               mended
 *   acheong08/ChatGPT#501                     "… (N in your prompt; M for the completion)"                      mended
 *   google-gemini, by its OpenAI endpoint     "The input token count (N) exceeds … tokens allowed (M)"          mended
 *   vercel/ai#7417, anomalyco/opencode#1298   a last chunk without choices, with fields of its own              held
 *   vercel/ai#4031                            chunks without index and reason                                   held
 *   langchain-ai/langchain#32252              `choices: null` in a document                                     held
 *   n8n-io/n8n#37959                          an error, no choices, HTML or nothing with status 200             held
 *   lmstudio-ai/lmstudio-bug-tracker#1680     "Unexpected endpoint or method", with status 200                  held
 *   diffbot/code-gpt-docs#284, SGLang         max_tokens above what the model may write                         mended
 *   HELPMEEADICE/doge-code#32 (DeepSeek)      the same, as a range                                              mended
 *   Gitlawb/openclaude#331 (Volcengine)       the same, as "a value <= N"                                       mended
 *   mistralai/client-python 2.5.0             a choice with `messages` instead of `message`                     mended
 *   vllm-project/vllm (FinishReason)          the end "repetition"                                              mended
 *   vllm-project/vllm#57082                   the end "abort"                                                   held
 *   sgl-project/sglang (serving_chat.py)      "Harmony does not support reasoning effort none"                  mended
 *   waybarrios/vllm-mlx#628                   no reason of the end, but `[DONE]`                                a failure
 *   vllm-project/vllm#52852                   the same without `[DONE]`: a broken answer                        a failure
 *
 * The last two cannot be told apart from half an answer with certainty, and half an answer must not be sold.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { OpenAiBackend } from "../../../worker/backends/openai.ts";
import { answerOf } from "../../worker/support/backend-answer.ts";
import { type Peer, startPeer } from "../../worker/support/peer.ts";

let peer: Peer;
let backend: OpenAiBackend;
beforeAll(async () => {
  peer = await startPeer(["m"]);
});
beforeEach(() => {
  backend = new OpenAiBackend({ baseUrl: peer.url, key: null, connections: 2 });
  peer.requests.length = 0;
});
afterEach(() => backend.close());
afterAll(() => peer.stop());

const DONE = "[DONE]";
const choice = (delta: unknown, finish_reason: unknown = null, more: object = {}) => ({
  choices: [{ index: 0, delta, finish_reason, ...more }],
});
const end = choice({}, "stop");
/** The server answers with these events, or, given no list, with this document; `status` 200. */
function answers(...said: unknown[]): void {
  peer.play((res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    for (const one of said) res.write(`data: ${typeof one === "string" ? one : JSON.stringify(one)}\n\n`);
    res.end();
  });
}
const documents = (body: unknown): void =>
  peer.play((res) => void res.writeHead(200).end(typeof body === "string" ? body : JSON.stringify(body)));

describe("an answer is whole", () => {
  const counts = { prompt_tokens: 9, completion_tokens: 3 };
  it.each<[string, unknown[], object]>([
    ["whose last text has the reason of the end", [choice({ content: "a b" }, "length"), DONE], { finish: "length" }],
    [
      "whose counts come after that, without a reason",
      [choice({ content: "a b" }, "stop"), { choices: [], usage: counts }, DONE],
      { usage: { completionTokens: 3 } },
    ],
    ["with an empty reason in every chunk", [choice({ content: "a b" }, ""), choice({}, "stop"), DONE], {}],
    [
      "with empty counts in every chunk",
      [{ ...choice({ content: "a b" }), usage: {} }, { ...end, usage: {} }, DONE],
      { usage: null },
    ],
    [
      "whose counts are beside a choice",
      [choice({ content: "a b" }), end, { ...choice({}), usage: counts }, DONE],
      { usage: { promptTokens: 9 } },
    ],
    [
      "whose last chunk has no choices, and fields of its own",
      [
        choice({ content: "a b" }),
        end,
        { id: "usage-1", provider_id: "or", request_id: "zj-1", usage: { ...counts, zj_usage: { multiplier: 2 } } },
        DONE,
      ],
      { usage: { promptTokens: 9 } },
    ],
    ["whose chunks have neither index nor reason", [{ choices: [{ delta: { content: "a b" } }] }, end, DONE], {}],
    [
      "that its server ended since it repeated itself",
      [choice({ content: "a b" }), choice({}, "repetition", { stop_reason: null }), DONE],
      { finish: "length" },
    ],
  ])("%s", async (_name, said, expected) => {
    answers(...said);
    expect(await answerOf(backend)).toMatchObject({ failure: null, text: "a b", finish: "stop", ...expected });
  });

  it("behind comments that come before the first event", async () => {
    peer.play((res) => {
      res.writeHead(200, { "content-type": "text/event-stream" }).write(": OPENROUTER PROCESSING\n\n".repeat(3));
      res.end(`data: ${JSON.stringify(choice({ content: "a b" }, "stop"))}\n\ndata: [DONE]\n\n`);
    });
    expect(await answerOf(backend)).toMatchObject({ failure: null, text: "a b", finish: "stop" });
  });

  it("that has messages in place of one", async () => {
    documents({ choices: [{ index: 0, messages: [{ role: "assistant", content: "a b" }], finish_reason: "stop" }] });
    expect(await answerOf(backend)).toMatchObject({ failure: null, text: "a b", finish: "stop" });
  });

  it("is empty where the server says so, and then counted here", async () => {
    const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    documents({ choices: [{ index: 0, message: { content: null, refusal: null }, finish_reason: "stop" }], usage });
    expect(await answerOf(backend)).toMatchObject({ failure: null, text: "", finish: "stop", usage: null });
  });
});

describe("no answer is taken for an empty one", () => {
  const failed = { object: "error", message: "Worker local total request limit reached (33/32)", code: 502 };
  it.each<[string, unknown[], string]>([
    ["an error in the stream", [{ error: { message: "boom", type: "server_error", code: 500 } }, DONE], "BackendError"],
    ["a full server", [{ error: { message: "boom", code: 503 } }, DONE], "ServerBusy"],
    [
      "a full server, told in words",
      [{ error: { message: "Streaming response failed: [503] The request queue is full.", type: "server_error" } }],
      "ServerBusy",
    ],
    ["an error beside no choices", [{ id: "gen-1", choices: [], error: failed }, DONE], "BackendError"],
    [
      "an error in the chunk that ends the answer",
      [choice({ content: "a" }), { ...choice({ content: "" }, "error"), error: { code: "server_error" } }],
      "BackendError",
    ],
    [
      "a failure that only the native reason tells",
      [choice({ content: "" }), choice({}, "stop", { native_finish_reason: "network_error" }), DONE],
      "BackendError",
    ],
    ["an end by abort", [choice({ content: "a" }), choice({}, "abort"), DONE], "BackendError"],
    ["no reason of the end", [choice({ content: "a" }), choice({}), DONE], "BackendError"],
    ["no end at all", [choice({ content: "a" })], "BackendError"],
  ])("%s", async (_name, said, failure) => {
    answers(...said);
    expect((await answerOf(backend)).failure?.name).toBe(failure);
  });

  it.each<[string, unknown, string]>([
    ["no choices", { id: "x", choices: null, error: null }, "BackendError"],
    ["an empty list of choices", { id: "x", object: "chat.completion", choices: [] }, "BackendError"],
    ["an error", { error: { message: "Rate limit exceeded", code: 429 } }, "ServerBusy"],
    ["nothing", "", "BackendError"],
    ["a web page", "<!doctype html><html><body>It works!</body></html>", "BackendError"],
    ["another route", { error: "Unexpected endpoint or method. (POST /v1/chat/completions)" }, "BackendError"],
  ])("a document of 200 that has %s", async (_name, body, failure) => {
    documents(body);
    expect((await answerOf(backend)).failure?.name).toBe(failure);
  });
});

/** Refuses a request for more tokens than `most`, as a server says it. */
const refusing = (most: number, message: (asked: number) => string) =>
  peer.play((res, body) => {
    const asked = Number(body["max_completion_tokens"] ?? body["max_tokens"]);
    if (asked > most) return void res.writeHead(400).end(JSON.stringify({ error: { message: message(asked) } }));
    res.writeHead(200).end(JSON.stringify({ choices: [{ message: { content: "a b" }, finish_reason: "length" }] }));
  });

describe("a request for more tokens than the server writes is sent with fewer", () => {
  it.each<[string, (asked: number) => string]>([
    [
      "OpenAI",
      (asked) =>
        `max_tokens is too large: ${asked}. This model supports at most 16384 completion tokens, whereas you provided ${asked}.`,
    ],
    [
      "SGLang",
      (asked) => `max_completion_tokens is too large: ${asked}.This model supports at most 16384 completion tokens.`,
    ],
    ["DeepSeek", () => "Invalid max_tokens value, the valid range of max_tokens is [1, 16384]"],
    [
      "Volcengine",
      (asked) =>
        `The parameter \`max_completion_tokens\` specified in the request are not valid: integer above maximum value, expected a value <= 16384, but got ${asked} instead.`,
    ],
    [
      "Groq",
      () =>
        "`max_tokens` must be less than or equal to `16384`, the maximum value for `max_tokens` is less than the `context_window` for this model",
    ],
  ])("%s", async (_server, message) => {
    refusing(16_384, message);
    expect(await answerOf(backend, { max_tokens: 40_000 })).toMatchObject({ failure: null, text: "a b" });
    const { body } = peer.requests.at(-1) as Peer["requests"][number];
    expect(body["max_completion_tokens"] ?? body["max_tokens"]).toBe(16_384);
  });

  it("where prompt and answer together are too long for Claude", async () => {
    const message = (asked: number) =>
      `input length and \`max_tokens\` exceed context limit: 143653 + ${asked} > 200000, decrease input length or \`max_tokens\` and try again`;
    refusing(200_000 - 143_653, message);
    expect(await answerOf(backend, { max_tokens: 64_000 })).toMatchObject({ failure: null, text: "a b" });
    expect(peer.requests.at(-1)?.body["max_tokens"]).toBe(200_000 - 143_653);
  });
});

describe("a conversation that is too long is told from a refusal", () => {
  it.each<[string, string, object]>([
    ["Anthropic", "prompt is too long: 208732 tokens > 200000 maximum", { promptTokens: 208_732, window: 200_000 }],
    [
      "Gemini",
      "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
      { promptTokens: 1_196_265, window: 1_048_575 },
    ],
    [
      "FastChat and llama-cpp-python",
      "This model's maximum context length is 2048 tokens, however you requested 5100 tokens (5000 in your prompt; 100 for the completion). Please reduce your prompt; or completion length.",
      { promptTokens: 5_000, window: 2_048 },
    ],
    [
      "xAI",
      "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
      { promptTokens: null },
    ],
    ["Bedrock", "Input is too long for requested model.", { promptTokens: null }],
    ["MiniMax", "invalid params, context window exceeds limit", { promptTokens: null }],
  ])("%s", async (_server, message, told) => {
    peer.play((res) => void res.writeHead(400).end(JSON.stringify({ error: { message } })));
    expect((await answerOf(backend)).failure).toMatchObject({ name: "ContextExceeded", ...told });
  });
});

it("a model that cannot be told not to reason is asked without that", async () => {
  peer.play((res, body) => {
    if (body["reasoning_effort"] === "none") {
      const message = "Harmony does not support reasoning effort none";
      return void res.writeHead(400).end(JSON.stringify({ object: "error", message, code: 400 }));
    }
    res.writeHead(200).end(JSON.stringify({ choices: [{ message: { content: "a b" }, finish_reason: "stop" }] }));
  });
  expect(await answerOf(backend)).toMatchObject({ failure: null, text: "a b" });
});
