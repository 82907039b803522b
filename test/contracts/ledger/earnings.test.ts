/** What an operator earns of the fee: credited at settlement, vested after every risk, taken back with the fee, paid to its admin. */
import { expect } from "chai";
import { items } from "../support/batch.ts";
import { books, moved } from "../support/books.ts";
import { DAY, ethers, mineAt, nextBlockAt, now } from "../support/chain.ts";
import {
  ARBITRATION,
  disputedJob,
  disputedProvenJob,
  FEE_UNITS,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendExpire,
  sendRuling,
  settledJob,
  WORKER_UNITS,
} from "../support/disputes.ts";
import {
  dayOf,
  earned,
  HALF,
  LONGEST_RISK,
  PART_UNITS,
  sendWithdrawal,
  vestsAt,
  withShare,
} from "../support/earnings.ts";
import { eventsOf, expectRevert, expectTokens } from "../support/expect.ts";
import { freshHostileWorld, freshWorld, freshWorldWithoutReserve, rich } from "../support/fresh.ts";
import { Behaviour, REFUSALS } from "../support/hostile.ts";
import { acknowledgedJob, type Job, lockJob, provenJob, sendComplete, sendFinalize } from "../support/jobs.ts";
import { buyCredits, CLIENT_CREDITS, OPERATOR, OTHER_OPERATOR, RESERVE_CREDITS, type World } from "../support/world.ts";

const earning = () => withShare(rich(freshWorld()));
/** What the escrow owes besides credits. */
const unitsOwed = async ({ escrow }: World) => (await escrow.liabilities()).units;

describe("A settlement", () => {
  it("credits the operator with its part of the fee, and pays the treasury the rest", async () => {
    const world = await earning();
    const { escrow, token, worker, treasury } = world;
    const job = await lockJob(world);
    const settling = sendComplete(world, job);
    await expectTokens(
      settling,
      token,
      [escrow, worker.payout, treasury],
      [PART_UNITS - 600_000n, WORKER_UNITS, FEE_UNITS - PART_UNITS],
    );
    await expect(settling).not.to.emit(escrow, "EarningsChanged");
    expect(await earned(world, job)).to.equal(PART_UNITS);
    expect(await escrow.earningsOf(OTHER_OPERATOR, dayOf(job))).to.equal(0);
    const credits = BigInt(RESERVE_CREDITS + CLIENT_CREDITS - 60);
    expect(await escrow.liabilities()).to.deep.equal([credits, PART_UNITS]);
    await books(world);
  });

  for (const [share, part] of [
    [0, 0n],
    [1, 3_000n],
    [3, 9_000n],
    [HALF, PART_UNITS],
  ] as const) {
    it(`with a share of ${share} twentieths is ${part} units of ${FEE_UNITS}`, async () => {
      const world = await withShare(freshWorld(), share);
      const job = await lockJob(world);
      await expectTokens(sendComplete(world, job), world.token, world.treasury, FEE_UNITS - part);
      expect(await earned(world, job)).to.equal(part);
      await books(world);
    });
  }

  it("rounds a part down: what is left of a unit is the treasury's", async () => {
    const world = await freshWorld();
    await world.escrow.scheduleFee(333, 3);
    await nextBlockAt((await now()) + DAY);
    const job = await lockJob(world);
    // 60 × 333 is 19,980, of which 3 twentieths are 2,997; of a request of 40 credits 13,320 and 1,998.
    await expectTokens(sendComplete(world, job), world.token, world.treasury, 19_980n - 2_997n);
    expect(await earned(world, job)).to.equal(2_997);
  });

  it("keeps the share of its lock, whatever was announced since", async () => {
    const { world, escrow, token, treasury } = await freshWorld();
    await escrow.scheduleFee(2_000, HALF);
    const effectiveAt = (await now()) + DAY;
    await nextBlockAt(effectiveAt - 1);
    const before = await lockJob(world);
    await nextBlockAt(effectiveAt);
    const after = await lockJob(world);
    await expectTokens(sendComplete(world, before), token, treasury, FEE_UNITS);
    await expectTokens(sendComplete(world, after), token, treasury, FEE_UNITS);
    const [one, other] = [dayOf(before), dayOf(after)];
    const sum =
      (await escrow.earningsOf(OPERATOR, one)) + (one === other ? 0n : await escrow.earningsOf(OPERATOR, other));
    expect(sum, "half of 20 % of one job").to.equal(FEE_UNITS);
  });

  it("by finalization earns as well", async () => {
    const world = await earning();
    const job = await provenJob(world);
    await nextBlockAt(job.finalizeFrom);
    await expectTokens(sendFinalize(world, job), world.token, world.treasury, FEE_UNITS - PART_UNITS);
    expect(await earned(world, job)).to.equal(PART_UNITS);
  });
});

describe("A batch", () => {
  it("of two operators and days credits each by itself, and pays the treasury once", async () => {
    const world = await earning();
    const { escrow, stranger, token, treasury, others } = world;
    const [second] = others;
    if (second === undefined) throw new Error("too few accounts");
    await buyCredits(world, second, 1_000, OTHER_OPERATOR);
    const midnight = (Math.floor((await now()) / DAY) + 1) * DAY;
    await nextBlockAt(midnight - 1);
    const old = await lockJob(world);
    await nextBlockAt(midnight);
    const jobs = [
      old,
      await lockJob(world),
      await lockJob(world),
      await lockJob(world, { wallet: second.address, gateway: world.otherGateway }),
    ] as const;
    const make = items(world);
    // A stranger can bring proofs of all of them.
    for (const job of jobs) {
      const assignedBy = job === jobs[3] ? world.otherGateway : world.gateway;
      const batch = [await make.acknowledge(job, { assignedBy }), await make.submitProof(job)];
      await escrow.connect(stranger).execute(batch);
    }
    await nextBlockAt(midnight + 4_000);
    const sent = escrow.connect(stranger).execute(jobs.map(make.finalize));
    await expectTokens(sent, token, treasury, 4n * (FEE_UNITS - PART_UNITS));
    await expect(sent).not.to.emit(escrow, "BatchItemFailed");
    const day = midnight / DAY;
    expect(await escrow.earningsOf(OPERATOR, day - 1)).to.equal(PART_UNITS);
    expect(await escrow.earningsOf(OPERATOR, day)).to.equal(2n * PART_UNITS);
    expect(await escrow.earningsOf(OTHER_OPERATOR, day)).to.equal(PART_UNITS);
    expect(await unitsOwed(world)).to.equal(4n * PART_UNITS);
    await books(world);
  });

  it("has nothing of an item that failed, and can dispute what it settled", async () => {
    const world = await earning();
    const make = items(world);
    const [settled, wrong, disputed] = [await lockJob(world), await lockJob(world), await lockJob(world)];
    await world.escrow
      .connect(world.gateway)
      .execute([
        await make.complete(settled),
        await make.complete(wrong, { wallet: world.stranger.address }),
        await make.complete(disputed),
        await make.openDispute(disputed),
      ]);
    expect(await earned(world, settled)).to.equal(PART_UNITS);
    expect(await unitsOwed(world), "the dispute holds the other part").to.equal(2n * PART_UNITS);
    await books(world);
  });
});

describe("withdrawEarnings", () => {
  it("pays from LONGEST_RISK after the end of the day on, not a second sooner, once", async () => {
    const world = await earning();
    const { escrow, token, operatorAdmin, stranger } = world;
    expect(await escrow.LONGEST_RISK()).to.equal(LONGEST_RISK);
    const job = await settledJob(world);
    const day = dayOf(job);
    await nextBlockAt(vestsAt(job) - 1);
    const early = sendWithdrawal(world, [day, day]);
    await expectRevert(early, "Operator_EarningsNotVested", OPERATOR, day, vestsAt(job), vestsAt(job) - 1);
    await nextBlockAt(vestsAt(job));
    const withdrawing = sendWithdrawal(world, [day, day], { receiver: stranger.address });
    await expectTokens(withdrawing, token, [escrow, stranger], [-PART_UNITS, PART_UNITS]);
    const { sequence } = await escrow.operatorOf(OPERATOR);
    await expect(withdrawing)
      .to.emit(escrow, "EarningsWithdrawn")
      .withArgs(OPERATOR, stranger.address, sequence, day, day, PART_UNITS);
    expect(await earned(world, job)).to.equal(0);
    expect(await unitsOwed(world)).to.equal(0);
    await nextBlockAt(vestsAt(job) + 1);
    await expectRevert(sendWithdrawal(world, [day, day]), "Operator_NothingEarned", OPERATOR, day, day);
    expect(await token.balanceOf(operatorAdmin)).to.equal(0);
    await books(world);
  });

  it("pays at once what a job earns that is finalized when its day has vested", async () => {
    const world = await earning();
    const job = await provenJob(world);
    const other = await settledJob(world);
    await nextBlockAt(vestsAt(job));
    const day = dayOf(job);
    expect(dayOf(other)).to.equal(day);
    await expectTokens(sendWithdrawal(world, [day, day]), world.token, world.operatorAdmin, PART_UNITS);
    await sendFinalize(world, job);
    expect(await earned(world, job)).to.equal(PART_UNITS);
    await expectTokens(sendWithdrawal(world, [day, day]), world.token, world.operatorAdmin, PART_UNITS);
    await books(world);
    // Nobody can have its fee returned any more.
    await expectRevert(sendDispute(world, job, { by: world.client }), "Job_TooLate");
    await expectRevert(sendEquivocation(world, job), "Job_TooLate");
  });

  it("takes all days of a range, and needs all of them to have vested", async () => {
    const world = await earning();
    const first = await settledJob(world);
    await nextBlockAt(first.lockedAt + 2 * DAY);
    const last = await settledJob(world);
    const days = [dayOf(first), dayOf(last)] as const;
    expect(days[1] - days[0]).to.equal(2);
    await nextBlockAt(vestsAt(first));
    await expectRevert(sendWithdrawal(world, days), "Operator_EarningsNotVested");
    await nextBlockAt(vestsAt(last));
    // The days before and between are empty, and cost only gas.
    const sent = sendWithdrawal(world, [days[0] - 3, days[1]]);
    await expectTokens(sent, world.token, world.operatorAdmin, 2n * PART_UNITS);
    await expectRevert(sendWithdrawal(world, [days[1], days[0]]), "Operator_NothingEarned", OPERATOR, days[1], days[0]);
    await expectRevert(sendWithdrawal(world, [0, 65_535]), "Operator_EarningsNotVested");
    await books(world);
  });

  it("is the admin's call alone, and no other operator's", async () => {
    const world = await earning();
    const { owner, guardian, gateway, otherAdmin, stranger } = world;
    const job = await settledJob(world);
    const day = dayOf(job);
    await nextBlockAt(vestsAt(job));
    for (const by of [owner, guardian, gateway, otherAdmin, stranger])
      await expectRevert(sendWithdrawal(world, [day, day], { by }), "Operator_NotAdmin", OPERATOR, by.address);
    const other = sendWithdrawal(world, [day, day], { by: otherAdmin, operator: OTHER_OPERATOR });
    await expectRevert(other, "Operator_NothingEarned", OTHER_OPERATOR, day, day);
    await expectRevert(sendWithdrawal(world, [day, day], { operator: 0 }), "Operator_NotAdmin");
    await sendWithdrawal(world, [day, day]);
  });

  it("is the new admin's after the operator was handed over", async () => {
    const world = await earning();
    const { escrow, operatorAdmin, stranger } = world;
    const job = await settledJob(world);
    const day = dayOf(job);
    await escrow.connect(operatorAdmin).setOperatorAdmin(OPERATOR, stranger.address);
    await nextBlockAt(vestsAt(job));
    await expectRevert(sendWithdrawal(world, [day, day]), "Operator_NotAdmin", OPERATOR, operatorAdmin.address);
    await expectTokens(sendWithdrawal(world, [day, day], { by: stranger }), world.token, stranger, PART_UNITS);
  });

  it("works while operator and deposits are stopped, and leaves the reserve alone", async () => {
    const world = await earning();
    const { escrow, guardian } = world;
    const job = await settledJob(world);
    const day = dayOf(job);
    await nextBlockAt(vestsAt(job));
    await escrow.connect(guardian).stopOperator(OPERATOR, true);
    await escrow.connect(guardian).setPaused(true);
    await expectTokens(sendWithdrawal(world, [day, day]), world.token, world.operatorAdmin, PART_UNITS);
    expect((await escrow.operatorOf(OPERATOR)).reserve).to.equal(RESERVE_CREDITS);
  });

  it("is counted among the events of the operator, as each change of its earnings is", async () => {
    const world = await earning();
    const { escrow } = world;
    const [job, other] = [await settledJob(world), await settledJob(world)];
    const { sequence } = await escrow.operatorOf(OPERATOR);
    const numbers: bigint[] = [];
    const read = async (sent: Parameters<typeof eventsOf>[0], name: string) =>
      numbers.push(...(await eventsOf(sent, escrow, name)).map(({ args }) => args.sequence as bigint));
    await read(sendEquivocation(world, other), "EarningsChanged");
    await read(sendDispute(world, job), "EarningsChanged");
    await read(sendRuling(world, job, Ruling.Rejected), "EarningsChanged");
    await nextBlockAt(vestsAt(job));
    await read(sendWithdrawal(world, [dayOf(job), dayOf(job)]), "EarningsWithdrawn");
    expect(numbers).to.deep.equal([1n, 2n, 3n, 4n].map((i) => sequence + i));
  });

  it("refuses receivers that would lose the tokens", async () => {
    const world = await earning();
    const { escrow, token } = world;
    const job = await settledJob(world);
    await nextBlockAt(vestsAt(job));
    for (const receiver of [ethers.ZeroAddress, await escrow.getAddress(), await token.getAddress()]) {
      const refused = sendWithdrawal(world, [dayOf(job), dayOf(job)], { receiver });
      await expectRevert(refused, "Ledger_InvalidReceiver", receiver);
    }
  });

  for (const [name, behaviour] of REFUSALS) {
    it(`changes nothing when the token ${name} towards the receiver; another one gets it`, async () => {
      const world = await withShare(freshHostileWorld());
      const { hostile, operatorAdmin, stranger } = world;
      const job = await settledJob(world);
      const days = [dayOf(job), dayOf(job)] as const;
      await nextBlockAt(vestsAt(job));
      await hostile.setBehaviour(operatorAdmin.address, behaviour);
      await expect(sendWithdrawal(world, days)).to.revert(ethers);
      expect(await earned(world, job)).to.equal(PART_UNITS);
      await books(world);
      const sent = sendWithdrawal(world, days, { receiver: stranger.address });
      await expectTokens(sent, hostile, stranger, PART_UNITS);
      await books(world);
    });
  }
});

/** What the event says of the part of a job. */
async function told(world: World, sent: Parameters<typeof eventsOf>[0]) {
  const changes = await eventsOf(sent, world.escrow, "EarningsChanged");
  return changes.map(({ args: [operator, jobId, sequence, day, units, disputed] }) => {
    expect([operator, Number(sequence) > 0]).to.deep.equal([BigInt(OPERATOR), true]);
    return [jobId, Number(day), units, disputed];
  });
}

describe("A dispute of a settled job", () => {
  for (const party of ["gateway", "client"] as const) {
    it(`opened by the ${party} takes the part out of the earnings, and holds it`, async () => {
      const world = await earning();
      const [job, other] = [await settledJob(world), await settledJob(world)];
      const before = await books(world);
      const opening = sendDispute(world, job, { by: world[party] });
      expect(await told(world, opening)).to.deep.equal([[job.id, dayOf(job), PART_UNITS, PART_UNITS]]);
      expect(dayOf(other)).to.equal(dayOf(job));
      const { unitsOwed: owed = 0n, treasury = 0n } = moved(before, await books(world));
      expect([owed, treasury]).to.deep.equal([0n, 0n]);
    });
  }

  for (const [name, ruling, treasury] of [
    ["worker at fault", Ruling.WorkerAtFault, PART_UNITS - 600_000n],
    ["gateway at fault", Ruling.GatewayAtFault, PART_UNITS],
    ["nobody, in time", Ruling.None, PART_UNITS - FEE_UNITS],
  ] as const) {
    it(`that finds ${name} gives the part to the treasury in the same call`, async () => {
      const world = await earning();
      const job = await disputedJob(world);
      const before = await books(world);
      const ending = ruling === Ruling.None ? sendExpire(world, job) : sendRuling(world, job, ruling);
      expect(await told(world, ending)).to.deep.equal([[job.id, dayOf(job), 0n, 0n]]);
      expect(await earned(world, job)).to.equal(0);
      const change = moved(before, await books(world));
      expect([change.treasury, change.unitsOwed]).to.deep.equal([treasury, -PART_UNITS]);
    });
  }

  it("that is rejected gives the part back to the operator", async () => {
    const world = await earning();
    const job = await disputedJob(world);
    const ending = sendRuling(world, job, Ruling.Rejected);
    expect(await told(world, ending)).to.deep.equal([[job.id, dayOf(job), PART_UNITS, 0n]]);
    await nextBlockAt(vestsAt(job));
    await expectTokens(sendWithdrawal(world, [dayOf(job), dayOf(job)]), world.token, world.operatorAdmin, PART_UNITS);
    await books(world);
  });

  it("of which the operator has no part says nothing of earnings", async () => {
    const world = await freshWorld();
    const job = await settledJob(world);
    expect(await told(world, sendDispute(world, job))).to.deep.equal([]);
    expect(await told(world, sendRuling(world, job, Ruling.Rejected))).to.deep.equal([]);
    expect(await told(world, sendEquivocation(world, job))).to.deep.equal([]);
  });

  it("that nobody ended until the day had vested leaves nothing to withdraw", async () => {
    const world = await earning();
    const job = await disputedJob(world);
    const days = [dayOf(job), dayOf(job)] as const;
    await mineAt(vestsAt(job));
    await expectRevert(sendWithdrawal(world, days), "Operator_NothingEarned");
    const before = await books(world);
    await sendExpire(world, { ...job, openedAt: vestsAt(job) + 10 - ARBITRATION });
    expect(moved(before, await books(world)).treasury).to.equal(PART_UNITS - FEE_UNITS);
    await expectRevert(sendWithdrawal(world, days), "Operator_NothingEarned");
  });

  it("takes the part also when the treasury can only owe the fee", async () => {
    // No reserve, no other money: half of the fee went to the treasury, and left it.
    const world = await withShare(freshWorldWithoutReserve());
    const { escrow, token, treasury, stranger, client } = world;
    const job = await disputedJob(world);
    await treasury.pay(token, stranger.address, FEE_UNITS - PART_UNITS);
    await sendExpire(world, job);
    // What there is, is the part.
    expect(await escrow.compensationOf(job.id)).to.deep.equal([FEE_UNITS, PART_UNITS, false]);
    expect((await escrow.accountOf(client.address)).free).to.equal(CLIENT_CREDITS - 60 + 3);
    await books(world);
  });

  it("takes the part also when the token refuses the treasury, for which it waits", async () => {
    const world = await withShare(freshHostileWorld());
    const { escrow, hostile, treasury } = world;
    const job = await disputedJob(world);
    await hostile.setBehaviour(treasury, Behaviour.Revert);
    const ending = sendExpire(world, job);
    await expect(ending)
      .to.emit(escrow, "PayoutDeferred")
      .withArgs(job.id, await treasury.getAddress(), PART_UNITS);
    expect(await earned(world, job)).to.equal(0);
    await books(world);
  });

  it("of a proven job has no part to hold; rejected and finalized, it earns one", async () => {
    const world = await earning();
    const job = await disputedProvenJob(world);
    expect(await told(world, sendRuling(world, job, Ruling.Rejected))).to.deep.equal([]);
    await sendFinalize(world, job);
    expect(await earned(world, job)).to.equal(PART_UNITS);
    await books(world);
  });

  it("of a proven job that faults the gateway leaves the treasury the whole fee", async () => {
    const world = await earning();
    const job = await disputedProvenJob(world);
    await expectTokens(sendRuling(world, job, Ruling.GatewayAtFault), world.token, world.treasury, FEE_UNITS);
    expect(await earned(world, job)).to.equal(0);
    await books(world);
  });
});

describe("Two signed answers", () => {
  it("give the part of a settled job to the treasury, with the fee to the client", async () => {
    const world = await earning();
    const job = await settledJob(world);
    const before = await books(world);
    const sent = sendEquivocation(world, job);
    expect(await told(world, sent)).to.deep.equal([[job.id, dayOf(job), 0n, 0n]]);
    const { treasury, unitsOwed: owed, free } = moved(before, await books(world));
    expect([treasury, owed, free]).to.deep.equal([PART_UNITS - FEE_UNITS, -PART_UNITS, 6n]);
  });

  it("take the part once: the second dispute neither holds it nor gives it back", async () => {
    const world = await earning();
    const job = await settledJob(world);
    await sendEquivocation(world, job);
    const before = await books(world);
    const opening = sendDispute(world, job, { by: world.client });
    expect(await told(world, opening)).to.deep.equal([]);
    const ruling = sendRuling(world, job, Ruling.Rejected);
    expect(await told(world, ruling)).to.deep.equal([]);
    expect(moved(before, await books(world))).to.deep.equal({});
    expect(await earned(world, job)).to.equal(0);
  });

  it("take the part once also while the treasury owes the whole fee", async () => {
    const world = await withShare(freshHostileWorld());
    const { escrow, hostile } = world;
    const [job, other] = [await settledJob(world), await settledJob(world)];
    await hostile.setBehaviour(escrow, Behaviour.Revert);
    await sendEquivocation(world, job);
    expect(await escrow.compensationOf(job.id)).to.deep.equal([FEE_UNITS, 0n, false]);
    expect(await told(world, sendDispute(world, job, { by: world.client }))).to.deep.equal([]);
    expect(await told(world, sendRuling(world, job, Ruling.Rejected))).to.deep.equal([]);
    expect(await earned(world, other)).to.equal(PART_UNITS);
    await books(world);
  });

  it("of a job that ended without a charge take nothing from what others earned", async () => {
    const world = await earning();
    const { escrow, gateway } = world;
    const [failed, other] = [await acknowledgedJob(world), await settledJob(world)];
    await escrow.connect(gateway).fail(failed.id, 0);
    expect(await told(world, sendEquivocation(world, failed))).to.deep.equal([]);
    expect(await earned(world, other)).to.equal(PART_UNITS);
    await books(world);
  });

  it("during a dispute give the treasury what it holds; a rejection returns nothing", async () => {
    const world = await earning();
    const job = await disputedJob(world);
    const before = await books(world);
    expect(await told(world, sendEquivocation(world, job))).to.deep.equal([[job.id, dayOf(job), 0n, 0n]]);
    expect(moved(before, await books(world)).treasury).to.equal(PART_UNITS - FEE_UNITS);
    expect(await told(world, sendRuling(world, job, Ruling.Rejected))).to.deep.equal([]);
    expect(await earned(world, job)).to.equal(0);
    await books(world);
  });

  it("after a rejected dispute take the part that came back", async () => {
    const world = await earning();
    const rejected = await disputedJob(world);
    await sendRuling(world, rejected, Ruling.Rejected);
    expect(await told(world, sendEquivocation(world, rejected))).to.deep.equal([
      [rejected.id, dayOf(rejected), 0n, 0n],
    ]);
    await books(world);
  });
});

/** Operator, client and worker trade with each other, dispute, and nobody rules. */
it("Trading with itself and expired disputes earn an operator nothing", async () => {
  const world = await earning();
  const { token, operatorAdmin } = world;
  const jobs: Job[] = [];
  for (let i = 0; i < 3; i++) jobs.push(await disputedJob(world));
  const last = jobs[2] as Job;
  await nextBlockAt(vestsAt(last));
  await expectRevert(sendWithdrawal(world, [dayOf(last), dayOf(last)]), "Operator_NothingEarned");
  for (const job of jobs) await world.escrow.connect(world.stranger).expire(job.id);
  await expectRevert(sendWithdrawal(world, [dayOf(last), dayOf(last)]), "Operator_NothingEarned");
  expect(await token.balanceOf(operatorAdmin)).to.equal(0);
  expect(await unitsOwed(world)).to.equal(0);
  await books(world);
});
