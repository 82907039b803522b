import { expect } from "chai";
import { signingKey } from "../support/actors.ts";
import { ethers, mineAt, now } from "../support/chain.ts";
import { expectRevert } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { acknowledgedJob, lockJob, sendAcknowledge } from "../support/jobs.ts";
import { MODEL, OTHER_MODEL, registerWorker, STAKE_UNIT } from "../support/world.ts";

describe("acknowledge needs an eligible worker", () => {
  it("refuses a key that is not registered", async () => {
    const world = await freshWorld();
    const job = await lockJob(world);
    const key = signingKey("nobody");
    await expect(sendAcknowledge(world, job, { worker: { ...world.worker, key } }))
      .to.be.revertedWithCustomError(world.escrow, "Job_WorkerNotEligible")
      .withArgs(key.address, MODEL);
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
