/** Reading request bodies within bounds, whoever sends them and however. */
import { once } from "node:events";
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it, vi } from "vitest";
import { BodyBudget, type BodyRefused, readRequestBody, SMALL_BODY } from "../../../shared/request-body.ts";
import { serve } from "../support/serve.ts";

const LIMIT = 2 * SMALL_BODY;
const MOST = 8 * LIMIT;

const MIB = 1024 * 1024;
let budget: BodyBudget;
/** Most bytes that were held at any time. */
let peak: number;
/** Answers with the number of bytes it read, or the fault. The header `from` stands for the client's address. */
async function listen(rate?: number): Promise<number> {
  budget = new BodyBudget(MOST, MOST / 8, rate);
  peak = 0;
  const url = await serve(async (request, response) => {
    request.on("data", () => {
      peak = Math.max(peak, budget.bytes);
    });
    try {
      const from = String(request.headers["from"] ?? "");
      const { bytes, release, whileWaiting } = await readRequestBody(request, { limit: LIMIT, budget, from });
      response.on("close", release);
      if (request.headers["expect-wait"]) await whileWaiting((signal) => waitFrom(from, signal));
      response.end(String(bytes.length));
    } catch (error) {
      response.writeHead(400).end((error as BodyRefused).fault);
    }
  });
  return Number(new URL(url).port);
}

/** Why requests no longer wait, by the address of their client. */
const ends = new Map<string, unknown>();
/** Waits for an earlier request that goes on for ever. */
async function waitFrom(from: string, signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
  ends.set(from, signal.reason);
  throw signal.reason;
}

const open = (port: number, headers: Record<string, string> = {}) =>
  httpRequest({ port, host: "127.0.0.1", method: "POST", agent: false, headers });

async function answerOf(call: ReturnType<typeof open>): Promise<string> {
  const [response] = (await once(call, "response")) as [IncomingMessage];
  return text(response);
}

async function send(port: number, body: Buffer, headers: Record<string, string> = {}): Promise<string> {
  const call = open(port, headers);
  const answer = answerOf(call);
  call.end(body);
  return answer;
}

describe("a body", () => {
  it("is read up to the limit, in pieces of any size", async () => {
    const port = await listen();
    expect(await send(port, Buffer.alloc(LIMIT))).toBe(String(LIMIT));
    const call = open(port);
    const answer = answerOf(call);
    for (let i = 0; i < 3_000; i++) call.write("x");
    call.end();
    expect(await answer).toBe("3000");
  });

  it.each(["with", "without"])("beyond the limit is refused before its end, %s a length", async (how) => {
    const port = await listen();
    const call = open(port, how === "with" ? { "content-length": String(100 * LIMIT) } : {});
    const answer = answerOf(call);
    call.write(Buffer.alloc(LIMIT + 1));
    expect(await answer).toBe("too_large");
    expect(budget.bytes).toBe(0);
    call.destroy();
  });

  it.each(["gzip", "deflate", "br", "snappy"])("that is compressed (%s) is refused unread", async (encoding) => {
    const small = gzipSync(Buffer.alloc(LIMIT));
    expect(await send(await listen(), small, { "content-encoding": encoding })).toBe("compressed");
  });

  it("that was refused is received to its end, unless that is far", async () => {
    const port = await listen();
    const call = open(port, { "content-length": String(MIB) });
    const answer = answerOf(call);
    call.end(Buffer.alloc(MIB));
    expect(await answer).toBe("too_large");
    await once(call, "close");

    const endless = open(port, { "content-length": String(100 * MIB) });
    const refused = answerOf(endless);
    let sent = 0;
    const pump = () => {
      while (!endless.destroyed && endless.write(Buffer.alloc(MIB / 4))) sent += MIB / 4;
    };
    endless.on("drain", pump).on("error", () => {});
    pump();
    expect(await refused).toBe("too_large");
    await expect.poll(() => endless.destroyed, { timeout: 20_000 }).toBe(true);
    expect(sent).toBeLessThan(50 * MIB);
  });

  it("is received slowly after its refusal, also if it waited before", async () => {
    const received = Promise.withResolvers<number>();
    const url = await serve(async (request, response) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      const begunAt = performance.now();
      request.on("end", () => received.resolve(performance.now() - begunAt));
      const limits = { limit: LIMIT, budget: new BodyBudget(MOST), from: "a" };
      await readRequestBody(request, limits).catch((error: BodyRefused) => response.writeHead(400).end(error.fault));
    });
    const agent = new Agent({ keepAlive: true });
    const { port } = new URL(url);
    const headers = { "content-length": String(8 * MIB) };
    const call = httpRequest({ port, host: "127.0.0.1", method: "POST", agent, headers });
    call.end(Buffer.alloc(8 * MIB));
    expect(await answerOf(call)).toBe("too_large");
    // Half a second at 16 MiB a second.
    expect(await received.promise).toBeGreaterThan(400);
    agent.destroy();
  });

  it("that is large arrives at its client's rate", async () => {
    const port = await listen(2 * LIMIT);
    const begunAt = performance.now();
    const large = await Promise.all([1, 2].map(() => send(port, Buffer.alloc(LIMIT), { from: "a" })));
    expect(large).toEqual([String(LIMIT), String(LIMIT)]);
    // Half of them is small yet; the rest takes half a second at that rate.
    expect(performance.now() - begunAt).toBeGreaterThan(250);
  });

  it("is forgotten when it breaks off, and when its answer is sent", async () => {
    const port = await listen();
    const call = open(port).on("error", () => {});
    call.write(Buffer.alloc(1_000));
    await expect.poll(() => budget.bytes).toBe(1_000);
    call.destroy();
    await expect.poll(() => budget.bytes).toBe(0);
    await send(port, Buffer.alloc(2_000));
    await expect.poll(() => budget.bytes).toBe(0);
  });
});

it("bounds the memory of bodies that never end, and holds up nobody else", async () => {
  const port = await listen();
  const calls = Array.from({ length: 40 }, () => open(port, { from: "attacker" }).on("error", () => {}));
  const answers = calls.map((call) => answerOf(call).catch(() => "closed"));
  for (const call of calls) call.write(Buffer.alloc(LIMIT - 1));
  // As many as there is room for stay; the others hear that there is none.
  const refused = await some(answers, 32);
  expect(new Set(refused)).toEqual(new Set(["no_room"]));
  expect(budget.bytes).toBeLessThanOrEqual(MOST);
  expect(await send(port, Buffer.alloc(LIMIT), { from: "client" })).toBe(String(LIMIT));
  expect(peak).toBeLessThanOrEqual(MOST + LIMIT);
  for (const call of calls) call.destroy();
});

describe("whole bodies of requests that wait for another one", () => {
  const headers = { "expect-wait": "1" };

  it("make room for those of other clients", async () => {
    const port = await listen();
    const answers = Array.from({ length: 40 }, () =>
      send(port, Buffer.alloc(LIMIT), { ...headers, from: "many" }).catch(() => "closed"),
    );
    expect(new Set(await some(answers, 32))).toEqual(new Set(["no_room"]));
    for (let i = 0; i < 3; i++) expect(await send(port, Buffer.alloc(LIMIT), { from: "client" })).toBe(String(LIMIT));
    expect(budget.bytes).toBeLessThanOrEqual(MOST);
  });

  it("are forgotten, and the wait ends, when their client leaves", async () => {
    const port = await listen();
    const call = open(port, { ...headers, from: "leaver" }).on("error", () => {});
    call.end(Buffer.alloc(LIMIT));
    await expect.poll(() => budget.bytes).toBe(LIMIT);
    call.destroy();
    await expect.poll(() => ends.get("leaver")).toMatchObject({ fault: "broken_off" });
    expect(budget.bytes).toBe(0);
  });
});

/** The first so many answers. */
function some(answers: Promise<string>[], count: number): Promise<string[]> {
  const got: string[] = [];
  return new Promise((resolve) => {
    for (const answer of answers) {
      void answer.then((text) => {
        got.push(text);
        if (got.length === count) resolve(got);
      });
    }
  });
}

describe("the budget", () => {
  /** Bodies of these sizes from one client, in this order; true for each that was given up. */
  function hold(budget: BodyBudget, client: string, sizes: number[]): boolean[] {
    const lost = sizes.map(() => false);
    for (const [at, size] of sizes.entries()) {
      const body = budget.open(client, () => {
        lost[at] = true;
      });
      budget.arrive(body, size);
    }
    return lost;
  }

  it("gives one client at most half, and others their share beside it", () => {
    const budget = new BodyBudget(128 * MIB, 16 * MIB);
    const lost = hold(budget, "attacker", Array<number>(40).fill(4 * MIB));
    expect(lost.filter((isLost) => !isLost)).toHaveLength(16);
    expect(hold(budget, "client", [4 * MIB, 4 * MIB])).toEqual([false, false]);
    hold(budget, "attacker", [4 * MIB]);
    expect(budget.bytes).toBeLessThanOrEqual(64 * MIB);
  });

  it("gives the many chats of one client room while nobody else needs it", () => {
    const budget = new BodyBudget(128 * MIB, 16 * MIB);
    let lost = 0;
    for (let chat = 0; chat < 60; chat++) {
      const body = budget.open("client", () => {
        lost += 1;
      });
      budget.arrive(body, 400_000);
      body.isWhole = true;
      budget.resize(body, 1_200_000);
      budget.resize(body, 400_000);
      body.refuse = null;
    }
    expect(lost).toBe(0);
  });

  describe("that slow bodies of many clients fill", () => {
    afterEach(() => void vi.useRealTimers());

    it("gives these up, the slowest first, and no whole one", () => {
      vi.useFakeTimers({ toFake: ["performance"] });
      const budget = new BodyBudget(128 * MIB, 16 * MIB);
      const lost: string[] = [];
      const open = (name: string) => budget.open(name, () => lost.push(name));
      for (let wallet = 0; wallet < 32; wallet++) {
        const slow = open(`slow ${wallet}`);
        budget.arrive(slow, 3 * MIB);
        vi.advanceTimersByTime(2_000);
      }
      const whole = open("whole");
      budget.arrive(whole, 4 * MIB);
      whole.isWhole = true;
      const honest = open("honest");
      for (let size = 1; size <= 4; size++) {
        vi.advanceTimersByTime(300);
        budget.arrive(honest, size * MIB);
      }
      expect(lost).toEqual(["slow 0", "slow 1", "slow 2"]);
    });
  });

  it("keeps room for small bodies, however many clients send large ones", () => {
    const budget = new BodyBudget(128 * MIB, 16 * MIB);
    for (let wallet = 0; wallet < 20; wallet++) hold(budget, `wallet ${wallet}`, Array<number>(4).fill(4 * MIB));
    expect(budget.bytes).toBeLessThanOrEqual(96 * MIB);
    expect(hold(budget, "client", Array<number>(100).fill(SMALL_BODY))).not.toContain(true);
  });

  it("has room for a small body that becomes larger once it is parsed", () => {
    const budget = new BodyBudget(128 * MIB, 16 * MIB);
    for (let wallet = 0; wallet < 24; wallet++) {
      const answered = budget.open(`wallet ${wallet}`, () => {});
      budget.arrive(answered, 4 * MIB);
      answered.refuse = null;
    }
    let isLost = false;
    const small = budget.open("client", () => {
      isLost = true;
    });
    budget.arrive(small, 30_000);
    budget.resize(small, 90_000);
    expect(isLost).toBe(false);
  });

  it("refuses what a body takes beyond it, and nothing of running requests", () => {
    const budget = new BodyBudget(12, 10);
    const answered = budget.open("client", () => {});
    answered.refuse = null;
    budget.resize(answered, 8);
    let isRefused = false;
    const second = budget.open("client", () => {
      isRefused = true;
    });
    budget.resize(second, 4);
    expect(isRefused).toBe(true);
    expect(budget.bytes).toBe(8);
    // It was given up: whatever becomes of it does not count.
    budget.resize(second, 6);
    budget.close(second);
    budget.close(answered);
    expect(budget.bytes).toBe(0);
  });
});
