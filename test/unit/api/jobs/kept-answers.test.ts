/** Kept answers are read at a pace: a wallet that paid for a long one once must not take the event loop from everybody else. */
import type { Address } from "viem";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { StoredJob } from "../../../../api/db/jobs.ts";
import { KeptAnswers } from "../../../../api/jobs/kept-answers.ts";
import { newJobId } from "../../../../protocol/job-id.ts";
import { storedJob } from "../../../support/fake-gateway.ts";

const RATE = 1_000;
const [A, B] = [`0x${"a".repeat(40)}`, `0x${"b".repeat(40)}`] as const;
/** A reader that stays. */
const STAYS = new AbortController().signal;

/** Length of the answers; how often the store was asked. */
let length: number;
let asked: number;
let kept: KeptAnswers;
beforeEach(() => {
  vi.useFakeTimers();
  [length, asked] = [500, 0];
  const output = async () => {
    asked += 1;
    return Buffer.alloc(1);
  };
  kept = new KeptAnswers({ output }, { decrypt: () => "x".repeat(length) }, RATE);
});
afterEach(() => void vi.useRealTimers());

const jobOf = (wallet: Address, textBytes = 500): StoredJob => {
  const jobId = newJobId();
  const counts = { promptTokens: 1, completionTokens: 1, reasoningTokens: 0, textBytes, completedAt: 0 };
  const completion = {
    completion: { jobId, proofHash: `0x${"00".repeat(32)}` as const, ...counts },
    finish_reason: "stop",
  };
  return storedJob({ jobId, wallet, worker: wallet, countedTokens: 1, completion: { ...completion, signature: "0x" } });
};

it("one wallet's are read in turn, by their length; another wallet's at once", async () => {
  const read: string[] = [];
  for (const [name, wallet] of Object.entries({ a1: A, a2: A, a3: A, b1: B })) {
    void kept.read(jobOf(wallet), STAYS).then((answer) => read.push(`${name} ${answer?.text.length}`));
  }
  await vi.advanceTimersByTimeAsync(0);
  expect(read).toEqual(["a1 500", "b1 500"]);
  await vi.advanceTimersByTimeAsync(499);
  expect(asked).toBe(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(read).toEqual(["a1 500", "b1 500", "a2 500"]);
  await vi.advanceTimersByTimeAsync(500);
  expect(read).toHaveLength(4);
});

it("long ones of all wallets are read in turns; short ones do not wait for them", async () => {
  const read: string[] = [];
  const long = { a1: A, a2: A, b1: B };
  for (const [name, wallet] of Object.entries(long)) {
    void kept.read(jobOf(wallet, 16 * 1024 + 1), STAYS).then(() => read.push(name));
  }
  await vi.advanceTimersByTimeAsync(0);
  expect(read).toEqual(["a1"]);
  expect(await kept.read(jobOf(`0x${"c".repeat(40)}`, 16 * 1024), STAYS)).not.toBeNull();
  await vi.advanceTimersByTimeAsync(499);
  expect(read).toEqual(["a1"]);
  await vi.advanceTimersByTimeAsync(1);
  expect(read).toEqual(["a1", "b1"]);
  await vi.advanceTimersByTimeAsync(500);
  expect(read).toEqual(["a1", "b1", "a2"]);
});

it("short ones do not wait", async () => {
  length = 0;
  await Promise.all(Array.from({ length: 50 }, () => kept.read(jobOf(A), STAYS)));
  expect(asked).toBe(50);
});

it("for a reader that left before its turn nothing is read", async () => {
  const leaving = new AbortController();
  const [first, second] = [kept.read(jobOf(A), STAYS), kept.read(jobOf(A), leaving.signal)];
  await first;
  leaving.abort();
  await vi.advanceTimersByTimeAsync(500);
  expect([await second, asked]).toEqual([null, 1]);
});

it("readers that leave make room at once", async () => {
  const leaving = new AbortController();
  const left = Array.from({ length: 100 }, () => kept.read(jobOf(A, 100_000), leaving.signal));
  leaving.abort();
  const next = kept.read(jobOf(A, 100_000), STAYS);
  await vi.advanceTimersByTimeAsync(0);
  expect([(await next)?.text.length, new Set(await Promise.all(left)), asked]).toEqual([500, new Set([null]), 1]);
});

it("beyond a hundred that wait, a read is refused, and others go on", async () => {
  for (let n = 0; n < 100; n++) void kept.read(jobOf(A), STAYS);
  await expect(kept.read(jobOf(A), STAYS)).rejects.toMatchObject({
    code: "rate_limited",
    details: { retry_after: 1 },
  });
  expect(await kept.read(jobOf(B), STAYS)).toMatchObject({ text: "x".repeat(500) });
  await vi.advanceTimersByTimeAsync(100 * 500);
  expect(await kept.read(jobOf(A), STAYS)).not.toBeNull();
});

it("goes on after one that could not be read", async () => {
  const broken = new KeptAnswers({ output: () => Promise.reject(new Error("away")) }, { decrypt: () => "" });
  for (const textBytes of [500, 500, 100_000, 100_000]) {
    await expect(broken.read(jobOf(A, textBytes), STAYS)).rejects.toThrow("away");
  }
});
