/** What the client asks its node, and how often. */
import type { Hex, PublicClient } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ChainView } from "../../../client/chain.ts";
import { newJobId } from "../../../protocol/job-id.ts";

const ESCROW = "0x00000000000000000000000000000000000e5c40";

let chain: ChainView;
beforeEach(() => {
  vi.useFakeTimers();
  chain = new ChainView("http://127.0.0.1:9", ESCROW);
});
afterEach(() => vi.useRealTimers());

/** Lets a fake answer take the place of one of the node's. */
const play = (node: Partial<Record<keyof PublicClient, unknown>>) => Object.assign(chain.client, node);

describe("prices", () => {
  let price: number;
  let reads: number;
  beforeEach(() => {
    price = 8;
    reads = 0;
    play({
      request: async () => "0x1",
      readContract: async ({ functionName }: { functionName: string }) => {
        if (functionName === "modelCount") reads += 1;
        if (functionName !== "modelAt") return 1;
        return {
          number: 1,
          listing: { id: "m", creditsPerRequest: price, creditsPer1kTokens: 8, contextWindow: 4_096 },
        };
      },
    });
  });

  it("that rise are known within a minute, to a process that runs for long", async () => {
    expect(await chain.model("m")).toMatchObject({ creditsPerRequest: 8 });
    price = 9;
    expect(await chain.model("m")).toMatchObject({ creditsPerRequest: 8 });
    vi.advanceTimersByTime(60_000);
    expect(await chain.model("m")).toMatchObject({ creditsPerRequest: 9 });
    expect(reads).toBe(2);
  });

  it("are not read again for each request of a model that does not exist", async () => {
    for (let i = 0; i < 3; i++) expect(await chain.model("none")).toBeNull();
    expect(reads).toBe(1);
  });
});

describe("a node that bounds filter and range", () => {
  const MOST_RANGE = 10_000;
  const HEAD = 50_000n;
  const questions: { topics: number; from: number }[] = [];
  beforeEach(() => {
    questions.length = 0;
    play({
      request: async ({
        params: [{ topics, fromBlock }],
      }: {
        params: [{ topics: [unknown, Hex[]]; fromBlock: Hex }];
      }) => {
        questions.push({ topics: topics[1].length, from: Number(fromBlock) });
        if (Number(HEAD) - Number(fromBlock) > MOST_RANGE) throw new Error("range is too large");
        return [];
      },
    });
    vi.spyOn(chain, "deployment").mockResolvedValue({ windows: { dispute: 40, inclusion: 0 } } as never);
  });

  const watch = (from: bigint) => chain.watch({ jobId: newJobId(), from, isOver: () => true, end: Date.now() + 100 });
  const outcomes = async (looks: Promise<unknown>[]) => {
    const all = Promise.allSettled(looks);
    await vi.advanceTimersByTimeAsync(60_000);
    return (await all).map(({ status }) => status);
  };

  it("is asked for a hundred jobs at once", async () => {
    const looks = Array.from({ length: 250 }, () => watch(HEAD));
    expect(new Set(await outcomes(looks))).toEqual(new Set(["fulfilled"]));
    expect(questions.map(({ topics }) => topics)).toEqual([100, 100, 50]);
  });

  it("tells of new jobs although the service names a block long ago for one of them", async () => {
    expect(await outcomes([watch(HEAD), watch(1n), watch(HEAD - 8n)])).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(questions).toEqual([
      { topics: 1, from: 1 },
      { topics: 2, from: Number(HEAD) - 8 },
    ]);
  });

  it("leaves no dispute unseen without a word: a last look that fails rejects", async () => {
    const end = Date.now() + 40_000;
    const looks = [HEAD, 1n].map((from) => chain.watchDispute({ jobId: newJobId(), from, end }));
    expect(await outcomes(looks)).toEqual(["fulfilled", "rejected"]);
  });

  it("is asked once a second at most, however many replies come", async () => {
    const looks = [];
    for (let i = 0; i < 50; i++) {
      looks.push(chain.watch({ jobId: newJobId(), from: HEAD, isOver: () => true, end: Date.now() + 8_000 }));
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(questions.length).toBeGreaterThanOrEqual(4);
    expect(questions.length).toBeLessThanOrEqual(6);
    expect(new Set(await outcomes(looks))).toEqual(new Set(["fulfilled"]));
  });
});
