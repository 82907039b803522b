/** An account near 2^40 - 1 credits: what comes back to it is never cut or lost, and what is in escrow always finds room to return. */

import { expect } from "chai";
import { books } from "../support/books.ts";
import { nextBlockAt } from "../support/chain.ts";
import { CHARGE_UNITS, disputedJob, Ruling, sendEquivocation, sendRuling, settledJob } from "../support/disputes.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshWorld, freshWorldWithoutReserve } from "../support/fresh.ts";
import { type Job, lockJob } from "../support/jobs.ts";
import { buyCredits, OPERATOR, provide, RESERVE_CREDITS, type World } from "../support/world.ts";

const MOST = 2n ** 40n - 1n;

/** The client has `room` credits less than an account can hold, free and escrowed ones together, of which 80 are a job's escrow. */
async function almostFull(world: World, room: bigint): Promise<Job> {
  const { escrow, client } = world;
  const open = await lockJob(world);
  const { free, escrowed } = await escrow.accountOf(client.address);
  expect(escrowed).to.equal(80);
  await buyCredits(world, client, Number(MOST - room - free - escrowed));
  return open;
}

const balances = async ({ escrow, client }: World) => {
  const { free, escrowed } = await escrow.accountOf(client.address);
  return { free, escrowed, waiting: await escrow.claimableOf(client.address) };
};

describe("A compensation to an account that is almost full, with a job in escrow", () => {
  for (const [room, credits] of [
    [60n, 60n],
    [59n, 59n],
    [10n, 10n],
    [0n, 0n],
  ] as const) {
    it(`becomes ${credits} credits where ${room} have room beside the escrow, and tokens to claim for the rest`, async () => {
      const { world, escrow, token, treasury, stranger } = await freshWorldWithoutReserve();
      await token.mint(treasury, CHARGE_UNITS);
      const job = await disputedJob(world);
      const open = await almostFull(world, room);
      await sendRuling(world, job, Ruling.GatewayAtFault);
      const waiting = CHARGE_UNITS - credits * 10_000n;
      expect(await balances(world)).to.deep.equal({ free: MOST - 80n - room + credits, escrowed: 80n, waiting });
      // The escrow still finds room to return.
      await nextBlockAt(open.lockedAt + 150);
      await escrow.connect(stranger).refund(open.id);
      expect(await balances(world)).to.deep.equal({ free: MOST - room + credits, escrowed: 0n, waiting });
      await books(world);
    });
  }

  it("comes from the operator as far as there is room; the treasury's rest waits as tokens", async () => {
    const { world, escrow, client, token, treasury } = await freshWorld();
    await token.mint(treasury, CHARGE_UNITS);
    const job = await disputedJob(world);
    await almostFull(world, 25n);
    const ruling = sendRuling(world, job, Ruling.GatewayAtFault);
    await expect(ruling)
      .to.emit(escrow, "OperatorCharged")
      .withArgs(job.id, client.address, client.address, 25, MOST - 80n, 80);
    await expect(ruling)
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, client.address, 350_000, 0, MOST - 80n, 80);
    expect(await balances(world)).to.deep.equal({ free: MOST - 80n, escrowed: 80n, waiting: 350_000n });
    expect((await escrow.operatorOf(OPERATOR)).reserve).to.equal(RESERVE_CREDITS - 25);
    await books(world);
  });

  it("of a fee waits as tokens, too", async () => {
    const world = await freshWorld();
    const job = await settledJob(world);
    await almostFull(world, 0n);
    await sendEquivocation(world, job);
    expect(await balances(world)).to.deep.equal({ free: MOST - 80n, escrowed: 80n, waiting: 60_000n });
    await books(world);
  });
});

describe("A deposit to an account that is almost full", () => {
  it("is taken to the last credit and not above, escrowed ones counted", async () => {
    const { world, escrow, client, token } = await freshWorld();
    await almostFull(world, 100n);
    await provide(world, client, 10_000_000n);
    await expectRevert(escrow.connect(client).deposit(101, 0), "SafeCastOverflowedUintDowncast", 40, MOST + 1n);
    await expectTokens(escrow.connect(client).deposit(100, 0), token, client, -1_000_000n);
    expect((await balances(world)).free).to.equal(MOST - 80n);
  });
});
