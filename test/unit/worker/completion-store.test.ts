import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import pino from "pino";
import type { Hex } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { newJobId } from "../../../protocol/job-id.ts";
import { answerCipher, CompletionStore, countStored } from "../../../worker/store.ts";

const log = pino({ level: "silent" });
const cipher = answerCipher(`0x${"5e".repeat(32)}`);
const jobId = (n: number): Hex => `0x${n.toString(16).padStart(32, "0")}`;
/** A job made at this time. */
const jobOf = (milliseconds: number): Hex => newJobId(milliseconds);
const hash: Hex = `0x${"ab".repeat(32)}`;
const record = (n: number, text: string) => ({
  agreement: {
    assignment: { jobId: jobId(n), worker: `0x${"11".repeat(20)}` as const, attempt: 1, acknowledgeBy: 5 },
    gateway: `0x${"22".repeat(20)}` as const,
    byGateway: `0x${"aa".repeat(65)}` as const,
    byWorker: `0x${"bb".repeat(65)}` as const,
  },
  text,
  completion: {
    jobId: jobId(n),
    proofHash: hash,
    promptTokens: 1,
    completionTokens: 2,
    reasoningTokens: 0,
    textBytes: Buffer.byteLength(text),
    completedAt: 7,
  },
  signature: `0x${"cc".repeat(65)}` as const,
  finishReason: "stop" as const,
  finishedAt: 1_900_000_000,
});

let folder: string;
let store: CompletionStore;
const reopen = async () => {
  await store.close();
  store = await CompletionStore.open(folder, { cipher, log });
};

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "completions-"));
  store = await CompletionStore.open(folder, { cipher, log });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

it("knows the keys of gateways after a restart, of each escrow apart", async () => {
  const [escrow, other] = [`0x${"E5".repeat(20)}`, `0x${"E6".repeat(20)}`] as const;
  await store.addGateway(escrow, `0x${"Aa".repeat(20)}`, 1);
  await store.addGateway(other, `0x${"Bb".repeat(20)}`, 2);
  await store.take(jobId(1));
  await reopen();
  expect([...(await store.gateways(escrow))]).toEqual([[`0x${"aa".repeat(20)}`, 1]]);
  expect(store.isTaken(jobId(1))).toBe(true);
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

it("hides answers without the key, and settles what another key wrote", async () => {
  await store.save(record(1, "nobody else's business"));
  await store.close();
  const disk = readdirSync(join(folder, "jobs")).map((file) => readFileSync(join(folder, "jobs", file)));
  expect(disk.some((bytes) => bytes.includes(jobId(1)))).toBe(true);
  expect(disk.some((bytes) => bytes.includes("nobody else") || bytes.includes(btoa("nobody else")))).toBe(false);

  const other = answerCipher(`0x${"07".repeat(32)}`);
  store = await CompletionStore.open(folder, { cipher: other, log });
  expect(await store.heads()).toHaveLength(1);
  await expect(store.read(jobId(1))).rejects.toThrow(/cannot be decrypted/);
  await reopen();
  expect((await store.read(jobId(1)))?.text).toBe("nobody else's business");
});

it("reads what a worker before version 2 wrote", async () => {
  await store.close();
  const db = new ClassicLevel<string, string>(join(folder, "jobs"));
  const { agreement: papers, ...head } = record(1, "plain");
  await db.put(`completion/${jobId(1)}`, JSON.stringify({ ...head, papers, version: 1 }));
  await db.close();
  store = await CompletionStore.open(folder, { cipher, log });
  expect(await store.read(jobId(1))).toEqual(record(1, "plain"));
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

describe("the answers counted without a worker", () => {
  it("are those that are stored", async () => {
    await Promise.all([1, 2, 3].map((n) => store.save(record(n, "waits"))));
    await store.take(jobId(4));
    await store.erase(jobId(2));
    await store.close();
    expect(await countStored(folder)).toEqual({ count: 2, unknown: null });
    store = await CompletionStore.open(folder, { cipher, log });
    expect((await store.heads()).length).toBe(2);
  });

  it("are none before the first start, and unknown while a worker has the store open", async () => {
    expect(await countStored(join(folder, "nothing"))).toEqual({ count: 0, unknown: null });
    expect(existsSync(join(folder, "nothing"))).toBe(false);
    expect(await countStored(folder)).toEqual({ count: null, unknown: expect.stringContaining("another process") });
  });

  it("are not written by another user, whose files it could not read", async () => {
    await store.save(record(1, "answer"));
    await store.close();
    const files = () => readdirSync(join(folder, "jobs")).sort();
    const before = files();
    const owner = statSync(folder).uid;
    const who = vi.spyOn(process, "getuid").mockReturnValue(owner + 1);
    try {
      expect(await countStored(folder)).toEqual({
        count: null,
        unknown: expect.stringContaining(`sudo -u '#${owner}'`),
      });
      expect(files()).toEqual(before);
    } finally {
      who.mockRestore();
    }
    expect(await countStored(folder)).toEqual({ count: 1, unknown: null });
    store = await CompletionStore.open(folder, { cipher, log });
  });
});

it("waits for whoever only counts", async () => {
  await store.close();
  const counting = new ClassicLevel<string, string>(join(folder, "jobs"));
  await counting.open();
  const opening = CompletionStore.open(folder, { cipher, log });
  await counting.close();
  store = await opening;
  expect(await store.take(jobId(1))).toBe(true);
});

it("is nobody else's to read, and of one process at a time", async () => {
  expect(statSync(join(folder, "jobs")).mode & 0o077).toBe(0);
  await expect(CompletionStore.open(folder, { cipher, log })).rejects.toThrow(/another process has it open/);
});

it("refuses a second Completion of a job, also after a restart", async () => {
  const other = { ...record(1, "other"), completion: { ...record(1, "").completion, completionTokens: 3 } };
  await store.save(record(1, "first"));
  await expect(store.save(other)).rejects.toThrow(/another completion/);
  await reopen();
  await expect(store.save(other)).rejects.toThrow(/another completion/);
  await store.save(record(1, "first"));
  expect(await store.read(jobId(1))).toEqual(record(1, "first"));
  const second = { ...other, completion: { ...other.completion, jobId: jobId(2) } };
  const both = await Promise.allSettled([store.save(record(2, "one")), store.save(second)]);
  expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  expect(await store.read(jobId(2))).toEqual(record(2, "one"));
});

describe("a damaged store", () => {
  const manifest = () =>
    join(folder, "jobs", readdirSync(join(folder, "jobs")).find((name) => name.startsWith("MANIFEST")) ?? "");

  it("is repaired; jobs from before are not taken again, also after another restart", async () => {
    const [before, after] = [jobOf(Date.now() - 1_000), jobOf(Date.now() + 60_000)];
    await store.save(record(1, "kept"));
    await store.close();
    writeFileSync(manifest(), "garbage");
    store = await CompletionStore.open(folder, { cipher, log });
    expect(await store.read(jobId(1))).toEqual(record(1, "kept"));
    expect([await store.take(before), await store.take(after)]).toEqual([false, true]);
    await reopen();
    expect(await store.take(before)).toBe(false);
  });

  it("that cannot be repaired says what to do", async () => {
    await store.close();
    rmSync(manifest());
    await expect(CompletionStore.open(folder, { cipher, log })).rejects.toThrow(
      /cannot be opened: .*MANIFEST.* What to do: .*move it away/,
    );
    rmSync(join(folder, "jobs"), { recursive: true });
    store = await CompletionStore.open(folder, { cipher, log });
  });
});
