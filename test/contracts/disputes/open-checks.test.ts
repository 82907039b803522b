/** What a dispute must show: another hash, and what the job's worker signed for this job. */
import { expect } from "chai";
import type { Hex } from "viem";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { signingKey } from "../support/actors.ts";
import { OTHER_HASH, provenJob, sendDispute, settledJob } from "../support/disputes.ts";
import { freshWorld } from "../support/fresh.ts";
import { completionOf, type Job, PROOF_HASH } from "../support/jobs.ts";
import { signCompletion } from "../support/sign.ts";
import type { World } from "../support/world.ts";

const ZERO: Hex = `0x${"0".repeat(64)}`;
const origins: [string, (world: World) => Promise<Job>][] = [
  ["settled", settledJob],
  ["proven", (world) => provenJob(world)],
];

for (const [name, enter] of origins) {
  describe(`A dispute of a ${name} job`, () => {
    it("needs another hash than the signed one", async () => {
      const world = await freshWorld();
      const job = await enter(world);
      for (const by of [world.gateway, world.client]) {
        await expect(sendDispute(world, job, { by, receivedHash: PROOF_HASH }))
          .to.be.revertedWithCustomError(world.escrow, "Dispute_SameHash")
          .withArgs(job.id);
      }
    });

    it("can say that nothing was received", async () => {
      const world = await freshWorld();
      const job = await enter(world);
      await expect(sendDispute(world, job, { receivedHash: ZERO })).to.emit(world.escrow, "JobDisputed");
    });

    it("needs the signature of the job's worker, not of a rival or an unregistered key", async () => {
      const world = await freshWorld();
      const { escrow, rival, gateway } = world;
      const job = await enter(world);
      for (const key of [rival.key, signingKey("nobody")]) {
        const signature = await signCompletion(escrow, key, completionOf(job));
        await expect(escrow.connect(gateway).openDispute(OTHER_HASH, completionOf(job), signature))
          .to.be.revertedWithCustomError(escrow, "Job_NotTheWorker")
          .withArgs(job.id, key.address);
      }
    });

    it("takes no field of the Completion but the signed one", async () => {
      const world = await freshWorld();
      const { escrow, worker, client } = world;
      const job = await enter(world);
      const signature = await signCompletion(escrow, worker.key, completionOf(job));
      const changes = [
        { proofHash: answerHash("a third text") },
        { promptTokens: 13 },
        { completionTokens: 2_999 },
        { completedAt: job.lockedAt + 2 },
      ];
      for (const change of changes) {
        await expect(
          escrow.connect(client).openDispute(OTHER_HASH, completionOf(job, change), signature),
          Object.keys(change).join(),
        ).to.be.revertedWithCustomError(escrow, "Job_NotTheWorker");
      }
    });

    it("takes no signature of another job of the same worker", async () => {
      const world = await freshWorld();
      const { escrow, worker, gateway } = world;
      const [job, other] = [await enter(world), await enter(world)];
      const signature = await signCompletion(escrow, worker.key, completionOf(other));
      await expect(
        escrow.connect(gateway).openDispute(OTHER_HASH, completionOf(job), signature),
      ).to.be.revertedWithCustomError(escrow, "Job_NotTheWorker");
    });

    it("takes no malleable or empty signature", async () => {
      const world = await freshWorld();
      const { escrow, gateway } = world;
      const job = await enter(world);
      // One above half the order of the curve.
      const highS = "0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a1";
      const mine = escrow.connect(gateway);
      await expect(mine.openDispute(OTHER_HASH, completionOf(job), { r: OTHER_HASH, vs: highS }))
        .to.be.revertedWithCustomError(escrow, "ECDSAInvalidSignatureS")
        .withArgs(highS);
      await expect(
        mine.openDispute(OTHER_HASH, completionOf(job), { r: ZERO, vs: ZERO }),
      ).to.be.revertedWithCustomError(escrow, "ECDSAInvalidSignature");
    });
  });
}

describe("A dispute of a proven job", () => {
  it("is about the proven Completion, not about another one of the same worker", async () => {
    const world = await freshWorld();
    const job = await provenJob(world);
    await expect(sendDispute(world, job, { proofHash: answerHash("a third text") }))
      .to.be.revertedWithCustomError(world.escrow, "Settlement_OtherCompletion")
      .withArgs(job.id);
  });
});
