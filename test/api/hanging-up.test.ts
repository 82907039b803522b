/**
 * Clients that hang up: whoever sends the same request again joins its job and pays once, and what nobody waits for ends. The client libraries are
 * the stock ones, with a timeout of two seconds for an answer that takes five.
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { ChatOpenAI } from "@langchain/openai";
import { generateText } from "ai";
import OpenAI from "openai";
import { Agent, fetch as undiciFetch } from "undici";
import { afterAll, describe, expect, it } from "vitest";
import { chat, eventually, JSON_TYPE } from "../support/api-client.ts";
import { MODEL, SLOW_MODEL } from "../support/service-stack.ts";
import { openService, settled } from "./support/service.ts";

const { stack, client, pool } = await openService(3_000);
const { api, apiKey, account } = client;
const baseURL = `${stack.info.base_url}/v1`;
/** Longer than half of the time of an answer: a second try never ends in the moment in which the answer is written. */
const TIMEOUT_MS = 4_000;
const RETRIES = 6;
/** The worker of the model writes 50 tokens a second. */
const FIVE_SECONDS = "[[tokens:250]]";

const hasty = new Agent({ headersTimeout: TIMEOUT_MS });
afterAll(() => hasty.destroy());

/** Jobs of this file's wallet since it began. */
const jobs = async () => (await api.get("/v1/jobs?limit=100")).body.data as { id: string; status: string }[];

describe("a client library that hangs up at its timeout and sends the request again", () => {
  const SDKS: [string, (prompt: string) => Promise<string>][] = [
    [
      "openai",
      async (prompt) => {
        const sdk = new OpenAI({ baseURL, apiKey, timeout: TIMEOUT_MS, maxRetries: RETRIES });
        const messages = [{ role: "user" as const, content: prompt }];
        return (await sdk.chat.completions.create({ model: SLOW_MODEL, messages })).choices[0]?.message.content ?? "";
      },
    ],
    [
      "ai",
      async (prompt) => {
        // A connection that gives up waits for no answer longer than that.
        const fetch = ((url: string, init: object) =>
          undiciFetch(url, { ...init, dispatcher: hasty })) as unknown as typeof globalThis.fetch;
        const service = createOpenAICompatible({ name: "service", baseURL, apiKey, fetch });
        return (await generateText({ model: service(SLOW_MODEL), prompt, maxRetries: RETRIES })).text;
      },
    ],
    [
      "LangChain",
      async (prompt) => {
        const sdk = new ChatOpenAI({
          model: SLOW_MODEL,
          apiKey,
          timeout: TIMEOUT_MS,
          maxRetries: RETRIES,
          configuration: { baseURL },
        });
        return (await sdk.invoke(prompt)).text;
      },
    ],
  ];
  it.each(SDKS)("gets the answer of one job, and pays for one: %s", async (name, ask) => {
    const before = new Set((await jobs()).map(({ id }) => id));
    const text = await ask(`For ${name}: ${FIVE_SECONDS}`);
    const [job, ...others] = (await jobs()).filter(({ id }) => !before.has(id));
    expect(others).toEqual([]);
    const { usage, credits_charged } = await settled(api, job?.id ?? null);
    // The whole answer, not one that ended when the first request hung up.
    expect(usage.completion_tokens).toBe(250);
    expect([text.length > 100, credits_charged]).toEqual([true, 18]);
  });
});

describe("a request that another one cannot join:", () => {
  const body = (prompt: string) => JSON.stringify(chat(SLOW_MODEL, prompt));
  const post = (text: string, headers: object = {}, signal?: AbortSignal) =>
    fetch(`${baseURL}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, ...JSON_TYPE, ...headers },
      body: text,
      ...(signal && { signal }),
    });
  const jobIdOf = (response: Response) => response.headers.get("x-service-job-id");

  it("one whose client still waits, and then one that was joined already", async () => {
    const text = body(`Twice: ${FIVE_SECONDS}`);
    const [one, two] = await Promise.all([post(text), post(text)]);
    expect(jobIdOf(one)).not.toBe(jobIdOf(two));
    const left = post(text, {}, AbortSignal.timeout(1_000)).catch(() => null);
    await left;
    const [third, fourth] = await Promise.all([post(text), post(text)]);
    expect(jobIdOf(third)).not.toBe(jobIdOf(fourth));
  });

  it("one that was served in full, without any text", async () => {
    const empty = JSON.stringify(chat(MODEL, "Nothing: [[tokens:0]]", { stream: true }));
    const one = await post(empty);
    expect(await one.text()).toContain("[DONE]");
    // The connection's end has reached the gateway, and what it wrote of it the database.
    await settled(api, jobIdOf(one));
    expect((await pool.query("SELECT 1 FROM abandoned_request WHERE job_id = $1", [jobIdOf(one)])).rows).toEqual([]);
    const two = await post(empty);
    expect([two.status, two.headers.get("idempotent-replayed")]).toEqual([200, null]);
    expect(jobIdOf(two)).not.toBe(jobIdOf(one));
    await two.text();
  });

  it("one with an Idempotency-Key: its key alone says what repeats it", async () => {
    const text = body(`With a key: ${FIVE_SECONDS}`);
    await post(text, { "idempotency-key": "hung-up" }, AbortSignal.timeout(1_000)).catch(() => null);
    const plain = await post(text);
    const keyed = await post(text, { "idempotency-key": "hung-up" });
    expect(jobIdOf(plain)).not.toBe(jobIdOf(keyed));
    expect(keyed.headers.get("idempotent-replayed")).toBe("true");
  });

  it("one that says only that it is a retry, with another body", async () => {
    await post(body(`Retry: ${FIVE_SECONDS}`), {}, AbortSignal.timeout(1_000)).catch(() => null);
    const before = (await jobs()).length;
    expect((await post(body("Something else."), { "x-stainless-retry-count": "1" })).status).toBe(200);
    expect((await jobs()).length).toBe(before + 1);
  });

  it("the same JSON in other white space is the same request", async () => {
    const prompt = `White space: ${FIVE_SECONDS}`;
    const before = (await jobs()).length;
    await post(body(prompt), {}, AbortSignal.timeout(1_000)).catch(() => null);
    await post(JSON.stringify(chat(SLOW_MODEL, prompt), null, 2));
    expect((await jobs()).length).toBe(before + 1);
  });
});

describe("an answer that nobody waits for", () => {
  /** Twenty seconds of text. */
  const LONG = "[[tokens:1000]]";

  it("ends where its client hung up: what there is is charged, and can be fetched", async () => {
    const abort = new AbortController();
    const body = JSON.stringify(chat(SLOW_MODEL, `Stream: ${LONG}`, { stream: true, max_tokens: 1_000 }));
    const response = await api.send("POST", "/v1/chat/completions", JSON_TYPE, body, abort.signal);
    const id = response.headers.get("x-service-job-id");
    await response.body?.getReader().read();
    abort.abort();
    const job = await settled(api, id);
    expect(job.usage.completion_tokens).toBeLessThan(500);
    expect(job.credits_charged).toBe(18);
    const output = await api.get(`/v1/jobs/${id}/output`);
    expect(output.status).toBe(200);
  });

  it("runs on for ten seconds before its first byte, and costs the flat price", async () => {
    const body = JSON.stringify(chat(SLOW_MODEL, `Plain: ${LONG}`, { max_tokens: 1_000 }));
    const before = new Set((await jobs()).map(({ id }) => id));
    await api.send("POST", "/v1/chat/completions", JSON_TYPE, body, AbortSignal.timeout(1_000)).catch(() => null);
    const [found] = await eventually(
      async () => (await jobs()).filter(({ id }) => !before.has(id)),
      ({ length }) => length === 1,
    );
    const job = await settled(api, found?.id ?? null);
    expect(job.usage.completion_tokens).toBeGreaterThan(300);
    expect(job.usage.completion_tokens).toBeLessThan(1_000);
    const { rows } = await pool.query("SELECT client_left FROM job WHERE job_id = $1", [found?.id]);
    expect(rows).toEqual([{ client_left: true }]);
    expect(job.credits_charged).toBeGreaterThanOrEqual(18);
  });

  it("runs to its end under an Idempotency-Key: its client comes back for it", async () => {
    const body = JSON.stringify(chat(SLOW_MODEL, `Kept: ${FIVE_SECONDS}`, { stream: true }));
    const abort = new AbortController();
    const headers = { ...JSON_TYPE, "idempotency-key": `kept-${account.address}` };
    const response = await api.send("POST", "/v1/chat/completions", headers, body, abort.signal);
    await response.body?.getReader().read();
    abort.abort();
    const job = await settled(api, response.headers.get("x-service-job-id"));
    expect(job.usage.completion_tokens).toBe(250);
  });
});
