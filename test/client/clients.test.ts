/** The package in stock SDKs, on an honest service: what it adds, and what a broken connection costs. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import OpenAI from "openai";
import type { Address } from "viem";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { type Finding, type JobReport, type VerifiedOptions, verified } from "../../client/index.ts";
import { Client, openStore } from "../support/client.ts";
import { MODEL, SLOW_MODEL } from "../support/service-stack.ts";
import { sharedStack } from "../support/shared-fixtures.ts";
import { STOCK_CLIENTS } from "../support/stock-clients.ts";

const stack = await sharedStack("service");
const pool = openStore(stack);
afterAll(() => pool.end());
/** A wallet of which each job is signed, and one that trusts its API key. */
const [signed, trusting] = [await Client.funded(stack, pool, 2_000), await Client.funded(stack, pool, 2_000)];
const authorizationKey = generatePrivateKey();
await signed.escrow("setAuthorizationKey", [privateKeyToAddress(authorizationKey)]);
let findings: Finding[];
let reports: JobReport[];
beforeEach(() => {
  [findings, reports] = [[], []];
});

const open = (wallet: Client, more: Partial<VerifiedOptions> = {}) =>
  verified({
    rpcUrl: stack.info.rpc_url,
    escrow: stack.info.contracts["InferenceEscrow"] as Address,
    wallet: wallet.account.address,
    ...(wallet === signed && { authorizationKey }),
    onFinding: (finding) => findings.push(finding),
    onJob: (report) => reports.push(report),
    ...more,
  });
type Fetch = ReturnType<typeof open>;
const url = () => `${stack.info.base_url}/v1`;
const openai = (wallet: Client, fetch: Fetch) =>
  new OpenAI({ baseURL: url(), apiKey: wallet.apiKey, maxRetries: 0, fetch });
const asked = (model: string, content: string) => ({ model, messages: [{ role: "user" as const, content }] });
const jobsOf = async (wallet: Client): Promise<number> => (await wallet.api.get("/v1/jobs?limit=100")).body.data.length;

it.each([
  ["openai", "signed"],
  ["openai", "trusting"],
  ["ai with @ai-sdk/openai-compatible", "signed"],
  ["@langchain/openai", "signed"],
] as const)("%s gets its answers as ever, and each is checked to its charge: %s wallet", async (name, kind) => {
  const wallet = kind === "signed" ? signed : trusting;
  const fetch = open(wallet);
  const sdk = STOCK_CLIENTS[name](stack.info.base_url, wallet.apiKey, fetch);
  expect((await sdk.plain(MODEL, "Hello")).text).toMatch(/\w/);
  const pieces: string[] = [];
  for await (const piece of sdk.streamed(SLOW_MODEL, "Tell me. [[tokens:60]]")) pieces.push(piece);
  expect(pieces.filter(Boolean).length).toBeGreaterThan(1);
  await fetch.checked();
  expect(findings).toEqual([]);
  expect(reports).toHaveLength(2);
  expect(reports).toMatchObject([
    { holds: true, status: "settled", creditsCharged: 8 },
    { holds: true, status: "settled", creditsCharged: 18 },
  ]);
  const ids = reports[1]?.checks.map(({ id }) => id);
  const proven = ["reply.text", "proof.signature", "proof.worker", "proof.text", "lock.credits", "settlement.charge"];
  expect(ids).toEqual(expect.arrayContaining(proven));
  expect(ids?.includes("lock.authorization")).toBe(wallet === signed);
});

describe("a broken connection", () => {
  /** Breaks the first stream after its first bytes. */
  const breaking = (): typeof globalThis.fetch => {
    let broken = false;
    return async (input, init) => {
      const response = await fetch(input, init);
      if (broken || !String(input).endsWith("/chat/completions")) return response;
      broken = true;
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      let chunks = 0;
      const body = new ReadableStream({
        pull: async (controller) => {
          const { value } = await reader.read();
          chunks += 1;
          if (chunks <= 3) return controller.enqueue(value);
          await reader.cancel();
          controller.error(new TypeError("terminated"));
        },
      });
      return new Response(body, response);
    };
  };

  it("in a stream costs nothing: it goes on where it broke, and is one job", async () => {
    const before = await jobsOf(signed);
    const fetch = open(signed, { fetch: breaking() });
    const stream = await openai(signed, fetch).chat.completions.create({
      ...asked(SLOW_MODEL, "Go on. [[tokens:100]]"),
      stream: true,
    });
    let text = "";
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    await fetch.checked();
    expect(findings).toEqual([]);
    expect(reports).toMatchObject([{ holds: true, creditsCharged: 18 }]);
    const { content } = (await signed.api.get(`/v1/jobs/${reports[0]?.jobId}/output`)).body;
    expect(text).toBe(content);
    expect(await jobsOf(signed)).toBe(before + 1);
  });

  it("before a plain reply costs nothing, even when the program has to ask again", async () => {
    const before = await jobsOf(trusting);
    let losses = 5;
    const losing: typeof globalThis.fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (init?.method === "POST" && losses-- > 0) throw new TypeError("fetch failed");
      return response;
    };
    const send = open(trusting, { fetch: losing });
    const again = new OpenAI({ baseURL: url(), apiKey: trusting.apiKey, maxRetries: 2, fetch: send });
    const reply = await again.chat.completions.create(asked(MODEL, "Are you there?"));
    expect(reply.choices[0]?.message.content).toMatch(/\w/);
    await send.checked();
    expect(reports.at(-1)).toMatchObject({ holds: true, creditsCharged: 8 });
    expect(await jobsOf(trusting)).toBe(before + 1);
  });

  it("is no way to pass an earlier answer off for a new one", async () => {
    let first: Response | undefined;
    let broken = false;
    const fetch = open(trusting, {
      fetch: async (input, init) => {
        if (first !== undefined && !broken) {
          broken = true;
          throw new TypeError("fetch failed");
        }
        first ??= await globalThis.fetch(input, init);
        return first.clone();
      },
    });
    for (const prompt of ["One.", "Two."]) await openai(trusting, fetch).chat.completions.create(asked(MODEL, prompt));
    await fetch.checked();
    expect(findings).toMatchObject([{ kind: "wrong", id: "reply.job" }]);
  });

  it("is none when the program itself is slow to read an answer that is paid for", async () => {
    const connections: string[] = [];
    const counting: typeof globalThis.fetch = (input, init) => {
      if (init?.method === "POST") connections.push(String(input));
      return fetch(input, init);
    };
    const checking = open(trusting, { fetch: counting });
    const body = { ...asked(MODEL, "Tell me. [[tokens:200]]"), stream: true as const };
    const stream = await openai(trusting, checking).chat.completions.create(body);
    let text = "";
    for await (const chunk of stream) {
      // Longer than an answer may be withheld: a quarter of the time in which it can be disputed.
      if (text === "") await new Promise((resolve) => setTimeout(resolve, 20_000));
      text += chunk.choices[0]?.delta.content ?? "";
    }
    await checking.checked();
    expect(findings).toEqual([]);
    expect(connections).toHaveLength(1);
  });

  it("by the program itself: the rest of the answer is checked all the same", async () => {
    const fetch = open(signed);
    const stop = new AbortController();
    const body = { ...asked(SLOW_MODEL, "Stop me. [[tokens:100]]"), stream: true as const };
    const stream = await openai(signed, fetch).chat.completions.create(body, { signal: stop.signal });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) stop.abort();
    await fetch.checked();
    expect(findings).toEqual([]);
    expect(reports).toMatchObject([{ holds: true, status: "settled", creditsCharged: 18 }]);
    expect(reports[0]?.checks.map(({ id }) => id)).toContain("reply.output");
  });
});

describe("the program", () => {
  it("gets an error of the service as it is, without a finding", async () => {
    const fetch = open(signed);
    const error = await openai(signed, fetch)
      .chat.completions.create(asked("gpt-none", "Hello"))
      .catch((reason) => reason);
    expect([error.status, error.code]).toEqual([400, "model_not_found"]);
    await fetch.checked();
    expect([findings, reports]).toEqual([[], []]);
  });

  it("gets its answer while its node is away, and that the charge was not checked", async () => {
    const fetch = open(trusting, { rpcUrl: "http://127.0.0.1:9" });
    const reply = await openai(trusting, fetch).chat.completions.create(asked(MODEL, "Hello"));
    expect(reply.choices[0]?.message.content).toMatch(/\w/);
    await fetch.checked();
    expect(findings).toMatchObject([{ kind: "unchecked", id: "chain.unreachable" }]);
    expect(reports).toMatchObject([{ holds: false }]);
  });

  it("uses all other routes as they are", async () => {
    const models = await openai(trusting, open(trusting)).models.list();
    expect(models.data.map(({ id }) => id)).toContain(MODEL);
  });
});

it("sends the next request on the connection of a streamed reply that has ended", async () => {
  const fetch = open(trusting);
  const sdk = openai(trusting, fetch);
  let connections = 0;
  const count = (message: unknown): void => {
    const { connectParams } = message as { connectParams: { port: string } };
    if (connectParams.port === new URL(stack.info.base_url).port) connections += 1;
  };
  subscribe("undici:client:connected", count);
  try {
    for (let i = 0; i < 3; i++) {
      for await (const _ of await sdk.chat.completions.create({ ...asked(MODEL, `Hello ${i}`), stream: true })) {
      }
      await fetch.checked();
    }
  } finally {
    unsubscribe("undici:client:connected", count);
  }
  expect(connections).toBeLessThanOrEqual(1);
  expect(findings).toEqual([]);
});
