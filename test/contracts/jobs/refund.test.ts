import { expect } from "chai";
import { nextBlockAt } from "../support/chain.ts";
import { freshWorld } from "../support/fresh.ts";
import { lockJob } from "../support/jobs.ts";
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
      const { world, escrow, client } = await freshWorld();
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
});
