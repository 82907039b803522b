import { expect } from "chai";
import { jobId } from "../support/actors.ts";
import { nextBlockAt } from "../support/chain.ts";
import { freshWorld } from "../support/fresh.ts";
import { acknowledgedJob, lockJob, provenJob } from "../support/jobs.ts";
import { CLIENT_CREDITS, type World } from "../support/world.ts";

describe("refund", () => {
  const boundaries: [string, number, (world: World) => World["gateway"]][] = [
    ["its gateway", 120, (world) => world.gateway],
    ["another signer of its operator", 120, (world) => world.secondGateway],
    ["a signer of another operator", 150, (world) => world.otherGateway],
    ["its operator's admin", 150, (world) => world.operatorAdmin],
    ["a stranger", 150, (world) => world.stranger],
    ["the client itself", 150, (world) => world.client],
  ];
  for (const [who, from, caller] of boundaries) {
    it(`is open to ${who} from ${from} s on, not a second sooner`, async () => {
      const world = await freshWorld();
      const { escrow, client } = world;
      const job = await lockJob(world);
      await nextBlockAt(job.lockedAt + from - 1);
      await expect(escrow.connect(caller(world)).refund(job.id))
        .to.be.revertedWithCustomError(escrow, "Job_TooEarly")
        .withArgs(job.id, job.lockedAt + from, job.lockedAt + from - 1);
      await nextBlockAt(job.lockedAt + from);
      await expect(escrow.connect(caller(world)).refund(job.id))
        .to.emit(escrow, "JobRefunded")
        .withArgs(job.id, client.address, 80, CLIENT_CREDITS, 0);
      expect((await escrow.jobOf(job.id)).status).to.equal(6);
    });
  }

  it("returns an acknowledged job's escrow too", async () => {
    const world = await freshWorld();
    const { escrow, client, stranger } = world;
    const job = await acknowledgedJob(world);
    await nextBlockAt(job.lockedAt + 150);
    await escrow.connect(stranger).refund(job.id);
    const account = await escrow.accountOf(client.address);
    expect([account.free, account.escrowed]).to.deep.equal([BigInt(CLIENT_CREDITS), 0n]);
  });

  it("returns a job's credits once", async () => {
    const world = await freshWorld();
    const { escrow, stranger } = world;
    const job = await lockJob(world);
    await nextBlockAt(job.lockedAt + 150);
    await escrow.connect(stranger).refund(job.id);
    await expect(escrow.connect(stranger).refund(job.id))
      .to.be.revertedWithCustomError(escrow, "Job_WrongState")
      .withArgs(job.id, 6);
  });

  it("never touches a proven job, however late", async () => {
    const world = await freshWorld();
    const job = await provenJob(world);
    await nextBlockAt(job.lockedAt + 1_000_000);
    for (const caller of [world.gateway, world.stranger]) {
      await expect(world.escrow.connect(caller).refund(job.id))
        .to.be.revertedWithCustomError(world.escrow, "Job_WrongState")
        .withArgs(job.id, 3);
    }
  });

  it("works while paused", async () => {
    const world = await freshWorld();
    const job = await lockJob(world);
    await world.escrow.connect(world.guardian).setPaused(true);
    await nextBlockAt(job.lockedAt + 150);
    await world.escrow.connect(world.stranger).refund(job.id);
  });

  it("knows no job that was never locked", async () => {
    const { escrow, gateway, stranger } = await freshWorld();
    const id = jobId();
    for (const caller of [gateway, stranger]) {
      await expect(escrow.connect(caller).refund(id))
        .to.be.revertedWithCustomError(escrow, "Job_WrongState")
        .withArgs(id, 0);
    }
  });
});
