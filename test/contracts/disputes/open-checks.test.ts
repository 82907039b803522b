/** What a dispute must show: another hash, and what the job's worker stands behind: by its proof on record, or by its signature. */
import { expect } from "chai";
import { signingKey } from "../support/actors.ts";
import { nextBlockAt } from "../support/chain.ts";
import { OTHER_HASH, sendDispute, settledJob } from "../support/disputes.ts";
import { eventsOf } from "../support/events.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { completionOf, type Job, lockJob, otherFields, PROOF_HASH, provenJob, sendComplete } from "../support/jobs.ts";
import { HIGH_S, NO_SIGNATURE, signCompletion } from "../support/sign.ts";
import type { World } from "../support/world.ts";

/** Proven first, and then settled by its gateway. */
async function provenAndSettled(world: World): Promise<Job> {
  const job = await provenJob(world);
  await sendComplete(world, job);
  return job;
}

const origins: [string, (world: World) => Promise<Job>][] = [
  ["settled", settledJob],
  ["proven", (world) => provenJob(world)],
];
for (const [name, enter] of origins) {
  describe(`A dispute of a ${name} job`, () => {
    it("needs another hash than the signed one", async () => {
      const world = await freshWorld();
      const job = await enter(world);
      for (const by of [world.gateway, world.client])
        await expectRevert(sendDispute(world, job, { by, receivedHash: PROOF_HASH }), "Dispute_SameHash", job.id);
    });

    it("can say that nothing was received", async () => {
      const world = await freshWorld();
      const job = await enter(world);
      await expect(sendDispute(world, job, { receivedHash: NO_SIGNATURE.r })).to.emit(world.escrow, "JobDisputed");
    });
  });
}

describe("A dispute of a proven job", () => {
  for (const [name, enter] of [
    ["not settled yet", (world: World) => provenJob(world)],
    ["settled by its gateway since", provenAndSettled],
  ] as const) {
    it(`needs no signature: the worker's proof is on record (${name})`, async () => {
      const { world, escrow, worker } = await freshWorld();
      const job = await enter(world);
      const [opened] = await eventsOf(sendDispute(world, job, { signature: NO_SIGNATURE }), escrow, "JobDisputed");
      expect(opened?.args.worker).to.equal(worker.key.address);
    });
  }

  it("looks at no signature, whatever it is", async () => {
    const world = await freshWorld();
    const job = await provenJob(world);
    const signature = await signCompletion(world.escrow, signingKey("nobody"), completionOf(job));
    await expect(sendDispute(world, job, { signature })).to.emit(world.escrow, "JobDisputed");
  });

  it("is about the proven Completion, not about another one, signed by its worker or not", async () => {
    const world = await freshWorld();
    const job = await provenJob(world);
    for (const change of otherFields(job)) {
      for (const options of [change, { ...change, signature: NO_SIGNATURE }])
        await expectRevert(sendDispute(world, job, options), "Settlement_OtherCompletion", job.id);
    }
  });
});

describe("A dispute of a settled job", () => {
  it("is opened with what JobSettled says: counts, time and the worker's signature", async () => {
    const { world, escrow, client } = await freshWorld();
    const job = await lockJob(world);
    await nextBlockAt(job.lockedAt + 20);
    const [settled] = await eventsOf(sendComplete(world, job), escrow, "JobSettled");
    const { proofHash, usage, r, vs } = settled?.args.toObject() ?? {};
    const field = (shift: bigint, bits: bigint) => Number((usage >> shift) & ((1n << bits) - 1n));
    const completion = {
      jobId: job.id,
      proofHash,
      promptTokens: field(0n, 32n),
      completionTokens: field(32n, 32n),
      completedAt: field(96n, 40n),
    };
    await expect(escrow.connect(client).openDispute(OTHER_HASH, completion, { r, vs })).to.emit(escrow, "JobDisputed");
  });

  it("needs the signature of the job's worker, not of a rival or an unregistered key", async () => {
    const { world, escrow, rival } = await freshWorld();
    const job = await settledJob(world);
    for (const key of [rival.key, signingKey("nobody")]) {
      const signature = await signCompletion(escrow, key, completionOf(job));
      await expectRevert(sendDispute(world, job, { signature }), "Job_NotTheWorker", job.id, key.address);
    }
  });

  it("takes no field of the Completion but the signed one", async () => {
    const { world, escrow, worker, client } = await freshWorld();
    const job = await settledJob(world);
    const signature = await signCompletion(escrow, worker.key, completionOf(job));
    for (const change of otherFields(job)) {
      await expect(
        sendDispute(world, job, { ...change, by: client, signature }),
        Object.keys(change).join(),
      ).to.be.revertedWithCustomError(escrow, "Job_NotTheWorker");
    }
  });

  it("takes no signature of another job of the same worker", async () => {
    const { world, escrow, worker } = await freshWorld();
    const [job, other] = [await settledJob(world), await settledJob(world)];
    const signature = await signCompletion(escrow, worker.key, completionOf(other));
    await expectRevert(sendDispute(world, job, { signature }), "Job_NotTheWorker");
  });

  it("takes no proof of another job: a digest is its own job's", async () => {
    const world = await freshWorld();
    const [job, other] = [await settledJob(world), await provenJob(world)];
    await expect(
      world.escrow.connect(world.gateway).openDispute(OTHER_HASH, completionOf(job), NO_SIGNATURE),
    ).to.be.revertedWithCustomError(world.escrow, "ECDSAInvalidSignature");
    await expectRevert(sendDispute(world, other, { jobId: job.id, signature: NO_SIGNATURE }), "ECDSAInvalidSignature");
  });

  it("takes no malleable or empty signature", async () => {
    const world = await freshWorld();
    const job = await settledJob(world);
    await expectRevert(
      sendDispute(world, job, { signature: { r: OTHER_HASH, vs: HIGH_S } }),
      "ECDSAInvalidSignatureS",
      HIGH_S,
    );
    await expectRevert(sendDispute(world, job, { signature: NO_SIGNATURE }), "ECDSAInvalidSignature");
  });
});
