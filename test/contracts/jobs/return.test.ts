/** Jobs whose whole escrow goes back. */
import { expect } from "chai";
import { ethers, nextBlockAt } from "../support/chain.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshWorld } from "../support/fresh.ts";
import { acknowledgedJob, lockJob } from "../support/jobs.ts";
import { CLIENT_CREDITS, type World } from "../support/world.ts";

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
      const refused = escrow.connect(caller(world)).refund(job.id);
      await expectRevert(refused, "Job_TooEarly", job.id, job.lockedAt + from, job.lockedAt + from - 1);
      await nextBlockAt(job.lockedAt + from);
      const sent = escrow.connect(caller(world)).refund(job.id);
      await expect(sent).to.emit(escrow, "JobRefunded").withArgs(job.id, client.address, 80, CLIENT_CREDITS, 0);
      expect((await escrow.jobOf(job.id)).status).to.equal(6);
    });
  }
});
