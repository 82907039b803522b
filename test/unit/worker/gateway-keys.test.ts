/** Whose gateways a worker knows: anyone can send it offers that made-up keys have signed. */
import type { Address } from "viem";
import { expect, it } from "vitest";
import { type Chain, ChainReader } from "../../../worker/chain.ts";

const key = (n: number): Address => `0x${n.toString(16).padStart(40, "0")}`;
const GATEWAY = key(1);

/** A chain on which one key signs, for operator 7. */
function chain() {
  const asked: string[] = [];
  const readContract = async ({ args: [key] }: { args: [string] }) => {
    asked.push(key);
    return [key === GATEWAY ? 7 : 0, 0];
  };
  const of = { deployment: { contracts: { InferenceEscrow: key(99) } }, client: { readContract }, node: {} };
  return { chain: of as unknown as Chain, asked };
}

/** So many made-up keys, of which some are not looked up. */
const flood = (reader: ChainReader) =>
  Promise.allSettled(Array.from({ length: 200 }, (_, n) => reader.operatorOf(key(1_000 + n))));

it("a gateway's key is read once, and told of", async () => {
  const { chain: node, asked } = chain();
  const told: unknown[] = [];
  const reader = new ChainReader(node, new Map(), (...one) => told.push(one));
  expect([await reader.operatorOf(GATEWAY), await reader.operatorOf(GATEWAY)]).toEqual([7, 7]);
  expect([asked, told]).toEqual([[GATEWAY], [[GATEWAY, 7]]]);
});

it("one from before the start is known, however many made-up keys are asked for", async () => {
  const { chain: node, asked } = chain();
  const reader = new ChainReader(node, new Map([[GATEWAY, 7]]));
  const looked = await flood(reader);
  expect(looked.some(({ status }) => status === "rejected")).toBe(true);
  expect(await reader.operatorOf(GATEWAY)).toBe(7);
  expect(asked).not.toContain(GATEWAY);
});
