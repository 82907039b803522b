/** Long ranges and a wallet's month. `RANGE_JOBS=100000` makes as many jobs, which takes ten minutes. */
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerHash } from "../../protocol/answer-hash.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import type { Check } from "../../verify/checks.ts";
import { failing, verifyJson } from "./support/cli.ts";
import { manyJobs } from "./support/many-jobs.ts";
import { type Protocol, people, startProtocol } from "./support/protocol.ts";

const JOBS = Number(process.env["RANGE_JOBS"] ?? 300);

let p: Protocol;
let at: string[];
beforeAll(async () => {
  p = await startProtocol();
  at = ["--rpc", p.chain.rpcUrl, "--escrow", p.escrow.address];
});
afterAll(() => p?.stop());

describe("a long range", () => {
  it("goes on where it was left, and says what it would have said at once", {
    timeout: Math.max(300_000, 120_000 + 20 * JOBS),
  }, async () => {
    const file = join(p.chain.folder, "progress.json");
    await manyJobs(p, JOBS / 2);
    const jobId = await p.lock();
    const half = await verifyJson(["range", "--progress", file, ...at]);
    expect(half.report.jobs).toEqual({ touched: JOBS / 2 + 1, settled: JOBS / 2, empty: 0, returned: 0, open: 1 });

    const empty = await p.completionOf(jobId, { proofHash: answerHash("") });
    await p.batch(people.gateway, [await p.completeCall(empty)]);
    // No rule is broken, but whoever reads the audit of the job is told.
    const [{ checks }] = (await verifyJson([toApiJobId(jobId), ...at])).report.jobs;
    expect(failing(checks)).toEqual([]);
    expect(checks.find(({ id }: Check) => id === "proof.empty")?.says).toMatch(/answer is empty/);
    await manyJobs(p, JOBS / 2);
    const rest = await verifyJson(["range", "--progress", file, ...at]);
    expect(failing(rest.report.checks)).toEqual([]);
    expect(rest.report.jobs).toEqual({ touched: JOBS + 1, settled: JOBS + 1, empty: 1, returned: 0, open: 0 });
    const whole = await verifyJson(["range", ...at]);
    expect(rest.report).toEqual(whole.report);
    // All is looked at: only the ledger is asked for again.
    expect((await verifyJson(["range", "--progress", file, ...at])).report).toEqual(whole.report);
  });

  it("does not go on from what is of other blocks, of another chain, or damaged", async () => {
    const file = join(p.chain.folder, "other.json");
    const range = ["range", "--progress", file, ...at];
    await verifyJson(range);
    await expect(verifyJson([...range, "--from-block", "1"])).rejects.toThrow(/is no part of 1 to/);
    // The chain is another one from the middle on.
    const snapshot = await p.rpc.snapshot();
    await verifyJson(range);
    await p.later(1);
    await verifyJson(range);
    await p.rpc.revert({ id: snapshot });
    await p.later(100);
    await expect(verifyJson(range)).rejects.toThrow(/the chain has replaced since: delete it and begin again/);
    writeFileSync(file, "{");
    await expect(verifyJson(range)).rejects.toThrow(/other.json cannot be read/);
    rmSync(file);
    await verifyJson(range);
    expect(existsSync(file)).toBe(true);
  });
});

describe("a wallet", () => {
  const month = () => new Date().toISOString().slice(0, 7);

  it("has its account, and each job of the month, audited", async () => {
    await p.lock();
    const { code, report } = await verifyJson(["wallet", people.client.address, "--month", month(), ...at]);
    expect(failing(report.checks)).toEqual([]);
    expect(code).toBe(0);
    expect(report.jobs).toEqual({ audited: 2, settled: 1, open: 1 });
    expect(report.credits).toMatchObject({ locked: 16, charged: 8 });
  });

  it("has no jobs in another month, and still its account", async () => {
    const { report } = await verifyJson(["wallet", people.client.address, "--month", "2020-02", ...at]);
    expect(report.jobs.audited).toBe(0);
    expect(report.holds).toBe(true);
  });
});
