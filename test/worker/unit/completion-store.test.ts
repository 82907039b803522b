import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import type { Hex } from "viem";
import { afterEach, beforeEach, expect, it } from "vitest";
import { CompletionStore } from "../../../worker/completions/store.ts";

const log = pino({ level: "silent" });
const jobId = (n: number): Hex => `0x${n.toString(16).padStart(32, "0")}`;
const hash: Hex = `0x${"ab".repeat(32)}`;
const record = (n: number, text: string) => ({
  version: 1 as const,
  papers: {
    assignment: { jobId: jobId(n), worker: `0x${"11".repeat(20)}` as const, attempt: 1, acknowledgeBy: 5 },
    gateway: `0x${"22".repeat(20)}` as const,
    byGateway: `0x${"aa".repeat(65)}` as const,
    byWorker: `0x${"bb".repeat(65)}` as const,
  },
  text,
  completion: { jobId: jobId(n), proofHash: hash, promptTokens: 1, completionTokens: 2, completedAt: 7 },
  signature: `0x${"cc".repeat(65)}` as const,
  finishReason: "stop" as const,
});

let folder: string;
let store: CompletionStore;
const reopen = async () => {
  await store.close();
  store = await CompletionStore.open(folder, log);
};

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "completions-"));
  store = await CompletionStore.open(folder, log);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

it("lets a job be taken once, also by two offers at once and after a restart", async () => {
  expect(await Promise.all([store.take(jobId(1)), store.take(jobId(1)), store.take(jobId(2))])).toEqual([
    true,
    false,
    true,
  ]);
  await reopen();
  expect(store.isTaken(jobId(1))).toBe(true);
  expect(await store.take(jobId(1))).toBe(false);
  expect(await store.take(jobId(3))).toBe(true);
});

it("keeps completions until they are erased", async () => {
  await Promise.all([1, 2, 3].map((n) => store.save(record(n, `answer ${n} 🎈`))));
  await reopen();
  expect(await store.read(jobId(2))).toEqual(record(2, "answer 2 🎈"));
  await store.erase(jobId(2));
  await reopen();
  expect(await store.read(jobId(2))).toBeNull();
  expect((await store.heads()).map(({ completion }) => completion.jobId)).toEqual([jobId(1), jobId(3)]);
});

it("forgets what was taken long ago, and nothing else", async () => {
  await store.take(jobId(1));
  await store.save(record(1, "kept"));
  await store.sweep(60);
  expect(store.isTaken(jobId(1))).toBe(true);
  await store.sweep(-2);
  expect(store.isTaken(jobId(1))).toBe(false);
  await reopen();
  expect(store.isTaken(jobId(1))).toBe(false);
  expect(await store.read(jobId(1))).toEqual(record(1, "kept"));
});

it("is nobody else's to read, and of one process at a time", async () => {
  expect(statSync(join(folder, "jobs")).mode & 0o077).toBe(0);
  await expect(CompletionStore.open(folder, log)).rejects.toThrow(/another process has it open/);
});
