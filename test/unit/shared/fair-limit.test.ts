/** How much work runs at once, who waits, and who is refused. */
import { setImmediate } from "node:timers/promises";
import { beforeEach, expect, it, vi } from "vitest";
import { FairLimit } from "../../../shared/fair-limit.ts";

/** Work that has begun, in order; what ends a piece of it; and what was refused. */
let begun: string[];
let ends: Map<string, PromiseWithResolvers<void>>;
let refused: string[];
beforeEach(() => {
  [begun, ends, refused] = [[], new Map(), []];
});
const refusal = () => new Error("too many");

/** `a1` is the first piece of the owner a. Waits until all that can begin has begun. */
async function ask(limit: FairLimit, names: string, signal?: AbortSignal): Promise<void> {
  for (const name of names.split(" ")) {
    const end = Promise.withResolvers<void>();
    ends.set(name, end);
    const work = () => {
      begun.push(name);
      return end.promise;
    };
    limit.run(name.replace(/\d/g, ""), work, signal && { signal }).catch(() => refused.push(name));
  }
  await setImmediate();
}
async function end(name: string): Promise<void> {
  ends.get(name)?.resolve();
  await setImmediate();
}

it.each([
  ["of one owner", { each: 2, refusal }, "a1 a2 a3 b1", "a1 a2 b1"],
  ["of all", { all: 3, refusal }, "a1 a2 a3 b1", "a1 a2 a3"],
  ["of both", { each: 2, all: 3, refusal }, "a1 a2 a3 b1 b2", "a1 a2 b1"],
])("runs so much at once: %s", async (_what, limits, asked, running) => {
  await ask(new FairLimit(limits), asked);
  expect(begun.join(" ")).toBe(running);
});

it("lets owners take turns", async () => {
  const limit = new FairLimit({ all: 1, refusal });
  await ask(limit, "a1 a2 a3 b1 c1");
  for (const name of ["a1", "a2", "b1", "c1"]) await end(name);
  expect(begun.join(" ")).toBe("a1 a2 b1 c1 a3");
});

it.each([
  ["an owner's beyond its bound", { waitingEach: 2 }, "a1 a2 a3 a4 b1 b2", "a4"],
  ["in a full queue the newest of the owner that has the most", { waiting: 3 }, "a1 a2 a3 a4 b1", "a4"],
])("refuses %s", async (_what, waits, asked, expected) => {
  await ask(new FairLimit({ all: 1, refusal, ...waits }), asked);
  expect(refused.join(" ")).toBe(expected);
});

it("takes work whose signal aborts out of the queue at once", async () => {
  const limit = new FairLimit({ all: 1, waitingEach: 1, refusal });
  const leave = new AbortController();
  await ask(limit, "a1");
  await ask(limit, "a2", leave.signal);
  leave.abort();
  await ask(limit, "a3");
  await ask(limit, "a4", leave.signal);
  await end("a1");
  expect([begun.join(" "), refused.join(" ")]).toEqual(["a1 a3", "a2 a4"]);
});

it("does nothing for a signal that aborts just as the place is free", async () => {
  const limit = new FairLimit({ all: 1, refusal });
  const leave = new AbortController();
  const left = ask(limit, "a1", leave.signal);
  leave.abort();
  await left;
  await ask(limit, "a2");
  expect([begun.join(" "), refused.join(" ")]).toEqual(["a2", "a1"]);
});

it("hands the result over before the rest, and keeps the place until its end", async () => {
  vi.useFakeTimers();
  const limit = new FairLimit({ all: 1, refusal });
  const told: unknown[] = [];
  const restMs = (tookMs: number, result: string | undefined) => {
    told.push([tookMs, result]);
    return 500;
  };
  const work = async () => {
    await vi.advanceTimersByTimeAsync(30);
    return "done";
  };
  expect(await limit.run("a", work, { restMs })).toBe("done");
  const failing = () => limit.run("b", () => Promise.reject(new Error("bad")), { restMs });
  const failed = expect(failing()).rejects.toThrow("bad");
  await vi.advanceTimersByTimeAsync(499);
  expect(told).toEqual([[30, "done"]]);
  await vi.advanceTimersByTimeAsync(1);
  await failed;
  expect(told).toEqual([
    [30, "done"],
    [0, undefined],
  ]);
  vi.useRealTimers();
});
