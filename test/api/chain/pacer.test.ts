import { expect, test } from "vitest";
import { sendRate } from "../../../api/chain/index-watch.ts";
import { Pacer } from "../../../api/chain/queue.ts";

test("a burst goes out at once, the rest at the rate", () => {
  const pacer = new Pacer(125, 2, 0);
  expect([pacer.take(0), pacer.take(0), pacer.take(0)]).toEqual([0, 0, 8]);
  expect(pacer.take(7)).toBe(1);
  expect(pacer.take(8)).toBe(0);
});

test("a new rate holds from its moment on and keeps what was saved", () => {
  const pacer = new Pacer(125, 2, 0);
  pacer.take(0);
  pacer.take(0);
  pacer.setRate(250, 4);
  expect(pacer.take(4)).toBe(2);
  expect(pacer.take(6)).toBe(0);
  pacer.setRate(125, 6);
  expect(pacer.take(6)).toBe(8);
});

test("sending is slowed down only as far as the index is behind, and never stopped", () => {
  expect([0, 8, 9, 32, 33, 1_000_000].map((behind) => sendRate(behind, 15))).toEqual([1_000, 1_000, 45, 45, 15, 15]);
});
