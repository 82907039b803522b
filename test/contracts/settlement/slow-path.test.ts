import { expect } from "chai";
import { type Hex, zeroHash } from "viem";
import { decodeUsageWord } from "../../../protocol/words.ts";
import { jobId } from "../support/actors.ts";
import { nextBlockAt } from "../support/chain.ts";
import { eventsOf, expectRevert, expectTokens, usageWith } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import {
  acknowledgedJob,
  completionOf,
  otherFields,
  PROOF_HASH,
  provenJob,
  sendComplete,
  sendFinalize,
  sendProof,
  settledValues,
  storedJob,
} from "../support/jobs.ts";
import { signCompletion } from "../support/sign.ts";
import { CLIENT_CREDITS, RESERVE_CREDITS } from "../support/world.ts";

describe("submitProof", () => {
  it("records the worker's proof, whoever brings it, and pays nobody yet", async () => {
    const { world, escrow, worker, client, token } = await freshWorld();
    const job = await acknowledgedJob(world);
    await nextBlockAt(job.lockedAt + 30);
    const proving = sendProof(world, job, { sender: client });
    const { jobId: _, proofHash: __, ...signed } = completionOf(job);
    const usage = usageWith({ ...signed, billedTokens: 3_000 });
    await expect(proving)
      .to.emit(escrow, "JobProven")
      .withArgs(job.id, worker.key.address, PROOF_HASH, usage, 60, job.lockedAt + 30 + 3_600);
    await expectTokens(proving, token, escrow, 0);
    expect(await storedJob(world, job.id)).to.include({ status: 3n, credits: 80n, deadline: 3_630n });
    const [digest, credits] = await escrow.proofOf(job.id);
    expect([digest.length, credits]).to.deep.equal([2 + 56, 60n]);
    expect((await escrow.accountOf(client.address)).escrowed).to.equal(80);
  });

  it("is the acknowledged worker's: no rival, no unregistered key, no changed text", async () => {
    const { world, escrow, worker, rival } = await freshWorld();
    const job = await acknowledgedJob(world);
    await expectRevert(sendProof(world, job, { worker: rival }), "Job_NotTheWorker", job.id, rival.key.address);
    const signature = await signCompletion(escrow, worker.key, completionOf(job));
    const refused = escrow.submitProof(completionOf(job, { completionTokens: 4_000 }), signature);
    await expectRevert(refused, "Job_NotTheWorker");
  });
});

describe("A proven job costs its content alone, at most a token a byte", () => {
  // Content, reasoning, bytes; what is billed and charged.
  const cases = [
    [3_000, 0, 2_999, 2_999, 60],
    [3_000, 0, 3_000, 3_000, 60],
    [3_000, 0, 3_001, 3_000, 60],
    [3_001, 0, 3_001, 3_001, 61],
    [3_001, 0, 3_000, 3_000, 60],
    [2_000, 1_000, 12_000, 2_000, 40],
    [0, 4_000, 12_000, 0, 40],
    [4_000_000_000, 0, 5, 5, 40],
    [4_000_000_000, 4_294_967_295, 2_001, 2_001, 41],
    [4_294_967_295, 4_294_967_295, 4_294_967_295, 4_294_967_295, 80],
  ] as const;
  for (const [completionTokens, reasoningTokens, textBytes, billedTokens, credits] of cases) {
    const signed = { completionTokens, reasoningTokens, textBytes };
    it(`${completionTokens} tokens, ${reasoningTokens} of reasoning, ${textBytes} bytes`, async () => {
      const { world, escrow } = await freshWorld();
      const job = await acknowledgedJob(world);
      const [proven] = await eventsOf(sendProof(world, job, signed), escrow, "JobProven");
      expect(decodeUsageWord(proven?.args.usage)).to.include({ ...signed, billedTokens });
      expect(proven?.args.credits).to.equal(credits);
      expect((await escrow.proofOf(job.id)).credits).to.equal(credits);
      await nextBlockAt(Number(proven?.args.finalizeFrom));
      const [settled] = await eventsOf(sendFinalize(world, job, signed), escrow, "JobSettled");
      expect(decodeUsageWord(settled?.args.usage)).to.include({ ...signed, billedTokens });
      expect(settled?.args.credits).to.equal(credits);
    });
  }

  it("its operator can still settle it with the reasoning that it counted", async () => {
    const { world, escrow } = await freshWorld();
    const signed = { completionTokens: 2_000, reasoningTokens: 1_000 };
    const job = await provenJob(world, signed);
    const [settled] = await eventsOf(
      sendComplete(world, job, { ...signed, countedTokens: 3_000 }),
      escrow,
      "JobSettled",
    );
    expect(decodeUsageWord(settled?.args.usage).billedTokens).to.equal(3_000);
    expect(settled?.args.credits).to.equal(60);
  });
});

describe("finalize", () => {
  it("is open to anyone 3,600 s after the proof, not a second sooner", async () => {
    const { world, escrow } = await freshWorld();
    const job = await provenJob(world);
    await nextBlockAt(job.finalizeFrom - 1);
    await expectRevert(sendFinalize(world, job), "Job_TooEarly", job.id, job.finalizeFrom, job.finalizeFrom - 1);
    await nextBlockAt(job.finalizeFrom);
    await sendFinalize(world, job);
    expect((await escrow.jobOf(job.id)).status).to.equal(4);
  });

  it("charges and pays what the proof said", async () => {
    const { world, escrow, token, treasury, worker } = await freshWorld();
    const job = await provenJob(world);
    // The event has the digest on record where a completed job's has the signature.
    const [digest] = await escrow.proofOf(job.id);
    await nextBlockAt(job.finalizeFrom);
    const finalizing = sendFinalize(world, job);
    await expectTokens(finalizing, token, [escrow, worker.payout, treasury], [-600_000n, 540_000n, 60_000n]);
    await expect(finalizing)
      .to.emit(escrow, "JobSettled")
      .withArgs(...(await settledValues(world, job, { r: digest.padEnd(66, "0") as Hex, vs: zeroHash })));
    expect(await escrow.liabilities()).to.deep.equal([BigInt(RESERVE_CREDITS + CLIENT_CREDITS - 60), 0n]);
  });

  it("takes the proven Completion and no other", async () => {
    const world = await freshWorld();
    const job = await provenJob(world);
    await nextBlockAt(job.finalizeFrom);
    for (const other of otherFields(job))
      await expectRevert(sendFinalize(world, job, other), "Settlement_OtherCompletion", job.id);
  });

  it("pays the address the worker has named by then", async () => {
    const { world, token, registry, worker, workerOwner, stranger } = await freshWorld();
    const job = await provenJob(world);
    await registry.connect(workerOwner).setPayout(worker.key.address, stranger.address);
    await nextBlockAt(job.finalizeFrom);
    await expectTokens(sendFinalize(world, job), token, stranger.address, 540_000n);
  });

  it("knows no proof of an unknown job", async () => {
    const { escrow } = await freshWorld();
    expect(await escrow.proofOf(jobId())).to.deep.equal([`0x${"0".repeat(56)}`, 0n]);
  });
});
