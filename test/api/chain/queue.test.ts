import { describe, expect, it } from "vitest";
import { BATCH_RESERVE, GAS_CEILING, type OperationKind } from "../../../api/chain/operations.ts";
import { OperationQueue, type Pending } from "../../../api/chain/queue.ts";

const item = (kind: OperationKind, deadline: number, queuedAt = 0): Pending => ({
  operation: { kind, jobId: `0x${deadline.toString(16).padStart(32, "0")}`, data: "0x", deadline },
  queuedAt,
  tries: 0,
});
const kinds = (items: Pending[]) => items.map(({ operation }) => operation.kind);

function queueOf(...items: Pending[]): OperationQueue {
  const queue = new OperationQueue();
  for (const each of items) queue.push(each);
  return queue;
}

describe("the next batch", () => {
  it("serves the earliest deadline first", () => {
    const queue = queueOf(item("complete", 30), item("refund", 10), item("acknowledge", 20));
    expect(kinds(queue.take(10_000_000n))).toEqual(["refund", "acknowledge", "complete"]);
    expect(queue.size).toBe(0);
  });

  it("puts locks last among equals", () => {
    expect(kinds(queueOf(item("lock", 10), item("complete", 10)).take(10_000_000n))).toEqual(["complete", "lock"]);
  });

  it("stays within its gas, to the unit", () => {
    const two = BATCH_RESERVE + 2n * GAS_CEILING.complete;
    const completes = () => queueOf(...Array.from({ length: 5 }, (_, i) => item("complete", i)));
    expect(completes().take(two)).toHaveLength(2);
    expect(completes().take(two - 1n)).toHaveLength(1);
  });

  it("keeps half of its gas for waiting completions, however urgent the locks are", () => {
    const locks = Array.from({ length: 100 }, (_, i) => item("lock", i));
    const completes = Array.from({ length: 100 }, (_, i) => item("complete", 1_000 + i));
    const budget = 8_000_000n;
    const taken = queueOf(...locks, ...completes).take(budget + BATCH_RESERVE);
    const gasOf = (kind: OperationKind) =>
      BigInt(kinds(taken).filter((each) => each === kind).length) * GAS_CEILING[kind];
    expect(gasOf("lock")).toBeLessThanOrEqual(budget / 2n);
    expect(gasOf("complete")).toBeGreaterThan(budget / 2n - GAS_CEILING.complete);
  });

  it("gives locks all of it when nothing else waits", () => {
    const locks = Array.from({ length: 40 }, (_, i) => item("lock", i));
    expect(queueOf(...locks).take(BATCH_RESERVE + 40n * GAS_CEILING.lock)).toHaveLength(40);
  });

  it("moves even when one item exceeds the limit", () => {
    expect(queueOf(item("complete", 1)).take(1n)).toHaveLength(1);
  });

  it("loses nothing over several batches", () => {
    const queue = queueOf(...Array.from({ length: 300 }, (_, i) => item(i % 3 === 0 ? "complete" : "lock", i % 7)));
    let taken = 0;
    while (queue.size > 0) taken += queue.take(3_000_000n).length;
    expect(taken).toBe(300);
  });
});

it("the age of the queue is the oldest item's, whatever its deadline", () => {
  expect(queueOf(item("lock", 1, 900), item("complete", 2, 400)).age(1_000)).toBe(600);
  expect(queueOf().age(1_000)).toBe(0);
});
