/** A treasury that is short: what arrives is credited, the rest is a debt that anyone can have paid. */
import { expect } from "chai";
import { someAddress } from "../support/actors.ts";
import { books } from "../support/books.ts";
import { DAY, ethers, mineAt, nextBlockAt, now } from "../support/chain.ts";
import {
  CHARGE_UNITS,
  disputedJob,
  disputedProvenJob,
  FEE_UNITS,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendExpire,
  sendRuling,
  sendVote,
  settledJob,
  WORKER_UNITS,
} from "../support/disputes.ts";
import { eventsOf, expectRevert, expectTokens } from "../support/expect.ts";
import { freshWorld, freshWorldWithoutReserve } from "../support/fresh.ts";
import { type Job, lockJob, sendComplete } from "../support/jobs.ts";
import { addSigners, CLIENT_CREDITS, fundReserve, type World } from "../support/world.ts";

/** 50 stablecoin units: a quarter of the cap of a day, for the jobs of one operator. */
const ALLOWANCE = 50_000_000n;

/** Governance spent all the treasury had. */
async function drain({ treasury, token }: World): Promise<void> {
  await treasury.pay(token, someAddress("elsewhere"), await token.balanceOf(treasury));
}

/** A client that is owed 60 credits by a treasury with `units`. */
async function owed(units: bigint) {
  const world = await freshWorldWithoutReserve();
  const job = await disputedJob(world);
  await drain(world);
  if (units !== 0n) await world.token.mint(world.treasury, units);
  return { world, job, ruling: sendRuling(world, job, Ruling.GatewayAtFault) };
}

const debtOf = async ({ escrow }: World, { id }: { id: string }) => {
  const { granted, paid } = await escrow.compensationOf(id);
  return granted - paid;
};

describe("A treasury without money", () => {
  it("does not stop the ruling: all of it is a debt, and nothing is credited", async () => {
    const { world, job, ruling } = await owed(0n);
    const { escrow, client, stranger } = world;
    await expect(ruling)
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, client.address, 0, CHARGE_UNITS, true, CLIENT_CREDITS - 60, 0);
    expect((await escrow.jobOf(job.id)).status).to.equal(6);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([CHARGE_UNITS, 0n, false]);
    await books(world);
    const refused = escrow.connect(stranger).collectDebt(job.id);
    await expectRevert(refused, "Dispute_NothingPaid", job.id, CHARGE_UNITS, ALLOWANCE);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([CHARGE_UNITS, 0n, false]);
  });

  it("pays later, in parts, whoever asks, until nothing is owed", async () => {
    const { world, job, ruling } = await owed(0n);
    await ruling;
    const { escrow, client, stranger, token, treasury, guardian } = world;
    await escrow.connect(guardian).setPaused(true);
    await token.mint(treasury, 250_000n);
    await expect(escrow.connect(stranger).collectDebt(job.id))
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, client.address, 250_000, 350_000, true, CLIENT_CREDITS - 35, 0);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([CHARGE_UNITS, 250_000n, false]);
    await token.mint(treasury, 1_000_000n);
    await expect(escrow.connect(stranger).collectDebt(job.id))
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, client.address, 350_000, 0, true, CLIENT_CREDITS, 0);
    expect((await books(world)).treasury).to.equal(650_000n);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([CHARGE_UNITS, CHARGE_UNITS, false]);
    await expectRevert(escrow.collectDebt(job.id), "Dispute_NoDebt", job.id);
  });

  it("is never charged to the operator's reserve, as a ruling is", async () => {
    const { world, job, ruling } = await owed(0n);
    await ruling;
    await fundReserve(world, 1_000);
    await expectRevert(world.escrow.collectDebt(job.id), "Dispute_NothingPaid");
    expect((await world.escrow.operatorOf(1)).reserve).to.equal(1_000);
  });

  it("owes a worker whose answer its gateway hid, and pays it as tokens", async () => {
    const { world, escrow, token, treasury, worker, client, stranger } = await freshWorldWithoutReserve();
    const job = await disputedProvenJob(world, { by: client });
    await expect(sendRuling(world, job, Ruling.GatewayAtFault))
      .to.emit(escrow, "Compensated")
      .withArgs(job.id, client.address, worker.payout, 0, WORKER_UNITS, true, CLIENT_CREDITS, 0);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([WORKER_UNITS, 0n, true]);
    await token.mint(treasury, WORKER_UNITS);
    await expect(escrow.connect(stranger).collectDebt(job.id)).to.changeTokenBalances(
      ethers,
      token,
      [treasury, worker.payout, escrow],
      [-WORKER_UNITS, WORKER_UNITS, 0n],
    );
    expect(await escrow.compensationOf(job.id)).to.deep.equal([WORKER_UNITS, WORKER_UNITS, true]);
  });
});

it("A short treasury pays what it has; a fraction of a credit waits as tokens", async () => {
  const { world, job, ruling } = await owed(123_456n);
  const { escrow, client, token, treasury } = world;
  await expect(ruling)
    .to.emit(escrow, "Compensated")
    .withArgs(job.id, client.address, client.address, 123_456, CHARGE_UNITS - 123_456n, true, CLIENT_CREDITS - 48, 0);
  await expect(ruling).to.emit(escrow, "PayoutDeferred").withArgs(job.id, client.address, 3_456);
  expect(await escrow.claimableOf(client.address)).to.equal(3_456);
  await token.mint(treasury, 476_544n);
  await escrow.collectDebt(job.id);
  // 476,544 units are 47 credits and 6,544 units: together with the 3,456 exactly the sixtieth credit.
  expect((await escrow.accountOf(client.address)).free).to.equal(CLIENT_CREDITS - 1);
  await expectTokens(escrow.claim(client.address), token, client, 10_000n);
  await books(world);
});

it("Compensation is a debt while the treasury pays nothing, until another does", async () => {
  const { world, escrow, treasury, token, panel } = await freshWorldWithoutReserve();
  await token.mint(treasury, CHARGE_UNITS);
  const [job, other] = [await disputedJob(world), await disputedJob(world)];
  await escrow.setTreasury(someAddress("no contract"));
  await sendRuling(world, job, Ruling.GatewayAtFault);
  // A contract that does not know the call, and reverts.
  await escrow.setTreasury(await panel.getAddress());
  await sendRuling(world, other, Ruling.GatewayAtFault);
  expect([await debtOf(world, job), await debtOf(world, other)]).to.deep.equal([CHARGE_UNITS, CHARGE_UNITS]);
  await escrow.setTreasury(await treasury.getAddress());
  await escrow.collectDebt(job.id);
  expect((await escrow.accountOf(world.client.address)).free).to.equal(CLIENT_CREDITS - 60);
});

// What the treasury can be charged on a UTC day: the cap, a quarter of it for one operator's jobs; what exceeds it waits as debt.

/** A treasury with enough, no reserve, this cap, and the clock at the second minute of a UTC day. */
async function capped(credits: number): Promise<World> {
  const world = await freshWorldWithoutReserve();
  await world.token.mint(world.treasury, 100_000_000n);
  await world.escrow.setCompensationCap(credits);
  await mineAt((Math.floor((await now()) / DAY) + 1) * DAY + 60);
  return world;
}

/** A job of 60 credits for which the treasury is charged. */
async function blamed(world: World): Promise<Job> {
  const job = await disputedJob(world, { by: world.client });
  await sendRuling(world, job, Ruling.GatewayAtFault);
  return job;
}

const paidFor = async ({ escrow }: World, { id }: { id: string }) => {
  const { granted, paid } = await escrow.compensationOf(id);
  return [granted, paid];
};
const collect = ({ escrow, stranger }: World, { id }: Job) => escrow.connect(stranger).collectDebt(id);

describe("One operator's jobs", () => {
  for (const [cap, paid] of [
    [241, CHARGE_UNITS],
    [240, CHARGE_UNITS],
    [239, 597_500n],
    [4, 10_000n],
    [1, 2_500n],
    [0, 0n],
  ] as const) {
    it(`have a quarter of ${cap} credits: of 60 owed ${paid} units are paid`, async () => {
      const world = await capped(cap);
      const job = await blamed(world);
      expect(await paidFor(world, job)).to.deep.equal([CHARGE_UNITS, paid]);
      await books(world);
      if (paid === CHARGE_UNITS) return;
      await expectRevert(collect(world, job), "Dispute_NothingPaid", job.id, CHARGE_UNITS - paid, 0);
    });
  }

  it("share their quarter: the second job of the day gets what the first one left", async () => {
    const world = await capped(300);
    const jobs = [await blamed(world), await blamed(world), await blamed(world)] as const;
    expect(await paidFor(world, jobs[0])).to.deep.equal([CHARGE_UNITS, CHARGE_UNITS]);
    expect(await paidFor(world, jobs[1])).to.deep.equal([CHARGE_UNITS, 150_000n]);
    expect(await paidFor(world, jobs[2])).to.deep.equal([CHARGE_UNITS, 0n]);
  });

  it("leave the others their quarters; after four operators the fifth's waits", async () => {
    const world = await capped(240);
    const { escrow, owner, client, others } = world;
    const jobs = [await blamed(world)];
    for (let i = 0; i < 4; i++) {
      const gateway = others[i];
      if (gateway === undefined) throw new Error("too few accounts");
      await escrow.admitOperator(owner.address);
      await addSigners(world, 3 + i, owner, [gateway]);
      await escrow.connect(client).chooseOperator(3 + i);
      const job = await lockJob(world, { gateway });
      await sendComplete(world, job, { gateway });
      await sendDispute(world, job, { by: client });
      await sendRuling(world, job, Ruling.GatewayAtFault);
      jobs.push(job);
    }
    const paid = await Promise.all(jobs.map(async (job) => (await paidFor(world, job))[1]));
    expect(paid).to.deep.equal([CHARGE_UNITS, CHARGE_UNITS, CHARGE_UNITS, CHARGE_UNITS, 0n]);
    const last = jobs[4] as Job;
    await expectRevert(collect(world, last), "Dispute_NothingPaid", last.id, CHARGE_UNITS, 0);
  });
});

describe("The UTC day", () => {
  it("ends at midnight: a debt is refused in its last second and paid in the next one", async () => {
    const world = await capped(240);
    const { escrow } = world;
    const [first, second] = [await blamed(world), await blamed(world)];
    const midnight = (Math.floor((await now()) / DAY) + 1) * DAY;
    await nextBlockAt(midnight - 1);
    await expectRevert(collect(world, second), "Dispute_NothingPaid");
    await nextBlockAt(midnight);
    await expect(collect(world, second)).to.emit(escrow, "Compensated");
    expect(await paidFor(world, second)).to.deep.equal(await paidFor(world, first));
  });

  it("of a ruling is the day in which it is mined: midnight begins another", async () => {
    const world = await capped(240);
    const midnight = (Math.floor((await now()) / DAY) + 1) * DAY;
    await mineAt(midnight - 60);
    const jobs = [];
    for (const at of [midnight - 2, midnight - 1, midnight]) {
      const job = await disputedJob(world, { by: world.client });
      await sendVote(world, job, Ruling.GatewayAtFault);
      jobs.push({ job, at });
    }
    for (const { job, at } of jobs) {
      await nextBlockAt(at);
      await sendVote(world, job, Ruling.GatewayAtFault, world.arbiters[1]);
    }
    const paid = await Promise.all(jobs.map(async ({ job }) => (await paidFor(world, job))[1]));
    expect(paid).to.deep.equal([CHARGE_UNITS, 0n, CHARGE_UNITS]);
  });

  it("counts collected debts like rulings against the day's cap", async () => {
    const world = await capped(240);
    const jobs = [await blamed(world), await blamed(world), await blamed(world)] as const;
    await mineAt((await now()) + DAY);
    await collect(world, jobs[2]);
    await expectRevert(collect(world, jobs[1]), "Dispute_NothingPaid");
    const late = await blamed(world);
    expect(await paidFor(world, late)).to.deep.equal([CHARGE_UNITS, 0n]);
    await mineAt((await now()) + DAY);
    await collect(world, jobs[1]);
    await expectRevert(collect(world, late), "Dispute_NothingPaid");
    await mineAt((await now()) + 5 * DAY);
    await collect(world, late);
    await books(world);
  });
});

describe("The cap counts", () => {
  it("the pay of a worker before the refund of the next job", async () => {
    const world = await capped(240);
    const hidden = await disputedProvenJob(world, { by: world.client });
    await sendRuling(world, hidden, Ruling.GatewayAtFault);
    const job = await blamed(world);
    expect(await paidFor(world, job)).to.deep.equal([CHARGE_UNITS, CHARGE_UNITS - WORKER_UNITS]);
  });

  it("nothing that an operator paid", async () => {
    const world = await freshWorld();
    await world.escrow.setCompensationCap(0);
    const { free } = await world.escrow.accountOf(world.client.address);
    await blamed(world);
    expect((await world.escrow.accountOf(world.client.address)).free).to.equal(free);
  });

  it("nothing that did not arrive: an empty treasury uses up no day", async () => {
    const world = await capped(240);
    const { treasury, token, stranger } = world;
    await treasury.pay(token, stranger.address, await token.balanceOf(treasury));
    const jobs = [await blamed(world), await blamed(world)] as const;
    // The fee of the second job arrived between the rulings.
    expect((await paidFor(world, jobs[0]))[1]).to.equal(60_000n);
    expect((await paidFor(world, jobs[1]))[1]).to.equal(60_000n);
    await token.mint(treasury, 10_000_000n);
    await collect(world, jobs[0]);
    expect(await paidFor(world, jobs[0])).to.deep.equal([CHARGE_UNITS, CHARGE_UNITS - 60_000n]);
  });
});

it("setCompensationCap holds at once, for what waits as well", async () => {
  const world = await capped(0);
  const { escrow } = world;
  const job = await blamed(world);
  expect(await paidFor(world, job)).to.deep.equal([CHARGE_UNITS, 0n]);
  await escrow.setCompensationCap(100);
  await collect(world, job);
  expect(await paidFor(world, job)).to.deep.equal([CHARGE_UNITS, 250_000n]);
  await escrow.setCompensationCap(99);
  await expectRevert(collect(world, job), "Dispute_NothingPaid", job.id, 350_000, 0);
  await escrow.setCompensationCap(240);
  await collect(world, job);
  expect(await paidFor(world, job)).to.deep.equal([CHARGE_UNITS, CHARGE_UNITS]);
});

describe("The fee of a job, given back", () => {
  /** A cap of four credits: one a day for the jobs of an operator. */
  async function tiny() {
    const world = await freshWorldWithoutReserve();
    await world.token.mint(world.treasury, 10_000_000n);
    await world.escrow.setCompensationCap(4);
    return world;
  }

  /** What the treasury paid, what waits, and whether the day's cap counts it. */
  async function compensation({ escrow }: World, sent: ReturnType<typeof sendRuling>) {
    const [event] = await eventsOf(sent, escrow, "Compensated");
    return [event?.args.paid, event?.args.owed, event?.args.capped];
  }

  it("is paid whatever the day's cap is, and takes nothing of it from others", async () => {
    const world = await tiny();
    const jobs = [await disputedJob(world), await disputedJob(world)];
    for (const job of jobs)
      expect(await compensation(world, sendExpire(world, job))).to.deep.equal([FEE_UNITS, 0n, false]);
    const equivocated = await settledJob(world);
    const disputed = await disputedJob(world);
    const proving = sendEquivocation(world, equivocated);
    expect(await compensation(world, proving)).to.deep.equal([FEE_UNITS, 0n, false]);
    // A charge that is given back still has the whole day's cap.
    const ruling = sendRuling(world, disputed, Ruling.GatewayAtFault);
    expect(await compensation(world, ruling)).to.deep.equal([10_000n, CHARGE_UNITS - 10_000n, true]);
    await books(world);
  });

  it("is bounded again when a ruling raises it to the charge", async () => {
    const world = await tiny();
    const job = await settledJob(world);
    await sendEquivocation(world, job);
    await sendDispute(world, job, { by: world.client });
    const left = CHARGE_UNITS - FEE_UNITS - 10_000n;
    const ruling = sendRuling(world, job, Ruling.WorkerAtFault);
    expect(await compensation(world, ruling)).to.deep.equal([10_000n, left, true]);
    await expectRevert(world.escrow.collectDebt(job.id), "Dispute_NothingPaid", job.id, left, 0);
    await books(world);
  });
});
