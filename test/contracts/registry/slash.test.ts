/** What a slash takes, from whom, and on whose word. */
import { expect } from "chai";
import { jobId } from "../support/actors.ts";
import { actingAs, ethers, nextBlockAt, now } from "../support/chain.ts";
import { disputedJob, Ruling, sendEquivocation, sendRuling } from "../support/disputes.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { acknowledgedJob, lockJob, sendAcknowledge, sendComplete } from "../support/jobs.ts";
import { stakeTermsInForce, topUp } from "../support/stake.ts";
import { STAKE_UNIT, type World } from "../support/world.ts";

const MINIMUM = 1_000_000_000n;
const SLASH = 500_000_000n;

async function asEscrow(world: World) {
  return world.registry.connect(await actingAs(world.escrow));
}

describe("A slash", () => {
  it("takes the stake of the job's worker alone, and sends it to the treasury", async () => {
    const { world, registry, svc, treasury, worker, rival } = await freshWorld();
    const job = await acknowledgedJob(world);
    const slashing = (await asEscrow(world)).slash(job.id, true);
    await expect(slashing)
      .to.emit(registry, "WorkerSlashed")
      .withArgs(worker.id, worker.key.address, job.id, 4, SLASH, MINIMUM - SLASH, true);
    await expectTokens(slashing, svc, [registry, treasury], [-SLASH * STAKE_UNIT, SLASH * STAKE_UNIT]);
    expect((await registry.workerAt(rival.id)).stake).to.equal(MINIMUM);
    expect(await registry.slashOf(job.id)).to.deep.equal([BigInt(worker.id), true]);
  });

  it("names a job, not a worker: without a worker in the job there is nobody to slash", async () => {
    const { world, registry } = await freshWorld();
    const mine = await asEscrow(world);
    for (const id of [jobId(), (await lockJob(world)).id]) {
      await expectRevert(mine.slash(id, false), "Registry_UnknownWorker", ethers.ZeroAddress);
      expect(await registry.slashOf(id)).to.deep.equal([0n, false]);
    }
  });

  it("happens once a job, also when nothing was left to take", async () => {
    const { world, registry, worker } = await freshWorld();
    const jobs = [await acknowledgedJob(world), await acknowledgedJob(world), await acknowledgedJob(world)] as const;
    const mine = await asEscrow(world);
    for (const { id } of jobs) await mine.slash(id, false);
    expect((await registry.workerAt(worker.id)).stake).to.equal(0);
    expect(await registry.slashOf(jobs[2].id)).to.deep.equal([BigInt(worker.id), false]);
    for (const { id } of jobs) await expectRevert(mine.slash(id, true), "Registry_AlreadySlashed", id);
  });

  for (const [name, slash, added, full] of [
    ["exactly the amount is left", SLASH, 0n, true],
    ["a millionth more is left", SLASH, 1n, true],
    ["a millionth less is left", SLASH + 1n, 1n, false],
  ] as const) {
    it(`takes ${full ? "the amount" : "what there is"} when ${name}`, async () => {
      const { world, registry, worker } = await freshWorld();
      await stakeTermsInForce(world, MINIMUM, slash);
      const [first, second] = [await acknowledgedJob(world), await acknowledgedJob(world)];
      const mine = await asEscrow(world);
      await mine.slash(first.id, false);
      await topUp(world, added);
      const left = MINIMUM - slash + added;
      const taken = full ? slash : left;
      await expect(mine.slash(second.id, false))
        .to.emit(registry, "WorkerSlashed")
        .withArgs(worker.id, worker.key.address, second.id, added === 0n ? 5 : 6, taken, left - taken, false);
      expect((await registry.slashOf(second.id)).full).to.equal(full);
    });
  }

  for (const [name, next] of [
    ["rise", MINIMUM],
    ["fall", 1n],
  ] as const) {
    it(`takes the amount in force at the lock, a second before a ${name} and at it`, async () => {
      const { world, registry, worker } = await freshWorld();
      await topUp(world, MINIMUM);
      const at = (await now()) + 1;
      await nextBlockAt(at);
      await registry.scheduleStakeTerms(MINIMUM, next);
      const changeAt = at + Number(await registry.unbondingPeriod());
      await nextBlockAt(changeAt - 1);
      const before = await lockJob(world);
      await nextBlockAt(changeAt);
      const after = await lockJob(world);
      for (const job of [before, after]) await sendAcknowledge(world, job);
      expect(await registry.slashAmount()).to.equal(next);
      const left = 2n * MINIMUM - SLASH;
      await expect(sendEquivocation(world, before))
        .to.emit(registry, "WorkerSlashed")
        .withArgs(worker.id, worker.key.address, before.id, 5, SLASH, left, true);
      await expect(sendEquivocation(world, after))
        .to.emit(registry, "WorkerSlashed")
        .withArgs(worker.id, worker.key.address, after.id, 6, next, left - next, true);
      expect(await registry.slashOf(before.id)).to.deep.equal([BigInt(worker.id), true]);
    });
  }

  it("puts the worker out of work at once, and its open jobs can still be paid", async () => {
    const { world, escrow, registry, worker } = await freshWorld();
    const open = await acknowledgedJob(world);
    const offered = await lockJob(world);
    const job = await disputedJob(world, { by: world.client });
    await sendRuling(world, job, Ruling.WorkerAtFault);
    expect((await registry.workerAt(worker.id)).active).to.equal(false);
    expect(await registry.payeeOf(worker.key.address, 1)).to.equal(0);
    for (const attempt of [() => sendAcknowledge(world, offered), () => sendComplete(world, offered)])
      await expectRevert(attempt(), "Job_WorkerNotEligible", worker.key.address, 1);
    await expect(sendComplete(world, open)).to.emit(escrow, "JobSettled");
  });

  for (const [added, active] of [
    [SLASH, true],
    [SLASH - 1n, false],
  ] as const) {
    it(`leaves ${active ? "at" : "out of"} work who is ${active ? "at" : "below"} the minimum`, async () => {
      const { world, registry, worker } = await freshWorld();
      await topUp(world, added);
      await (await asEscrow(world)).slash((await acknowledgedJob(world)).id, false);
      const { stake, active: isActive } = await registry.workerAt(worker.id);
      expect([stake, isActive]).to.deep.equal([MINIMUM + added - SLASH, active]);
      const next = await lockJob(world);
      if (active) await sendAcknowledge(world, next);
      else await expectRevert(sendAcknowledge(world, next), "Job_WorkerNotEligible");
    });
  }
});
