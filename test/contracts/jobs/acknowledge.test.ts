import { expect } from "chai";
import { signingKey } from "../support/actors.ts";
import { ethers, mineAt, nextBlockAt, now } from "../support/chain.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { acknowledgedJob, acknowledgement, lockJob, sendAcknowledge, storedJob } from "../support/jobs.ts";
import { NO_SIGNATURE, signAcknowledgement, signAssignment } from "../support/sign.ts";
import { MODEL, OTHER_MODEL, registerWorker, STAKE_UNIT } from "../support/world.ts";

describe("acknowledge", () => {
  it("gives the job to the worker, whoever sends it", async () => {
    const { world, escrow, worker, client } = await freshWorld();
    const job = await lockJob(world);
    const before = await storedJob(world, job.id);
    const sent = sendAcknowledge(world, job, { sender: client });
    await expect(sent).to.emit(escrow, "JobAcknowledged").withArgs(job.id, worker.key.address, 1);
    expect(await storedJob(world, job.id)).to.deep.equal({
      ...before,
      worker: BigInt(worker.id),
      attempt: 1n,
      status: 2n,
    });
  });

  it("passes to another worker under a higher attempt only", async () => {
    const { world, escrow, rival, worker } = await freshWorld();
    const job = await acknowledgedJob(world, { attempt: 2 });
    for (const attempt of [0, 1, 2]) {
      const refused = sendAcknowledge(world, job, { worker: rival, attempt });
      await expectRevert(refused, "Job_AttemptTaken", job.id, attempt, 2);
    }
    const sent = sendAcknowledge(world, job, { worker: rival, attempt: 3 });
    await expect(sent).to.emit(escrow, "JobAcknowledged").withArgs(job.id, rival.key.address, 3);
    // The first worker cannot win it back with its old Assignment.
    await expectRevert(sendAcknowledge(world, job, { worker, attempt: 2 }), "Job_AttemptTaken", job.id, 2, 3);
    expect((await escrow.jobOf(job.id)).worker).to.equal(rival.id);
  });

  it("can be renewed by the same worker under a higher attempt", async () => {
    const world = await freshWorld();
    const job = await acknowledgedJob(world);
    const sent = sendAcknowledge(world, job, { attempt: 255 });
    await expect(sent).to.emit(world.escrow, "JobAcknowledged").withArgs(job.id, world.worker.key.address, 255);
  });

  it("refuses attempt 0: the first is 1", async () => {
    const world = await freshWorld();
    const job = await lockJob(world);
    await expectRevert(sendAcknowledge(world, job, { attempt: 0 }), "Job_AttemptTaken", job.id, 0, 0);
  });

  it("is mined before acknowledgeBy, not at it", async () => {
    const world = await freshWorld();
    const job = await lockJob(world);
    const acknowledgeBy = job.lockedAt + 60;
    await nextBlockAt(acknowledgeBy - 1);
    await sendAcknowledge(world, job, { acknowledgeBy });
    await nextBlockAt(acknowledgeBy);
    const refused = sendAcknowledge(world, job, { acknowledgeBy, attempt: 2 });
    await expectRevert(refused, "Job_TooLate", job.id, acknowledgeBy, acknowledgeBy);
  });

  it("needs the Assignment of a signer of the job's own operator", async () => {
    const { world, escrow, otherGateway, operatorAdmin, stranger } = await freshWorld();
    const job = await lockJob(world);
    for (const assignedBy of [otherGateway, operatorAdmin, stranger])
      await expectRevert(sendAcknowledge(world, job, { assignedBy }), "Job_NotAssigned", job.id, assignedBy.address);
    const [assignment, byGateway, byWorker] = await acknowledgement(world, job);
    const changed = { ...assignment, acknowledgeBy: assignment.acknowledgeBy + 1 };
    await expectRevert(escrow.acknowledge(changed, byGateway, byWorker), "Job_NotAssigned");
  });

  it("takes a signer's own call for its Assignment, and nobody else's", async () => {
    const { world, escrow, gateway, secondGateway, otherGateway, stranger, worker } = await freshWorld();
    const job = await lockJob(world);
    const [assignment, , byWorker] = await acknowledgement(world, job);
    for (const caller of [otherGateway, stranger]) {
      const refused = escrow.connect(caller).acknowledge(assignment, NO_SIGNATURE, byWorker);
      await expectRevert(refused, "ECDSAInvalidSignature");
    }
    await expect(
      escrow.connect(gateway).acknowledge(assignment, NO_SIGNATURE, NO_SIGNATURE),
    ).to.be.revertedWithCustomError(escrow, "ECDSAInvalidSignature");
    const sent = escrow.connect(secondGateway).acknowledge(assignment, NO_SIGNATURE, byWorker);
    await expect(sent).to.emit(escrow, "JobAcknowledged").withArgs(job.id, worker.key.address, 1);
  });

  it("lets a signer of another operator relay the right Assignment like any stranger", async () => {
    const world = await freshWorld();
    const job = await lockJob(world);
    await sendAcknowledge(world, job, { sender: world.otherGateway });
    expect((await world.escrow.jobOf(job.id)).status).to.equal(2);
  });

  it("needs the signature of the assigned worker over this job and attempt", async () => {
    const { world, escrow, worker, rival, gateway } = await freshWorld();
    const job = await lockJob(world);
    const other = await lockJob(world);
    const assignment = { jobId: job.id, worker: worker.key.address, attempt: 1, acknowledgeBy: job.lockedAt + 60 };
    const byGateway = await signAssignment(escrow, gateway, assignment);
    const wrong = [
      await signAcknowledgement(escrow, rival.key, { jobId: job.id, attempt: 1 }),
      await signAcknowledgement(escrow, worker.key, { jobId: other.id, attempt: 1 }),
      await signAcknowledgement(escrow, worker.key, { jobId: job.id, attempt: 2 }),
    ];
    for (const byWorker of wrong)
      await expectRevert(escrow.acknowledge(assignment, byGateway, byWorker), "Job_NotTheWorker");
  });
});

describe("acknowledge needs an eligible worker", () => {
  it("refuses a key that is not registered", async () => {
    const world = await freshWorld();
    const job = await lockJob(world);
    const key = signingKey("nobody");
    const refused = sendAcknowledge(world, job, { worker: { ...world.worker, key } });
    await expectRevert(refused, "Job_WorkerNotEligible", key.address, MODEL);
  });

  it("refuses a worker that does not host the model", async () => {
    const world = await freshWorld();
    const worker = await registerWorker(world, "specialist", { models: [OTHER_MODEL] });
    const job = await lockJob(world);
    await expectRevert(sendAcknowledge(world, job, { worker }), "Job_WorkerNotEligible", worker.key.address, MODEL);
    await acknowledgedJob(world, { worker, model: OTHER_MODEL });
  });

  it("refuses a worker below the minimum stake, also when the minimum rises", async () => {
    const { world, registry, worker } = await freshWorld();
    const minimum = await registry.minimumStake();
    await registry.scheduleStakeTerms(minimum + 1n, 1n);
    await mineAt(BigInt(await now()) + (await registry.unbondingPeriod()));
    const job = await lockJob(world);
    await expectRevert(sendAcknowledge(world, job), "Job_WorkerNotEligible", worker.key.address, MODEL);
    await world.svc.connect(world.owner).approve(registry, STAKE_UNIT);
    await registry.connect(world.owner).addStake(worker.key.address, 1n);
    await sendAcknowledge(world, job);
  });

  it("keeps an acknowledged job with a worker that unbonds afterwards", async () => {
    const { world, registry, worker, workerOwner } = await freshWorld();
    const job = await acknowledgedJob(world);
    await registry.connect(workerOwner).startUnbonding(worker.key.address);
    await expect(sendAcknowledge(world, job)).not.to.revert(ethers);
  });
});
