/** What the verifier says about honest jobs of every kind, from one node alone. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { zeroAddress } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerHash } from "../../protocol/answer-hash.ts";
import { newJobId, toApiJobId } from "../../protocol/job-id.ts";
import { failing, verifyJob, verifyJson } from "./support/cli.ts";
import { ANSWER, otherWorkerKey, type Protocol, people, Ruling, startProtocol, workerKey } from "./support/protocol.ts";

let p: Protocol;
let at: string[];
beforeAll(async () => {
  p = await startProtocol();
  at = ["--rpc", p.chain.rpcUrl, "--escrow", p.escrow.address];
});
afterAll(() => p?.stop());

const textFile = (name: string, text: string) => {
  const file = join(p.chain.folder, name);
  writeFileSync(file, text);
  return file;
};
const verify = async (jobId: `0x${string}`) => {
  const { code, report } = await verifyJson([toApiJobId(jobId), ...at]);
  const [job] = report.jobs;
  return { code, job, failing: failing(job.checks), ids: job.checks.map(({ id }: { id: string }) => id) };
};

describe("an honest job", () => {
  it("holds in every respect, and says so in plain words", async () => {
    const { jobId } = await p.settle({ completionTokens: 3_000 }, 4_000);
    const { code, output } = await verifyJob([toApiJobId(jobId), ...at, "--text-file", textFile("answer.txt", ANSWER)]);
    expect(output).toContain("12 credits were charged: the price of 3000 output tokens");
    expect(output).toContain("4 credits came back: charge and return sum to the 16 locked");
    expect(output).toContain(`worker ${workerKey.address} signed the proof`);
    expect(output).toContain("108000 token units went to the worker");
    expect(output).toContain("12000 token units went to the treasury");
    expect(output).toContain("the text is the one the worker signed");
    expect(output).not.toContain("FAILS");
    expect(output).toMatch(/All \d+ checks hold/);
    expect(code).toBe(0);
  });

  it("may be named by its settlement or its lock; a final newline of an editor does not matter", async () => {
    const { jobId, receipt } = await p.settle();
    const file = textFile("newline.txt", `${ANSWER}\n`);
    const { code, report } = await verifyJson([receipt.transactionHash, ...at, "--text-file", file]);
    expect(code).toBe(0);
    expect(report.jobs).toMatchObject([
      { job_id: toApiJobId(jobId), status: "settled", credits_charged: 8, holds: true },
    ]);
    expect((await verifyJson([report.jobs[0].escrow_tx, ...at])).report.jobs[0].job_id).toBe(toApiJobId(jobId));
  });

  it("fails in one thing when one byte of its text was altered", async () => {
    const { jobId } = await p.settle();
    const file = textFile("altered.txt", ANSWER.replace("honest", "hanest"));
    const { code, report } = await verifyJson([toApiJobId(jobId), ...at, "--text-file", file]);
    expect(code).toBe(1);
    expect(failing(report.jobs[0].checks)).toEqual(["proof.text"]);
  });
});

describe("jobs of other kinds", () => {
  it("many in one transaction: each is found in the batch, with the signature that is its own", async () => {
    const ids = [newJobId(), newJobId(), newJobId()] as const;
    await p.batch(
      people.gateway,
      ids.map((id) => p.lockCall(id)),
    );
    const completions = await Promise.all(
      ids.map((id, i) => p.completionOf(id, { proofHash: answerHash(`answer ${i}`), completionTokens: 700 + i })),
    );
    const calls = await Promise.all(
      completions.map((one, i) => p.completeCall(one, i === 1 ? otherWorkerKey : workerKey)),
    );
    // The second item is spoiled by a wrong attempt-holder: its job stays open while the others settle.
    const { transactionHash } = await p.batch(people.gateway, [
      calls[0],
      p.lockCall(ids[0]),
      calls[1],
      calls[2],
    ] as typeof calls);
    const { code, report } = await verifyJson([transactionHash, ...at]);
    expect(report.jobs.map(({ job_id }: { job_id: string }) => job_id)).toEqual(ids.map(toApiJobId));
    expect(report.jobs.flatMap((job: { checks: [] }) => failing(job.checks))).toEqual([]);
    expect(report.jobs[1].worker).toBe(otherWorkerKey.address);
    expect(code).toBe(0);
  });

  it("open, failed, proven: what holds so far, and that more can follow", async () => {
    const open = await p.lock();
    expect(await verify(open)).toMatchObject({ code: 0, failing: [], job: { status: "pending", open: true } });
    await p.batch(people.gateway, [{ functionName: "fail", args: [open, 1] }]);
    expect(await verify(open)).toMatchObject({
      code: 0,
      failing: [],
      job: { status: "failed", open: false, credits_charged: 0 },
    });
    const { jobId } = await p.prove();
    const proven = await verify(jobId);
    expect(proven).toMatchObject({ code: 0, failing: [], job: { status: "settling", open: true } });
    expect(proven.ids).toContain("proof.signature");
  });

  it("disputed by the wallet and ruled: votes, slash, compensation and bond are recomputed", async () => {
    const { jobId } = await p.settle({ completionTokens: 3_000 }, 4_000);
    await p.dispute(people.client, jobId);
    expect(await verify(jobId)).toMatchObject({ code: 0, failing: [], job: { status: "disputed", open: true } });
    await p.settle();
    await p.vote(jobId, Ruling.WorkerAtFault);
    const ruled = await verify(jobId);
    expect(ruled).toMatchObject({ code: 0, failing: [], job: { status: "refunded" } });
    expect(ruled.ids).toEqual(
      expect.arrayContaining(["dispute.quorum", "dispute.outcome", "dispute.compensation", "slash.amount"]),
    );
  });

  it("disputed by the operator and joined by the wallet: its reserve pays", async () => {
    const { jobId } = await p.settle();
    await p.dispute(people.gateway, jobId);
    await p.join(jobId);
    await p.vote(jobId, Ruling.GatewayAtFault);
    const ruled = await verify(jobId);
    expect(ruled).toMatchObject({ code: 0, failing: [], job: { status: "refunded" } });
    expect(ruled.ids).toEqual(expect.arrayContaining(["dispute.party", "dispute.quorum", "dispute.compensation"]));
  });

  it("proven through a contract that hides the calldata: the events suffice to verify and to dispute it", async () => {
    const { jobId } = await p.prove(await p.forwarder(people.stranger));
    expect(await verify(jobId)).toMatchObject({ code: 0, failing: [], job: { status: "settling", open: true } });
    await p.dispute(people.client, jobId);
    await p.vote(jobId, Ruling.GatewayAtFault);
    expect(await verify(jobId)).toMatchObject({
      code: 0,
      failing: [],
      job: { status: "refunded", credits_charged: 0 },
    });
  });

  it("proven, doubted by the operator and found honest: its bond is the worker's, and the proof is finalized", async () => {
    const { jobId, completion } = await p.prove();
    await p.dispute(people.gateway, jobId);
    expect(await verify(jobId)).toMatchObject({ code: 0, failing: [], job: { status: "disputed", open: true } });
    await p.join(jobId, completion.proofHash);
    await p.vote(jobId, Ruling.Rejected);
    expect(await verify(jobId)).toMatchObject({ code: 0, failing: [], job: { status: "settling", open: true } });
    await p.send(people.stranger, p.escrow, "finalize", [completion]);
    expect(await verify(jobId)).toMatchObject({ code: 0, failing: [], job: { status: "settled", credits_charged: 8 } });
  });

  it("equivocation: slashed without a vote, the fee paid back, and the charge disputed without a bond", async () => {
    const { jobId, completion } = await p.settle();
    const other = { ...completion, proofHash: answerHash("another answer") };
    const { signature } = await p.signedIn(jobId);
    await p.send(people.stranger, p.escrow, "proveEquivocation", [
      completion,
      signature,
      other,
      await p.sign(workerKey, "Completion", other),
    ]);
    const found = await verify(jobId);
    expect(found).toMatchObject({ code: 0, failing: [], job: { status: "settled" } });
    expect(found.ids).toContain("equivocation.slash");
    await p.dispute(people.client, jobId);
    await p.vote(jobId, Ruling.WorkerAtFault);
    const ruled = await verify(jobId);
    expect(ruled).toMatchObject({ code: 0, failing: [], job: { status: "refunded" } });
    expect(ruled.ids).toContain("dispute.compensation");
  });

  it("locked with the authorization of the wallet's own key", async () => {
    const key = privateKeyToAccount(generatePrivateKey());
    await p.send(people.client, p.escrow, "setAuthorizationKey", [key.address]);
    const jobId = await p.lockAuthorized(key);
    expect(await verify(jobId)).toMatchObject({ code: 0, failing: [], job: { status: "pending" } });
    await p.batch(people.gateway, [await p.completeCall(await p.completionOf(jobId))]);
    expect(await verify(jobId)).toMatchObject({ code: 0, failing: [], job: { status: "settled", credits_charged: 8 } });
    await p.send(people.client, p.escrow, "setAuthorizationKey", [zeroAddress]);
  });

  // Moves the clock: after everything that needs a job's windows open.
  it("refunded by a stranger, finalized by a stranger, expired without a ruling", async () => {
    const refunded = await p.lock();
    const proven = await p.prove();
    const disputed = await p.settle();
    await p.dispute(people.gateway, disputed.jobId);
    await p.later(150);
    await p.send(people.stranger, p.escrow, "refund", [refunded]);
    expect(await verify(refunded)).toMatchObject({
      code: 0,
      failing: [],
      job: { status: "refunded", credits_charged: 0 },
    });
    await p.later(3_600);
    await p.send(people.stranger, p.escrow, "finalize", [proven.completion]);
    const finalized = await verify(proven.jobId);
    expect(finalized).toMatchObject({ code: 0, failing: [], job: { status: "settled", credits_charged: 8 } });
    expect(finalized.ids).toEqual(expect.arrayContaining(["proof.signature", "settlement.time", "payout.worker"]));
    await p.later(86_400);
    await p.send(people.stranger, p.escrow, "expire", [disputed.jobId]);
    const expired = await verify(disputed.jobId);
    expect(expired).toMatchObject({ code: 0, failing: [], job: { status: "settled" } });
    expect(expired.ids).toEqual(expect.arrayContaining(["dispute.expiry", "compensation.tokens"]));
  });
});

describe("a range of blocks", () => {
  it("accounts for every job, every wallet and every token", async () => {
    const { code, report } = await verifyJson(["--from-block", "0", ...at]);
    expect(failing(report.checks)).toEqual([]);
    expect(code).toBe(0);
    expect(report.jobs.touched).toBeGreaterThan(10);
    expect(report.credits.deposited).toBe(100_000);
    const [owed, claimable] = await p.read({ ...p.escrow, functionName: "liabilities" });
    expect(report.ledger).toMatchObject({ credits_owed: String(owed), claimable_units: String(claimable) });
  });

  it("may begin in the middle and end before the newest block; tokens given away are named", async () => {
    const middle = (await p.rpc.getBlockNumber({ cacheTime: 0 })) + 1n;
    await p.settle();
    await p.send(people.client, p.token, "mint", [p.escrow.address, 12_345n]);
    const end = await p.rpc.getBlockNumber({ cacheTime: 0 });
    await p.settle();
    const range = ["--from-block", String(middle), "--to-block", String(end), "--span", "1"];
    const { code, report } = await verifyJson([...range, ...at]);
    expect(failing(report.checks)).toEqual([]);
    expect(code).toBe(0);
    expect(report.jobs).toMatchObject({ settled: 1 });
    const { says } = report.checks.find(({ id }: { id: string }) => id === "tokens.surplus");
    expect(says).toBe("12345 token units were sent to the escrow without a deposit");
  });
});
