/** The client package on a service and a chain that are played here: what its program gets, and what is sent. */
import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import OpenAI, { BadRequestError } from "openai";
import { generatePrivateKey } from "viem/accounts";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ChainView } from "../../../client/chain.ts";
import { type Finding, type VerifiedOptions, verified } from "../../../client/index.ts";
import { JobCheck } from "../../../client/job.ts";
import { startProxy } from "../../../client/proxy.ts";
import { newJobId, toApiJobId } from "../../../protocol/job-id.ts";

const ESCROW = "0x00000000000000000000000000000000000e5c40";
const URL = "https://service.example/v1/chat/completions";

let findings: Finding[];
beforeEach(() => {
  findings = [];
  vi.spyOn(ChainView.prototype, "startBlock").mockResolvedValue(1n);
  // Nothing of the jobs is looked up: these tests end with the reply.
  vi.spyOn(ChainView.prototype, "deployment").mockReturnValue(new Promise(() => {}));
});
afterEach(async () => {
  await checksBegun();
  vi.restoreAllMocks();
});

/** Until the checks of the replies so far have begun: a quarter of a second after the first of them. */
const checksBegun = () => new Promise((resolve) => setTimeout(resolve, 300));

const open = (fetch: typeof globalThis.fetch, more: Partial<VerifiedOptions> = {}) =>
  verified({
    rpcUrl: "http://127.0.0.1:9",
    escrow: ESCROW,
    fetch,
    onFinding: (finding) => findings.push(finding),
    ...more,
  });
const request = (more: object = {}): RequestInit => ({
  method: "POST",
  body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }], ...more }),
});

const jobId = toApiJobId(newJobId());
const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (delta: object, finish_reason: string | null = null) =>
  event({ id: `chatcmpl-${jobId}`, model: "m", choices: [{ index: 0, delta, finish_reason }] });
const END = `${chunk({}, "stop")}data: [DONE]\n\n`;

/** A stream that breaks after its last event, unless that is its end. */
const stream = (...events: string[]): Response => {
  const left = [...events];
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const next = left.shift();
      if (next !== undefined) controller.enqueue(new TextEncoder().encode(next));
      else if (events.at(-1) === END) controller.close();
      else controller.error(new TypeError("terminated"));
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream", "x-service-job-id": jobId } });
};

/** What the program gets of a stream. */
async function read(response: Response): Promise<{ content: string; reasoning: string }> {
  const got = { content: "", reasoning: "" };
  for (const line of (await response.text()).split("\n\n")) {
    const { choices = [] } = line.startsWith("data: {") ? JSON.parse(line.slice(6)) : {};
    for (const { delta } of choices) {
      got.content += delta.content ?? "";
      got.reasoning += delta.reasoning_content ?? "";
    }
  }
  return got;
}

describe("a stream that breaks more than once", () => {
  const piece = (content: string) => chunk({ content });
  const thought = (reasoning_content: string) => chunk({ reasoning_content });

  it("gives the program each character once, wherever its connections broke", async () => {
    const connections = [
      stream(thought("Hm, "), thought("well. "), piece("One "), piece("two ")),
      stream(thought("Hm, "), piece("On")),
      stream(thought("Hm, well. "), piece("One two "), piece("three."), END),
    ];
    const fetch = open(async () => connections.shift() as Response);
    expect(await read(await fetch(URL, request({ stream: true })))).toEqual({
      content: "One two three.",
      reasoning: "Hm, well. ",
    });
  });

  it("is not passed on as whole if it ends before what the program has", async () => {
    const connections = [stream(piece("One "), piece("two ")), stream(piece("One "), END)];
    const fetch = open(async () => connections.shift() as Response);
    await expect(read(await fetch(URL, request({ stream: true })))).rejects.toThrow(/another answer/);
    expect(findings).toMatchObject([{ id: "reply.form" }]);
  });
});

it.each([true, false])("a reply without an end is cut off, and sent for once; as an answer: %s", async (ok) => {
  let sent = 0;
  const bytes = new Uint8Array(4 * 1024 * 1024).fill(32);
  // A service that is asked for a plain reply and sends white space for ever.
  const pull = (controller: ReadableStreamDefaultController) => {
    sent += bytes.length;
    controller.enqueue(bytes);
  };
  let asked = 0;
  const fetch = open(async () => {
    asked += 1;
    return new Response(new ReadableStream({ pull }), {
      status: ok ? 200 : 503,
      headers: { "x-service-job-id": jobId },
    });
  });
  await expect(fetch(URL, request())).rejects.toThrow(/longer than any answer/);
  expect([asked, sent < 64 * 1024 * 1024]).toEqual([1, true]);
});

it("prints what a reply says as one line that a terminal shows", async () => {
  const printed = vi.spyOn(console, "error").mockReturnValue();
  const hostile = "\u001b[1A\u001b[2K\r\nHOLDS\u009b";
  const reply = { [hostile]: 1, id: `chatcmpl-${jobId}`, choices: [] };
  const answer = async () => Response.json(reply, { headers: { "x-service-job-id": jobId } });
  const fetch = verified({ rpcUrl: "http://127.0.0.1:9", escrow: ESCROW, fetch: answer });
  await expect(fetch(URL, request()).then((response) => response.text())).rejects.toThrow("\\u001b[1A");
  const [line] = printed.mock.calls.map(([text]) => String(text));
  expect(line).toContain("WRONG reply.form");
  expect(line).toContain("\\u001b[1A\\u001b[2K\\u000d\\u000aHOLDS");
  expect(line).not.toMatch(/\p{Cc}/u);
});

describe("an SDK that sends again what failed", () => {
  const openai = (fetch: typeof globalThis.fetch) =>
    new OpenAI({ baseURL: "https://service.example/v1", apiKey: "key", maxRetries: 2, fetch });
  const body = { model: "m", messages: [{ role: "user" as const, content: "Hello" }] };

  it.each([false, true])(
    "pays once for a reply that is not passed on, and checks it once: stream %s",
    async (stream) => {
      const check = vi.spyOn(JobCheck.prototype, "run");
      const names = new Set<string | null>();
      let sent = 0;
      const fetch = open(async (_url, init) => {
        names.add(new Headers(init?.headers).get("idempotency-key"));
        sent += 1;
        return Response.json({ choices: [] }, { headers: { "x-service-job-id": jobId } });
      });
      await expect(openai(fetch).chat.completions.create({ ...body, stream })).rejects.toThrow();
      expect([sent, names.size]).toEqual([3, 1]);
      await checksBegun();
      expect(check).toHaveBeenCalledTimes(1);
    },
  );

  describe("and a request that can cost more than the program allows", () => {
    const prices = { number: 1, creditsPerRequest: 8, creditsPer1kTokens: 8, contextWindow: 4_096 };
    const limited = {
      wallet: ESCROW,
      authorizationKey: generatePrivateKey(),
      maxCredits: 10,
      fetch: () => Promise.reject(new Error("it was sent")),
    } as const;
    beforeEach(() => {
      vi.spyOn(ChainView.prototype, "deployment").mockResolvedValue({ digests: {} } as never);
      vi.spyOn(ChainView.prototype, "model").mockResolvedValue(prices);
      vi.spyOn(ChainView.prototype, "operatorOf").mockResolvedValue(0);
    });
    const refused = { status: 400, code: "invalid_request", param: "max_tokens" };

    it("is told so, and sends nothing", async () => {
      const asked = openai(open(limited.fetch, limited)).chat.completions.create({ ...body, max_tokens: 4_000 });
      const error = await asked.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(BadRequestError);
      expect(error).toMatchObject({
        ...refused,
        message: expect.stringMatching(/can cost 32 credits.*Nothing was sent/),
      });
    });

    it("is told so through the local endpoint", async () => {
      const proxy = await startProxy({
        baseUrl: "https://service.example/v1",
        port: 0,
        rpcUrl: URL,
        escrow: ESCROW,
        ...limited,
      });
      try {
        const sent = { method: "POST", body: JSON.stringify({ ...body, max_tokens: 4_000 }) };
        const reply = await fetch(`${proxy.url}/chat/completions`, sent);
        const { error } = (await reply.json()) as { error: object };
        expect({ status: reply.status, ...error }).toMatchObject(refused);
      } finally {
        await proxy.close();
      }
    });
  });
});

it("the local endpoint says which service it could not reach", async () => {
  const proxy = await startProxy({ baseUrl: "http://127.0.0.1:9/v1", port: 0, rpcUrl: URL, escrow: ESCROW });
  try {
    const reply = await fetch(`${proxy.url}/models`);
    const { error } = (await reply.json()) as { error: { code: string; message: string } };
    expect({ status: reply.status, code: error.code }).toEqual({ status: 502, code: "service_unavailable" });
    expect(error.message).toMatch(/^no service answers at http:\/\/127\.0\.0\.1:9\/v1: ./);
  } finally {
    await proxy.close();
  }
});

describe("the local endpoint with a key of the service", () => {
  type RecordedRequest = { url: string; key: string | null };
  const asked: RecordedRequest[] = [];
  const service: typeof globalThis.fetch = async (input, init) => {
    asked.push({ url: String(input), key: new Headers(init?.headers).get("authorization") });
    return new Response("{}");
  };
  const options = {
    baseUrl: "http://service.example/v1",
    apiKey: "svc_live_x",
    port: 0,
    rpcUrl: URL,
    escrow: ESCROW,
  } as const;
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  beforeEach(async () => {
    asked.length = 0;
    proxy = await startProxy({ ...options, fetch: service });
  });
  afterEach(() => proxy.close());
  /** As it is written: fetch would resolve the path before. */
  const ask = async (path: string, authorization?: string): Promise<number | undefined> => {
    const { hostname, port } = new globalThis.URL(proxy.url);
    const call = get({ hostname, port, path, headers: { ...(authorization && { authorization }) }, agent: false });
    const [reply] = (await once(call, "response")) as [IncomingMessage];
    await once(reply.resume(), "end");
    return reply.statusCode;
  };

  it("spends only for programs that know its own key", async () => {
    expect(await ask("/v1/models")).toBe(401);
    expect(asked).toEqual([]);
    expect(await ask("/v1/models", `Bearer ${proxy.localKey}`)).toBe(200);
    expect(await ask("/v1/models", "Bearer svc_live_other")).toBe(200);
    expect(asked.map(({ key }) => key)).toEqual(["Bearer svc_live_x", "Bearer svc_live_other"]);
  });

  it.each(["/v1/../app/api/session", "/v1/%2e%2e/app", "/v1/x/../../app", "/v1/..\\app", "/v1x", "/app"])(
    "takes its key nowhere but below /v1: %s",
    async (path) => {
      expect(await ask(path, `Bearer ${proxy.localKey}`)).toBe(404);
      expect(asked).toEqual([]);
    },
  );

  it("passes on what is below it, as it is", async () => {
    expect(await ask("/v1/jobs?limit=2&before=job_%31", `Bearer ${proxy.localKey}`)).toBe(200);
    expect(asked[0]?.url).toBe("http://service.example/v1/jobs?limit=2&before=job_%31");
  });
});

it("the local endpoint ends after the answers that are due, whoever asks on", async () => {
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<Response>()];
  const slow: typeof globalThis.fetch = () => {
    asked.resolve();
    return answered.promise;
  };
  const baseUrl = "http://service/v1";
  const { url, close } = await startProxy({ baseUrl, port: 0, rpcUrl: URL, escrow: ESCROW, fetch: slow });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = async (): Promise<number | undefined> => {
    const [reply] = (await once(get(`${url}/models`, { agent }), "response")) as [IncomingMessage];
    await once(reply.resume(), "end");
    return reply.statusCode;
  };
  const first = ask();
  await asked.promise;
  const closed = close();
  answered.resolve(new Response("the models"));
  expect(await first).toBe(200);
  expect(await ask()).toBe(503);
  await closed;
});

describe("a request that got no answer", () => {
  /** The names under which requests were sent, and a service that loses the connections of the first ones. */
  let names: string[];
  let losses: number;
  const lossy: typeof globalThis.fetch = async (_url, init) => {
    names.push(new Headers(init?.headers).get("idempotency-key") as string);
    if (losses-- > 0) throw new TypeError("fetch failed");
    const message = { role: "assistant", content: "Hi" };
    return Response.json(
      { id: `chatcmpl-${jobId}`, model: "m", choices: [{ index: 0, message, finish_reason: "stop" }] },
      { headers: { "x-service-job-id": jobId } },
    );
  };
  /** The program stops before the client sends again by itself. */
  const gone = { signal: AbortSignal.abort() };
  beforeEach(() => {
    names = [];
    losses = 0;
  });
  const by = (key: string, more: object = {}) => ({ ...request(more), headers: { authorization: `Bearer ${key}` } });

  it("is sent again under its own name, although an equal one got none either", async () => {
    const fetch = open(lossy);
    losses = 2;
    const both = [fetch(URL, { ...by("a"), ...gone }), fetch(URL, { ...by("a"), ...gone })];
    for (const { status } of await Promise.allSettled(both)) expect(status).toBe("rejected");
    for (let i = 0; i < 3; i++) await fetch(URL, by("a"));
    const [first, second, ...again] = names;
    expect(again.slice(0, 2)).toEqual([first, second]);
    expect(new Set(names).size).toBe(3);
  });

  it("is another one's with another API key, or at another address", async () => {
    const fetch = open(lossy);
    losses = 1;
    await expect(fetch(URL, { ...by("a"), ...gone })).rejects.toThrow();
    await fetch(URL, by("b"));
    await fetch(URL.replace("service", "other"), by("a"));
    expect(new Set(names).size).toBe(3);
    await fetch(URL, by("a"));
    expect(names[3]).toBe(names[0]);
  });

  it("is remembered for two minutes of its own, among the last thousand", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "Date"] });
    try {
      const fetch = open(lossy);
      const lose = async (content: string) => {
        losses = 1;
        await expect(fetch(URL, { ...by("a", { user: content }), ...gone })).rejects.toThrow();
        return names.at(-1);
      };
      const ask = async (content: string) => {
        await fetch(URL, by("a", { user: content }));
        return names.at(-1);
      };
      const early = await lose("x");
      vi.advanceTimersByTime(119_000);
      expect(await ask("x")).toBe(early);
      const late = await lose("x");
      vi.advanceTimersByTime(2_000);
      expect(await ask("x")).toBe(late);
      const oldest = await lose("oldest");
      const second = await lose("second");
      for (let i = 0; i < 999; i++) await lose(`${i}`);
      expect(await ask("oldest")).not.toBe(oldest);
      expect(await ask("second")).toBe(second);
    } finally {
      vi.useRealTimers();
    }
  });

  it("is a new one if the program stopped it after text had come", async () => {
    const stop = new AbortController();
    const fetch = open(async (_url, init) => {
      names.push(new Headers(init?.headers).get("idempotency-key") as string);
      return stream(chunk({ content: "One " }));
    });
    const answer = await fetch(URL, { ...request({ stream: true }), signal: stop.signal });
    const reader = (answer.body as ReadableStream).getReader();
    await reader.read();
    stop.abort();
    await expect(reader.read()).rejects.toThrow();
    const again = await fetch(URL, request({ stream: true }));
    await again.body?.cancel();
    expect(new Set(names).size).toBe(2);
  });
});
