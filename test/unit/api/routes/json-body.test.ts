/** Bodies of JSON as the gateway reads them: what is refused, when they are parsed, and how much is kept of them. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { setImmediate } from "node:timers/promises";
import { brotliCompressSync } from "node:zlib";
import express, { type Request } from "express";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Balances } from "../../../../api/chain/balances.ts";
import { errorHandler } from "../../../../api/routes/errors.ts";
import { Bodies, FORM_LIMIT, limitByCredits, readChat, readForm, takeBody } from "../../../../api/routes/json-body.ts";
import { canonicalHash } from "../../../../shared/canonical-json.ts";
import { SMALL_BODY } from "../../../../shared/request-body.ts";
import { serve } from "../../support/serve.ts";
import { ScriptedNode } from "../chain/balances/scripted-node.ts";

const MIB = 1024 * 1024;
const WALLET = `0x${"11".repeat(20)}` as const;
const CHEAPEST = { id: "small", tier: "lite", creditsPerRequest: 2 };
const DEAREST = { id: "large", tier: "max", creditsPerRequest: 8 };

/** Forms: `/` answers at once, `/wait` when `go` resolves, having read its body. */
async function listenForForms(go: Promise<void>, bodies = new Bodies()): Promise<string> {
  const app = express()
    .use(readForm(bodies))
    .post("/", (_request, response) => void response.json({}))
    .post("/wait", async (request, response) => {
      const read = takeBody(request, (body) => body);
      await go;
      response.json({ read, left: request.body });
    })
    .use(errorHandler("https://docs.example.com", pino({ level: "silent" })));
  return serve(app);
}

/** Answers with what was read. `free`: the wallet's credits as they are remembered, and as the chain has them. */
async function listen(free: [remembered: number, onChain: number] = [100, 100], bodies = new Bodies()) {
  const [remembered, onChain] = free.map((credits) => ({ free: credits, escrowed: 0 }));
  const models = () => [DEAREST, CHEAPEST] as never;
  const app = express()
    .use((request, _response, next) => {
      request.client = { wallet: WALLET, keyCreatedAt: new Date() };
      next();
    })
    .use(
      readChat(bodies, limitByCredits({ models }, { known: () => remembered, bounded: async () => onChain } as never)),
    )
    .post("/", (request, response) => {
      if (request.get("x-repeats") !== undefined) response.setHeader("idempotent-replayed", "true");
      if (request.get("x-refuse") !== undefined) response.status(400);
      response.json({ hash: request.bodyHash?.toString("hex"), held: bodies.budget.bytes });
    })
    .use(errorHandler("https://docs.example.com", pino({ level: "silent" })));
  const url = await serve(app);
  return async (body: string | Buffer, headers: Record<string, string> = {}) => {
    const init = { method: "POST", headers: { "content-type": "application/json", ...headers }, body };
    const response = await fetch(url, init as RequestInit);
    return { status: response.status, body: (await response.json()) as Answer };
  };
}
// biome-ignore lint/suspicious/noExplicitAny: an answer, or an error with its details.
type Answer = any;
const json = (length: number) => JSON.stringify({ text: "a".repeat(length) });

describe("a body", () => {
  it("that is compressed is refused with what to do", async () => {
    const send = await listen();
    const bomb = brotliCompressSync(`{"a":1${"\n".repeat(4 * MIB - 10)}x`);
    const { status, body } = await send(bomb, { "content-encoding": "br" });
    expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_request", "Content-Encoding"]);
    expect(body.error.message).toMatch(/send plain JSON/);
    expect((await send("{}", { "content-encoding": "identity" })).status).toBe(200);
  });

  it("whose client hung up counts until what it asked for is over", async () => {
    const bodies = new Bodies();
    const [arrived, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const job = Promise.withResolvers<void>();
    const app = express()
      .use(readForm(bodies))
      .post("/", (request, response) => {
        request.kept.until(job.promise);
        response.once("close", closed.resolve);
        arrived.resolve();
      });
    const hangUp = new AbortController();
    const headers = { "content-type": "application/json" };
    const sent = fetch(await serve(app), { method: "POST", headers, body: json(10_000), signal: hangUp.signal });
    sent.catch(() => {});
    await arrived.promise;
    const held = bodies.budget.bytes;
    expect(held).toBeGreaterThan(10_000);
    hangUp.abort();
    await closed.promise;
    await setImmediate();
    expect(bodies.budget.bytes).toBe(held);
    job.reject(new Error("the job failed"));
    await expect.poll(() => bodies.budget.bytes).toBe(0);
  });

  it("that is no JSON is refused with the line and the column", async () => {
    const send = await listen();
    const { body } = await send('{\n  "a": 1,\n\n  b }');
    expect(body.error.message).toMatch(/line 4, column 3/);
    expect((await send("{")).body.error.message).toMatch(/line 1, column 2/);
  });

  it("counts with what it takes in memory until its answer is sent", async () => {
    const bodies = new Bodies();
    const send = await listen([100, 100], bodies);
    const { body } = await send(json(MIB));
    expect(body.held).toBeGreaterThan(2 * MIB);
    await expect.poll(() => bodies.budget.bytes).toBe(0);
  });

  it.each([
    ["a wallet without credits", [0, 0], 402],
    ["a wallet that has just bought some", [0, 100], 200],
  ] as const)("that is large, of %s", async (_who, free, status) => {
    const send = await listen([...free]);
    const large = await send(json(SMALL_BODY));
    expect(large.status).toBe(status);
    if (status === 402) {
      // Its model is not read: the price is enough for each.
      const details = { credits_remaining: 0, credits_required: 8, tier: "max" };
      expect(large.body.error).toMatchObject({ code: "insufficient_credits", details });
    }
    expect((await send(json(SMALL_BODY - 100))).status).toBe(200);
    const small = JSON.stringify({ text: Array.from({ length: 900 }, () => 0) });
    expect((await send(small)).status).toBe(200);
    const slow = JSON.stringify([1, 2].map(() => Array.from({ length: 900 }, () => 0)));
    expect((await send(slow)).status).toBe(status);
  });

  it.each([
    ["that is answered puts its wallet before those who come for the first time", {}, true],
    ["that is answered again, by its key, does not", { "x-repeats": "yes" }, false],
    ["that is refused does not", { "x-refuse": "yes" }, false],
  ])("%s", async (_what, headers, comesFirst) => {
    const bodies = new Bodies();
    const send = await listen([100, 100], bodies);
    await send(json(MIB), headers as Record<string, string>);
    const turns = bodies.turnsFor(Buffer.from(json(MIB)));
    const [held, signal] = [Promise.withResolvers<void>(), new AbortController().signal];
    const done: string[] = [];
    const wait = (owner: string) => turns.run(owner, signal, () => void done.push(owner));
    const first = turns.run("holds", signal, () => held.promise);
    const waiting = ["first", "second", WALLET].map(wait);
    held.resolve();
    await Promise.all([first, ...waiting]);
    // Every other turn is that of the owner who has waited longest.
    expect(done.indexOf(WALLET) < done.indexOf("second")).toBe(comesFirst);
  });

  it("of many values has its turns among the long ones", () => {
    const bodies = new Bodies();
    const lists = (count: number) =>
      Buffer.from(JSON.stringify(Array.from({ length: count }, () => Array.from({ length: 900 }, () => 0))));
    expect(bodies.turnsFor(lists(10))).toBe(bodies.turnsFor(Buffer.from(json(MIB))));
    expect(bodies.turnsFor(lists(2))).not.toBe(bodies.turnsFor(lists(10)));
  });
});

describe("the balance that decides whether a large body is read", () => {
  let node: ScriptedNode;
  let balances: Balances;
  beforeEach(async () => {
    // The clock stands still but for what a test adds to it: the bound is one of a second.
    vi.useFakeTimers({ toFake: ["performance"] });
    node = new ScriptedNode();
    balances = await node.open();
  });
  afterEach(() => void vi.useRealTimers());

  const walletOf = (number: number) => `0x${number.toString(16).padStart(40, "0")}`;

  /** What a large body of the wallet of this number may be, while the cheapest model costs so many credits. */
  function limitOf(number: number, price: number) {
    const headers = { "content-length": String(SMALL_BODY + 1) };
    const request = {
      headers,
      client: { wallet: walletOf(number) },
      receivedAt: performance.now(),
    } as unknown as Request;
    return limitByCredits({ models: () => [{ ...CHEAPEST, creditsPerRequest: price }] as never }, balances)(request);
  }

  it("is read from the chain for at most 50 wallets a second", async () => {
    const limits = await Promise.all(Array.from({ length: 300 }, (_, index) => limitOf(index, 1_000)));
    expect(limits.every(({ bytes }) => bytes === SMALL_BODY)).toBe(true);
    const codes = limits.map(({ refusal }) => refusal?.code);
    expect(codes.slice(0, 50)).toEqual(Array(50).fill("insufficient_credits"));
    expect(codes.slice(50)).toEqual(Array(250).fill("service_unavailable"));
    expect(node.asked).toHaveLength(2 * 50);
  });

  it("is read for a wallet with credits, however many without any ask", async () => {
    node.withCredits.add(walletOf(99));
    // One wallet is enough for it: each of its requests asks for what is true now.
    for (let requests = 0; requests < 60; requests++) {
      vi.advanceTimersByTime(1);
      await limitOf(1, 1_000);
    }
    expect((await limitOf(2, 700)).refusal?.code).toBe("service_unavailable");
    expect(await limitOf(99, 700)).toEqual({ bytes: 4 * MIB });
  });

  it("has its bound together with the header", async () => {
    await Promise.all(Array.from({ length: 50 }, (_, index) => balances.bounded(walletOf(index))));
    expect((await limitOf(99, 700)).refusal?.code).toBe("service_unavailable");
    vi.advanceTimersByTime(1_000);
    expect(await limitOf(99, 700)).toEqual({ bytes: 4 * MIB });
  });

  it("is not read again if it was read for the same request", async () => {
    await balances.bounded(walletOf(7));
    expect((await limitOf(7, 1_000)).refusal?.code).toBe("insufficient_credits");
    expect(node.asked).toHaveLength(2);
  });

  it("is read again, once too few credits are remembered from before the request", async () => {
    expect((await limitOf(7, 1_000)).refusal?.code).toBe("insufficient_credits");
    node.mine({ free: 1_000, escrowed: 30, sent: 4 });
    vi.advanceTimersByTime(1);
    expect(await limitOf(7, 1_000)).toEqual({ bytes: 4 * MIB });
  });
});

describe("the body of any other route than chat", () => {
  const post = (url: string, body: string) =>
    fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });

  it("has at most 32 KiB", async () => {
    const url = await listenForForms(Promise.resolve());
    expect((await post(url, json(FORM_LIMIT - 100))).status).toBe(200);
    const refused = await post(url, json(FORM_LIMIT));
    expect(refused.status).toBe(400);
    expect(await refused.text()).toMatch(/larger than 32 KiB/);
  });

  it("has at most 1,000 values", async () => {
    const url = await listenForForms(Promise.resolve());
    const body = (values: number) => JSON.stringify({ x: [Array(values).fill(1), Array(values).fill(1)] });
    expect((await post(url, body(490))).status).toBe(200);
    const refused = await post(url, body(510));
    expect(refused.status).toBe(400);
    expect(await refused.text()).toMatch(/more than 1,000 values/);
  });

  it("is forgotten once its route has read it, however long that waits", async () => {
    const bodies = new Bodies();
    const go = Promise.withResolvers<void>();
    const url = await listenForForms(go.promise, bodies);
    let most = 0;
    const { open } = bodies.budget;
    bodies.budget.open = (...parts) => {
      most += 1;
      return open.apply(bodies.budget, parts);
    };
    const waiting = Array.from({ length: 3 }, () => post(`${url}/wait`, json(1_000)));
    await expect.poll(() => [most, bodies.budget.bytes]).toEqual([3, 0]);
    go.resolve();
    for (const answer of waiting) expect(await (await answer).json()).toEqual({ read: JSON.parse(json(1_000)) });
  });

  it("is forgotten when it has an answer that waits behind an earlier one", async () => {
    const bodies = new Bodies();
    const go = Promise.withResolvers<void>();
    const { hostname, port } = new URL(await listenForForms(go.promise, bodies));
    const requestTo = (path: string, body: string) =>
      `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    socket.write(requestTo("/wait", "{}") + requestTo("/", json(20_000)) + requestTo("/", json(20_000)).slice(0, -1));
    // Two bytes and most of the last body: the one between has an answer, which nobody has received.
    await expect.poll(() => bodies.budget.bytes).toBe(json(20_000).length - 1);
    socket.destroy();
    go.resolve();
  });
});

it("a chat request of many values waits for its turn, however few bytes it has", async () => {
  const bodies = new Bodies();
  const send = await listen([100, 100], bodies);
  const values = (count: number) => JSON.stringify({ x: [Array(count).fill(1), Array(count).fill(1)] });
  const turn = Promise.withResolvers<void>();
  const middle = bodies.turnsFor(Buffer.alloc(100_000));
  const { run } = middle;
  let turns = 0;
  middle.run = async (...parts) => {
    turns += 1;
    await turn.promise;
    return run.apply(middle, parts) as never;
  };
  expect((await send(values(400))).status).toBe(200);
  expect(turns).toBe(0);
  const waits = send(values(900));
  await expect.poll(() => turns).toBe(1);
  turn.resolve();
  expect((await waits).status).toBe(200);
});

it("bodies of up to 512 KiB do not wait for longer ones", () => {
  const bodies = new Bodies();
  const [small, middle, long] = [100_000, 512 * 1024, 512 * 1024 + 1].map((size) =>
    bodies.turnsFor(Buffer.alloc(size)),
  );
  expect(middle).toBe(small);
  expect(long).not.toBe(small);
});

describe("a request that is repeated", () => {
  const named = { "idempotency-key": "one" };

  it("is the same one whatever its white space, escapes and order of fields", async () => {
    const send = await listen();
    const { body } = await send('{"a": [1, {"b": "é", "c": null}], "d": 1.0}', named);
    for (const same of ['{"a":[1,{"b":"é","c":null}],"d":1}', '{\n"d":1e0,\n"a":[1,{"c":null,"b":"\\u00e9"}]}']) {
      expect((await send(same, named)).body.hash).toBe(body.hash);
    }
    for (const other of ['{"a":[{"b":"é","c":null},1],"d":1}', '{"a":[1,{"b":"e","c":null}],"d":1}']) {
      expect((await send(other, named)).body.hash).not.toBe(body.hash);
    }
  });

  it("is the same bytes where an authorization signed them", async () => {
    const send = await listen();
    const hashOf = async (text: string) => (await send(text, { "x-service-authorization": "x" })).body.hash;
    expect(await hashOf('{"a":1}')).toBe("015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862");
    expect(await hashOf('{"a": 1}')).not.toBe(await hashOf('{"a":1}'));
  });

  it("is known by the same hash, however long its texts and lists are", () => {
    const body = { a: "é".repeat(40_000), b: Array.from({ length: 900 }, (_, i) => `${i}`.repeat(50)) };
    const whole = createHash("sha256").update(JSON.stringify(body)).digest();
    expect(canonicalHash(body)).toEqual(whole);
  });

  it("tells integers apart that a double cannot", () => {
    expect(canonicalHash({ seed: 2n ** 63n - 1n })).not.toEqual(canonicalHash({ seed: 2n ** 63n - 2n }));
  });
});
