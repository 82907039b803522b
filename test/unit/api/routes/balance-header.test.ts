/** The header `x-service-credits-remaining` as authentication sets it, and what the chain is asked for it. */
import type { Request, Response } from "express";
import type { Hex } from "viem";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Balances } from "../../../../api/chain/balances.ts";
import { authenticate } from "../../../../api/routes/request.ts";
import { ScriptedNode } from "../chain/balances/scripted-node.ts";

let node: ScriptedNode;
let balances: Balances;
beforeEach(async () => {
  // The clock stands still but for what a test adds to it: the bound is one of a second.
  vi.useFakeTimers({ toFake: ["performance", "setTimeout"] });
  node = new ScriptedNode();
  balances = await node.open();
});
afterEach(() => void vi.useRealTimers());

const walletOf = (number: number): Hex => `0x${number.toString(16).padStart(40, "0")}`;

/** The header's value on an answer to the wallet of the number, whose key is its address. */
async function creditsOf(number: number): Promise<string | undefined> {
  const keys = { owner: async (key: string) => ({ wallet: key, suspended: false, createdAt: new Date() }) };
  const headers = new Map<string, string>();
  const request = { headers: { authorization: `Bearer ${walletOf(number)}` } } as Request;
  const response = { setHeader: (name: string, value: string) => void headers.set(name, value) } as unknown as Response;
  await authenticate(keys, balances)(request, response, () => {});
  return headers.get("x-service-credits-remaining");
}

const creditsOfAll = (first: number, count: number) =>
  Promise.all(Array.from({ length: count }, (_, index) => creditsOf(first + index)));

it("is read from the chain for at most 50 wallets a second", async () => {
  const seen = await creditsOfAll(1, 300);
  expect(seen.slice(0, 50)).toEqual(Array(50).fill("700"));
  expect(seen.slice(50)).toEqual(Array(250).fill(undefined));
  expect(node.asked).toHaveLength(2 * 50);
  vi.advanceTimersByTime(999);
  expect(await creditsOf(301)).toBeUndefined();
  vi.advanceTimersByTime(1);
  expect(await creditsOf(301)).toBe("700");
});

it("is the last balance seen where no more are read", async () => {
  expect(await creditsOf(1)).toBe("700");
  vi.advanceTimersByTime(1_000);
  await creditsOfAll(2, 50);
  node.mine({ free: 1_700, escrowed: 30, sent: 4 });
  expect(await creditsOf(1)).toBe("700");
  vi.advanceTimersByTime(1_000);
  expect(await creditsOf(1)).toBe("1700");
});

it("is read beyond the bound for a wallet that has credits by the index", async () => {
  node.withCredits.add(walletOf(60));
  await creditsOfAll(1, 50);
  expect(await Promise.all([creditsOf(60), creditsOf(61)])).toEqual(["700", undefined]);
});

it("takes nothing from the bound while the wallet's balance is fresh", async () => {
  for (let requests = 0; requests < 60; requests++) expect(await creditsOf(1)).toBe("700");
  await creditsOfAll(2, 49);
  expect(node.asked).toHaveLength(2 * 50);
});

it("does not bound the routes that need the balance", async () => {
  await creditsOfAll(1, 50);
  expect(await balances.current(walletOf(51))).toEqual({ free: 700, escrowed: 30 });
  expect(await creditsOf(51)).toBe("700");
});
