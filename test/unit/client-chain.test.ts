/** What the client asks its node, and how often. */
import type { PublicClient } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ChainView } from "../../client/chain.ts";

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
      getChainId: async () => 1,
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
