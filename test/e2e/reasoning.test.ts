/**
 * Reasoning is output: a client who asks for it gets it and pays for it, with openai's SDK through the whole system. The model servers stream it as
 * llama-server 0.7.0 does with `--reasoning-format deepseek` (`reasoning_content`, one count for both), and as DeepSeek's API does (its part of the
 * count in `completion_tokens_details`). DeepSeek's chunks are from a test of one of its clients, not from a recording: charmbracelet/fantasy at
 * a5917e52, providertests/testdata/shapes/reasoning_then_toolcall/interleaved_with_nulls.
 */
import { createHash } from "node:crypto";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeUsageWord } from "../../protocol/words.ts";
import { type ApiClient, apiClient, chat, eventually } from "../support/api-client.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { verifyJson } from "../verify/support/cli.ts";
import { chunk, type Peer, type Script, startPeer, stream } from "../worker/support/peer.ts";

/** 40 credits a request and 20 per 1,000 tokens; its server stops reasoning when it is told to. */
const MODEL = "llama-3.3-70b-instruct";
/** 40 and 20, too; it cannot be told not to reason. */
const ALWAYS = "deepseek-r1-distill-llama-70b";

const words = (count: number) =>
  Array.from({ length: count }, (_, i) => (i % 100 === 99 ? "word.\n" : "word ")).join("");
const THOUGHT = words(2_400);
const ANSWER = `${words(99)}end.`;
/** Tokens of both together; by their characters, 2,400 of them are reasoning. */
const ALL = 2_500;
const REASONING = 2_400;

const halves = (text: string) => [text.slice(0, text.length / 2), text.slice(text.length / 2)];
const end = (finish: string, usage: object) =>
  `${chunk({}, finish)}data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`;

/** llama-server with `--reasoning-format deepseek`. A prompt that says "briefly" has all its tokens used up by reasoning. */
const llamaServer: Script = (res, { reasoning_effort, messages }) => {
  const thinks = reasoning_effort !== "none";
  const isCut = JSON.stringify(messages).includes("briefly");
  const thought = thinks ? halves(THOUGHT).map((reasoning_content) => chunk({ reasoning_content })) : [];
  const text = isCut ? [] : halves(ANSWER).map((content) => chunk({ content }));
  const completion_tokens = (thinks ? REASONING : 0) + (isCut ? 0 : ALL - REASONING);
  const usage = { completion_tokens, prompt_tokens: 7, total_tokens: 7 + completion_tokens };
  const start = chunk({ role: "assistant", content: null });
  return stream(start, ...thought, ...text, end(isCut ? "length" : "stop", usage))(res, {});
};
/** DeepSeek's API. */
const deepSeek: Script = (res) => {
  const thought = halves(THOUGHT).map((reasoning_content) => chunk({ content: null, reasoning_content }));
  const text = halves(ANSWER).map((content) => chunk({ content, reasoning_content: null }));
  const counts = { prompt_tokens: 7, completion_tokens: ALL, total_tokens: 7 + ALL };
  const usage = { ...counts, completion_tokens_details: { reasoning_tokens: REASONING } };
  return stream(...thought, ...text, end("stop", usage))(res, {});
};

let servers: Peer[];
let stack: TestStack;
let api: ApiClient;
let chain: ChainReader;
let openai: OpenAI;
let wallet: string;

beforeAll(async () => {
  servers = await Promise.all([MODEL, ALWAYS].map((model) => startPeer([model])));
  const [willing, always] = servers as [Peer, Peer];
  willing.play(llamaServer);
  always.play(deepSeek);
  stack = await startTestStack({
    workers: [
      { models: [MODEL], env: { WORKER_BACKEND: willing.url, WORKER_ABILITIES: "reasoning" } },
      { models: [ALWAYS], env: { WORKER_BACKEND: always.url, WORKER_ABILITIES: "always_reasoning" } },
    ],
  });
  [api, chain] = [apiClient(stack), chainReader(stack)];
  openai = new OpenAI({
    baseURL: `${stack.info.base_url}/v1`,
    apiKey: stack.info.demo?.api_key as string,
    maxRetries: 0,
  });
  wallet = stack.info.demo?.wallet as string;
});
afterAll(async () => {
  await stack?.remove();
  for (const server of servers ?? []) await server.stop();
});

const asked = (model = MODEL, prompt = "Think, and write.") => ({
  model,
  messages: [{ role: "user" as const, content: prompt }],
  max_tokens: 4_000,
});
const USAGE = {
  prompt_tokens: 7,
  completion_tokens: ALL,
  total_tokens: 7 + ALL,
  completion_tokens_details: { reasoning_tokens: REASONING },
};
const sha256 = (text: string) => `sha256:${createHash("sha256").update(text, "utf8").digest("hex")}`;
/** Not in the SDK's types, as with every other server that has it. */
const reasoningOf = (part: object | undefined) =>
  (part as { reasoning_content?: string } | undefined)?.reasoning_content;

/** The job of a reply once it is settled: as the service shows it, and audited from the chain alone. */
async function settled(completionId: string) {
  const id = completionId.replace("chatcmpl-", "");
  const { body } = await eventually(
    () => api.get(`/v1/jobs/${id}`),
    (job) => job.body.status === "settled" && job.body.on_chain.block_number !== null,
  );
  const { report } = await verifyJson(["job", id], { DATA_DIR: stack.options.dataDir });
  const [audit] = report.jobs;
  expect(audit.checks.filter((check: { holds: boolean }) => !check.holds)).toEqual([]);
  expect(audit).toMatchObject({ holds: true, credits_charged: body.credits_charged });
  const { events } = await chain.transaction(body.on_chain.settlement_tx, id);
  const event = events.find(({ eventName }) => eventName === "JobSettled");
  const { usage } = (event?.args ?? {}) as { usage: bigint };
  expect((await chain.job(id)).credits).toBe(body.credits_charged);
  return { job: body, signed: decodeUsageWord(usage) };
}

/** What the wallet has, once none of its credits is locked. */
async function balance(): Promise<number> {
  const { free } = await eventually(
    () => chain.account(wallet),
    ({ escrowed }) => escrowed === 0,
  );
  return free;
}

/** What a request costs its wallet. */
async function costOf<T>(act: () => Promise<T>): Promise<{ result: T; cost: number }> {
  const before = await balance();
  const result = await act();
  return { result, cost: before - (await balance()) };
}

describe("A client who asks for reasoning", () => {
  it("gets it beside the answer, and pays for both: 50 credits", async () => {
    const { result: reply, cost } = await costOf(() =>
      openai.chat.completions.create({ ...asked(), reasoning_effort: "high" }),
    );
    const message = reply.choices[0]?.message;
    expect([reasoningOf(message), message?.content]).toEqual([THOUGHT, ANSWER]);
    expect(reply.usage).toEqual(USAGE);
    const { job, signed } = await settled(reply.id);
    expect(job).toMatchObject({ credits_charged: 50, usage: USAGE });
    expect(job.on_chain.proof_hash).toBe(sha256(ANSWER));
    expect(signed).toMatchObject({
      completionTokens: ALL - REASONING,
      reasoningTokens: REASONING,
      textBytes: Buffer.byteLength(ANSWER),
      billedTokens: ALL,
    });
    expect(cost).toBe(50);
  });

  it("gets it streamed, with the same usage at the end", async () => {
    const { result, cost } = await costOf(async () => {
      const options = { stream: true, stream_options: { include_usage: true } } as const;
      const chunks = await openai.chat.completions.create({ ...asked(), ...options, reasoning_effort: "high" });
      const got = { id: "", reasoning: "", content: "", usage: null as object | null };
      for await (const { id, choices, usage } of chunks) {
        got.id = id;
        got.reasoning += reasoningOf(choices[0]?.delta) ?? "";
        got.content += choices[0]?.delta.content ?? "";
        got.usage = usage ?? got.usage;
      }
      return got;
    });
    expect(result).toMatchObject({ reasoning: THOUGHT, content: ANSWER, usage: USAGE });
    expect((await settled(result.id)).job).toMatchObject({ credits_charged: 50, usage: USAGE });
    expect(cost).toBe(50);
  });

  it("pays once under a key; the repetition has the same usage, and no reasoning", async () => {
    const body = { ...asked(), reasoning_effort: "high" as const };
    const options = { headers: { "Idempotency-Key": "think-once" } };
    const { result, cost } = await costOf(async () => [
      await openai.chat.completions.create(body, options),
      await openai.chat.completions.create(body, options),
    ]);
    const [first, again] = result;
    expect([again?.id, again?.usage]).toEqual([first?.id, USAGE]);
    expect([reasoningOf(first?.choices[0]?.message), reasoningOf(again?.choices[0]?.message)]).toEqual([
      THOUGHT,
      undefined,
    ]);
    expect(cost).toBe(50);
  });

  it("pays for reasoning that used up max_tokens, and has it with an empty answer", async () => {
    const { result: reply, cost } = await costOf(() =>
      openai.chat.completions.create({
        ...asked(MODEL, "Think briefly."),
        max_tokens: REASONING,
        reasoning_effort: "high",
      }),
    );
    const [choice] = reply.choices;
    expect([choice?.message.content, choice?.finish_reason, reasoningOf(choice?.message)]).toEqual([
      "",
      "length",
      THOUGHT,
    ]);
    expect(reply.usage).toMatchObject({
      completion_tokens: REASONING,
      completion_tokens_details: { reasoning_tokens: REASONING },
    });
    expect((await settled(reply.id)).job.credits_charged).toBe(48);
    expect(cost).toBe(48);
  });
});

describe("A client who does not ask for reasoning", () => {
  it.each([undefined, "none"] as const)("gets none and pays for none: 40 credits (%s)", async (effort) => {
    const { result: reply, cost } = await costOf(() =>
      openai.chat.completions.create({ ...asked(), ...(effort && { reasoning_effort: effort }) }),
    );
    expect(servers[0]?.requests.at(-1)?.body).toMatchObject({ reasoning_effort: "none" });
    expect(reply.choices[0]?.message).toEqual({ role: "assistant", content: ANSWER });
    const usage = { prompt_tokens: 7, completion_tokens: 100, total_tokens: 107 };
    expect(reply.usage).toEqual(usage);
    const { job, signed } = await settled(reply.id);
    expect(job.usage).toEqual(usage);
    expect(signed).toMatchObject({ completionTokens: 100, reasoningTokens: 0, billedTokens: 100 });
    expect([job.credits_charged, cost]).toEqual([40, 40]);
  });

  it("counts as one who asks where the list of models says that it always reasons", async () => {
    const { data } = (await api.get("/v1/models")).body;
    const flags = data.map(({ id, service }: { id: string; service: { always_reasoning: boolean } }) => [
      id,
      service.always_reasoning,
    ]);
    expect(Object.fromEntries(flags)).toEqual({ [MODEL]: false, [ALWAYS]: true });
    const { result: reply, cost } = await costOf(() => openai.chat.completions.create(asked(ALWAYS)));
    expect([reasoningOf(reply.choices[0]?.message), reply.choices[0]?.message.content]).toEqual([THOUGHT, ANSWER]);
    expect(reply.usage).toEqual(USAGE);
    expect((await settled(reply.id)).job.credits_charged).toBe(50);
    expect(cost).toBe(50);
  });
});

it("a client who hangs up in the middle of the reasoning pays for what it got of it", async () => {
  const left = Promise.withResolvers<void>();
  servers[0]?.play(async (res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(chunk({ reasoning_content: THOUGHT }));
    await left.promise;
    // Nobody reads it any more.
    for (let sent = 0; sent < 100 && !res.destroyed; sent += 1) {
      res.write(chunk({ reasoning_content: "more " }));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    res.end(`${chunk({ content: ANSWER })}${end("stop", { prompt_tokens: 7, completion_tokens: ALL })}`);
  });
  const { result: id, cost } = await costOf(async () => {
    const stop = new AbortController();
    const body = {
      ...chat(MODEL, "Think."),
      max_tokens: 4_000,
      stream: true as const,
      reasoning_effort: "high" as const,
    };
    const response = await openai.chat.completions.create(body as never, { signal: stop.signal });
    let job = "";
    let got = "";
    try {
      for await (const { id, choices } of response as unknown as AsyncIterable<OpenAI.ChatCompletionChunk>) {
        job = id;
        got += reasoningOf(choices[0]?.delta) ?? "";
        if (got.length >= THOUGHT.length) stop.abort();
      }
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    }
    left.resolve();
    await settled(job);
    return job;
  });
  const { job, signed } = await settled(id);
  // The worker counted without its server, about a token for each of these words; a few pieces can have been on their way.
  const billed = job.usage.completion_tokens_details.reasoning_tokens;
  expect(billed).toBeGreaterThan(2_000);
  expect(billed).toBeLessThanOrEqual(signed.reasoningTokens);
  expect(job.usage.completion_tokens).toBe(billed);
  expect(cost).toBe(job.credits_charged);
  expect(cost).toBe(Math.max(40, Math.ceil((billed * 20) / 1_000)));
});
