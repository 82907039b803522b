import { expect } from "chai";
import { type Hex, zeroHash } from "viem";
import { jobId } from "../support/actors.ts";
import { nextBlockAt } from "../support/chain.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import {
  acknowledgedJob,
  completionOf,
  otherFields,
  PROOF_HASH,
  provenJob,
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
    await expect(proving)
      .to.emit(escrow, "JobProven")
      .withArgs(job.id, worker.key.address, PROOF_HASH, 12, 3_000, job.lockedAt + 1, 60, job.lockedAt + 30 + 3_600);
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
