/**
 * An indexer behind a node that limits eth_getLogs, whatever it says: Infura ("range N exceeds limit of 10000", 2026), Alchemy's free tier
 * (10 blocks), Besu (-32005), results instead of blocks. Reports: ponder-sh/ponder#833, #1362, #1940, enviodev/hyperindex#605.
 */
import { describe, expect, it } from "vitest";
import { withLogRanges } from "../../../indexer/launch/log-ranges.ts";

const URL = "http://node.test/";
type Range = { from: number; to: number };

/** A node with a log in each block, that refuses ranges; and the ranges that it was asked for. */
function node(refuse: (range: Range, asked: number, input: Request) => Response | Promise<Response> | null) {
  const asked: Range[] = [];
  const fetchLogs = (async (input: Request) => {
    const { id, method, params } = JSON.parse(await input.text());
    if (method !== "eth_getLogs") return Response.json({ id, result: "0x1" });
    const range = { from: Number(params[0].fromBlock), to: Number(params[0].toBlock) };
    asked.push(range);
    const refused = await refuse(range, asked.length, input);
    if (refused !== null) return refused;
    return Response.json({ id, result: Array.from({ length: range.to - range.from + 1 }, (_, n) => range.from + n) });
  }) as unknown as typeof fetch;
  return { asked, fetchLogs };
}

const request = (from: number, to: number) =>
  new Request(URL, {
    method: "POST",
    body: JSON.stringify({
      id: 7,
      method: "eth_getLogs",
      params: [{ fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}` }],
    }),
  });
const blocks = ({ from, to }: Range) => to - from + 1;
const error = (code: number, message: string, status = 200) =>
  Response.json({ id: 7, error: { code, message } }, { status });
const whole = (from: number, to: number) => ({
  jsonrpc: "2.0",
  id: 7,
  result: Array.from({ length: to - from + 1 }, (_, n) => from + n),
});

describe("a range of logs", () => {
  it.each([
    ["100 blocks, in Infura's words", 100, () => error(-32_602, "range 1000 exceeds limit of 100")],
    [
      "10 blocks, in Alchemy's words",
      10,
      () => error(-32_600, "Under the Free tier plan, up to a 10 block range", 400),
    ],
    ["5 blocks, in Besu's words", 5, () => error(-32_005, "Requested range exceeds maximum RPC range limit")],
    ["7 blocks, in unknown words", 7, () => error(-32_000, "no")],
    ["one block", 1, () => error(-32_000, "no")],
  ])("is had whole from a node that takes %s", async (_, most, refusal) => {
    const { asked, fetchLogs } = node((range) => (blocks(range) > most ? refusal() : null));
    const ask = withLogRanges(URL, 10_000, fetchLogs);
    expect(await (await ask(request(5, 1_004))).json()).toEqual(whole(5, 1_004));
    asked.length = 0;
    expect(await (await ask(request(1_005, 1_104))).json()).toEqual(whole(1_005, 1_104));
    // What it takes is remembered: hardly a request is refused again.
    expect(asked.filter((range) => blocks(range) > most).length).toBeLessThanOrEqual(1);
  });

  it("is never larger than the setting", async () => {
    const { asked, fetchLogs } = node(() => null);
    await withLogRanges(URL, 50, fetchLogs)(request(1, 500));
    expect(Math.max(...asked.map(blocks))).toBe(50);
  });

  /** A request that nobody holds is collected, and its signal with it. */
  const held: Request[] = [];
  const never = (input: Request) => {
    held.push(input);
    return new Promise<Response>((_, reject) => {
      input.signal.addEventListener("abort", () => reject(input.signal.reason));
    });
  };
  it.each([
    ["answers 500 to more", () => new Response("Internal Server Error", { status: 500 })],
    ["answers 504 to more", () => new Response("<html>Gateway Time-out</html>", { status: 504 })],
    ["drops the connection at more", () => Promise.reject(new TypeError("fetch failed"))],
    ["never answers to more", never],
  ])("is had whole from a node that takes 20 blocks and %s", async (_, fail) => {
    const { fetchLogs } = node((range, _asked, input) => (blocks(range) > 20 ? fail(input) : null));
    const ask = withLogRanges(URL, 100, fetchLogs, 50);
    expect(await (await ask(request(5, 304))).json()).toEqual(whole(5, 304));
  });

  it("keeps its size while the node is away: the failure is passed on", async () => {
    let isAway = true;
    const { asked, fetchLogs } = node(() => (isAway ? Promise.reject(new TypeError("fetch failed")) : null));
    const ask = withLogRanges(URL, 100, fetchLogs);
    for (let tries = 0; tries < 3; tries++) await expect(ask(request(1, 300))).rejects.toThrow("fetch failed");
    isAway = false;
    asked.length = 0;
    expect(await (await ask(request(1, 300))).json()).toEqual(whole(1, 300));
    expect(asked.map(blocks)).toEqual([100, 100, 100]);
  });

  it("is not asked for any more once who asked has given up", async () => {
    const given = new AbortController();
    const { asked, fetchLogs } = node((_range, _asked, input) => never(input));
    const answer = withLogRanges(URL, 100, fetchLogs)(new Request(request(1, 300), { signal: given.signal }));
    await expect.poll(() => asked.length).toBe(1);
    given.abort(new Error("too late"));
    await expect(answer).rejects.toThrow("too late");
    expect(asked).toHaveLength(1);
  });

  it("of one block that is refused has the node's answer", async () => {
    const { fetchLogs } = node(() => error(-32_000, "no logs today"));
    expect(await (await withLogRanges(URL, 100, fetchLogs)(request(1, 9))).json()).toMatchObject({
      error: { message: "no logs today" },
    });
  });

  it("that is refused as too many requests is left to who asked: it waits", async () => {
    const { asked, fetchLogs } = node(() => new Response("Too Many Requests", { status: 429 }));
    expect((await withLogRanges(URL, 100, fetchLogs)(request(1, 9))).status).toBe(429);
    expect(asked).toHaveLength(1);
  });

  it("of another node, and every other question, goes out as it is", async () => {
    const { fetchLogs } = node(() => null);
    const ask = withLogRanges(URL, 1, fetchLogs);
    const other = new Request(URL, { method: "POST", body: '{"id":1,"method":"eth_chainId","params":[]}' });
    expect(await (await ask(other)).json()).toEqual({ id: 1, result: "0x1" });
  });
});
