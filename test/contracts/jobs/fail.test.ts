import { expect } from "chai";
import { ethers } from "../support/chain.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { acknowledgedJob, lockJob } from "../support/jobs.ts";
import { CLIENT_CREDITS } from "../support/world.ts";

describe("fail", () => {
  for (const [name, make] of [
    ["locked", lockJob],
    ["acknowledged", acknowledgedJob],
  ] as const) {
    it(`returns the whole escrow of a job that is ${name}`, async () => {
      const { world, escrow, gateway, client, token } = await freshWorld();
      const job = await make(world);
      const failing = escrow.connect(gateway).fail(job.id, 1);
      await expect(failing).to.emit(escrow, "JobFailed").withArgs(job.id, client.address, 1, 80, CLIENT_CREDITS, 0);
      await expectTokens(failing, token, escrow, 0);
      const account = await escrow.accountOf(client.address);
      expect([account.free, account.escrowed]).to.deep.equal([BigInt(CLIENT_CREDITS), 0n]);
      expect((await escrow.jobOf(job.id)).status).to.equal(5);
    });
  }

  it("knows five reasons and refuses a sixth", async () => {
    const { world, escrow, gateway } = await freshWorld();
    for (const reason of [0, 1, 2, 3, 4]) {
      const job = await lockJob(world);
      await expect(escrow.connect(gateway).fail(job.id, reason))
        .to.emit(escrow, "JobFailed")
        .withArgs(job.id, world.client.address, reason, 80, CLIENT_CREDITS, 0);
    }
    const job = await lockJob(world);
    await expect(escrow.connect(gateway).fail(job.id, 5)).to.revert(ethers);
  });

  it("is the operator's that locked the job, of no other operator and nobody else", async () => {
    const world = await freshWorld();
    const { escrow, secondGateway, otherGateway, operatorAdmin, stranger, client, owner, guardian } = world;
    const job = await lockJob(world);
    for (const caller of [otherGateway, operatorAdmin, stranger, client, owner, guardian])
      await expectRevert(escrow.connect(caller).fail(job.id, 0), "Job_NotItsOperator", job.id, caller.address);
    await escrow.connect(secondGateway).fail(job.id, 0);
  });
});
