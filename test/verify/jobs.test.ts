/** What the verifier says about honest jobs, from one node alone; of every kind, see test/verify/audit/audit.test.ts. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { encodeAbiParameters, type Hex, keccak256, pad } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerHash } from "../../protocol/answer-hash.ts";
import { newJobId, toApiJobId } from "../../protocol/job-id.ts";
import { decodeAccountWord, decodeJobWord } from "../../protocol/words.ts";
import { released, type StorageLayout } from "../../scripts/deploy/released.ts";
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
  return { code, job, failing: failing(job.checks) };
};

/** The compiler's slots and our decoders of packed words. First: the account is as these calls leave it. */
describe("real slots", () => {
  /** The word that a mapping of the escrow has under `key`, at the slot of the released layout. */
  const wordOf = async (mapping: string, key: Hex): Promise<bigint> => {
    const { storage, types } = released("InferenceEscrow").storageLayout as StorageLayout;
    const state = storage.find(({ type }) => types[type]?.label === "struct EscrowState");
    const member = types[state?.type ?? ""]?.members?.find(({ label }) => label === mapping);
    const slot = BigInt(state?.slot ?? 0) + BigInt(member?.slot ?? 0);
    const at = keccak256(encodeAbiParameters([{ type: "bytes32" }, { type: "uint256" }], [key, slot]));
    return BigInt((await p.rpc.getStorageAt({ address: p.escrow.address, slot: at })) ?? "0x0");
  };

  it("an account's bits are where the decoder reads them", async () => {
    await p.send(people.client, p.escrow, "setLimits", [true, 5_000, false]);
    const { jobId } = await p.settle();
    await p.dispute(people.gateway, jobId);
    await p.lock();
    const account = await p.read({ ...p.escrow, functionName: "accountOf", args: [people.client.address] });
    expect(account).toMatchObject({ id: 1, escrowed: 8, dailyLimit: 5_000, flags: 2, openDisputes: 1, sequence: 2 });
    expect(decodeAccountWord(await wordOf("accounts", pad(people.client.address)))).toEqual(account);
  });

  it("a job's bits are where the decoder reads them", async () => {
    const { jobId } = await p.settle();
    const job = await p.read({ ...p.escrow, functionName: "jobOf", args: [jobId] });
    expect(job).toMatchObject({
      account: 1,
      worker: 1,
      credits: 8,
      operator: 1,
      attempt: 1,
      status: 4,
      model: 5,
      feeBps: 1_000,
    });
    expect(decodeJobWord(await wordOf("jobs", pad(jobId, { dir: "right" })))).toEqual(job);
  });
});

describe("an honest job", () => {
  it("holds in every respect, and says so in plain words", async () => {
    const { jobId } = await p.settle({ completionTokens: 3_000 }, 4_000);
    const { code, output } = await verifyJob([toApiJobId(jobId), ...at, "--text-file", textFile("answer.txt", ANSWER)]);
    expect(output).toContain("12 credits were charged: the price of 3000 output tokens");
    expect(output).toContain("4 credits came back: charge and return sum to the 16 locked");
    expect(output).toContain(`worker ${workerKey.address} signed the proof`);
    expect(output).toContain("0.108 USDG went to the worker");
    expect(output).toContain("0.012 USDG went to the treasury");
    expect(output).toContain("the text is the one the worker signed");
    expect(output).not.toContain("FAILS");
    expect(output).toMatch(/All \d+ checks hold/);
    expect(code).toBe(0);
  });

  it("may be named by its settlement or its lock, whatever its final newline", async () => {
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

describe("a job with reasoning", () => {
  const counts = { completionTokens: 1_000, reasoningTokens: 2_000 };

  it("pays for both where its operator settled it", async () => {
    const { jobId } = await p.settle(counts, 4_000);
    const { code, output } = await verifyJob([toApiJobId(jobId), ...at]);
    expect(output).toContain("7 prompt tokens, 1000 output tokens and 2000 of reasoning");
    expect(output).toContain("12 credits were charged: the price of 3000 output tokens");
    expect(code).toBe(0);
  });

  it.each([
    [1_000, 16_000, 8],
    [3_000, 3_000, 12],
    [3_000, 2_500, 10],
  ])(
    "that only its worker proved pays for %i tokens of content in %i bytes: %i credits",
    async (completionTokens, textBytes, credits) => {
      const { jobId } = await p.prove(undefined, { completionTokens, reasoningTokens: 2_000, textBytes }, 4_000);
      const { code, output } = await verifyJob([toApiJobId(jobId), ...at]);
      expect(output).toContain(`it charges ${credits} credits from`);
      expect(code).toBe(0);
    },
  );
});

describe("jobs of other kinds", () => {
  it("many in one transaction are each found with their own signature", async () => {
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

  it("proven through a contract that hides calldata is verified by events", async () => {
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
});

describe("a range of blocks", () => {
  it("accounts for every job, every wallet and every token", async () => {
    await p.settle();
    const { code, report } = await verifyJson(["--from-block", "0", ...at]);
    expect(failing(report.checks)).toEqual([]);
    expect(code).toBe(0);
    expect(report.jobs.touched).toBeGreaterThan(0);
    expect(report.credits.deposited).toBe(100_000);
    const [owed, claimable] = await p.read({ ...p.escrow, functionName: "liabilities" });
    expect(report.ledger).toMatchObject({ credits_owed: String(owed), claimable_units: String(claimable) });
  });

  it("may begin in the middle and end before the newest block", async () => {
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
    expect(says).toBe("0.012345 USDG were sent to the escrow without a deposit");
  });
});
