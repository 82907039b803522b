/** What bounds the number of disputes: eight at a time of settled jobs by the operator, bonds for all others. */
import { expect } from "chai";
import { someAddress } from "../support/actors.ts";
import { books } from "../support/books.ts";
import {
  BOND,
  disputedJob,
  disputedProvenJob,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendExpire,
  sendJoin,
  sendRuling,
  settledJob,
} from "../support/disputes.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshWorld, freshWorldWithoutReserve } from "../support/fresh.ts";
import { lockJob, provenJob, sendAcknowledge, sendComplete, sendProof } from "../support/jobs.ts";
import { buyCredits, fundReserve, OPERATOR, provide, RESERVE_CREDITS, type World } from "../support/world.ts";

const openDisputes = async (world: World) => Number((await world.escrow.accountOf(world.client.address)).openDisputes);
const reserveOf = async ({ escrow }: World) => {
  const { reserve, held } = await escrow.operatorOf(OPERATOR);
  return [Number(reserve), Number(held)];
};

describe("Disputes of settled jobs by the operator", () => {
  it("are eight of an account at a time: the ninth waits for one to end", async () => {
    const { world, escrow, client, stranger } = await freshWorld();
    const jobs = [];
    for (let i = 0; i < 8; i++) jobs.push(await disputedJob(world));
    expect(await openDisputes(world)).to.equal(8);
    expect(await escrow.DISPUTE_LIMIT()).to.equal(8);
    const ninth = await settledJob(world);
    for (const by of [world.gateway, world.secondGateway])
      await expectRevert(sendDispute(world, ninth, { by }), "Dispute_TooMany", client.address);

    // It is the account's count: another's is its own, and all other disputes have a bond.
    await buyCredits(world, stranger, 200);
    const other = await lockJob(world, { wallet: stranger.address });
    await sendComplete(world, other, { wallet: stranger.address });
    await expect(sendDispute(world, other)).to.emit(escrow, "JobDisputed");
    const own = await settledJob(world);
    await expect(sendDispute(world, own, { by: client })).to.emit(escrow, "JobDisputed");
    await expect(sendDispute(world, await provenJob(world))).to.emit(escrow, "JobDisputed");
    expect(await openDisputes(world)).to.equal(8);

    const [first] = jobs;
    if (first === undefined) throw new Error("no job");
    await sendJoin(world, first);
    await sendRuling(world, first, Ruling.Rejected);
    expect(await openDisputes(world)).to.equal(7);
    await expect(sendDispute(world, ninth)).to.emit(escrow, "JobDisputed");
    expect(await openDisputes(world)).to.equal(8);
  });

  it("go on to count when the worker equivocates, and stop when they expire", async () => {
    const world = await freshWorld();
    const [equivocated, expired] = [await disputedJob(world), await disputedJob(world)];
    await sendEquivocation(world, equivocated);
    expect(await openDisputes(world)).to.equal(2);
    await sendExpire(world, equivocated);
    expect(await openDisputes(world)).to.equal(1);
    await sendExpire(world, expired);
    expect(await openDisputes(world)).to.equal(0);
  });

  it("are not freed by the end of disputes that never counted", async () => {
    const { world, client } = await freshWorld();
    const counted = await disputedJob(world);
    const own = await disputedJob(world, { by: client });
    const proven = await disputedProvenJob(world, { by: client });
    const provenByOperator = await disputedProvenJob(world);
    const again = await settledJob(world);
    await sendEquivocation(world, again);
    await sendDispute(world, again, { by: client });
    for (const job of [own, proven, again]) await sendRuling(world, job, Ruling.Rejected);
    expect(await openDisputes(world)).to.equal(1);
    await sendRuling(world, provenByOperator, Ruling.WorkerAtFault);
    expect(await openDisputes(world)).to.equal(1);
    await sendExpire(world, counted);
    expect(await openDisputes(world)).to.equal(0);
  });
});

describe("The operator's bond for a proven job", () => {
  it("is the charge of the proof, to the credit, out of its reserve", async () => {
    const { world, escrow } = await freshWorldWithoutReserve();
    const job = await provenJob(world);
    await fundReserve(world, 59);
    await expectRevert(sendDispute(world, job), "Operator_ReserveTooSmall", OPERATOR, 59, 60);
    await fundReserve(world, 1);
    await sendDispute(world, job);
    expect(await reserveOf(world)).to.deep.equal([0, 60]);
    expect((await escrow.disputeOf(job.id)).bond).to.equal(60);
  });

  it("is of the operator that locked the job: another's reserve is not touched", async () => {
    const world = await freshWorldWithoutReserve();
    await fundReserve(world, 1_000, 2);
    await expectRevert(sendDispute(world, await provenJob(world)), "Operator_ReserveTooSmall");
  });

  it("is no other bond: one that is held cannot back a second dispute", async () => {
    const world = await freshWorldWithoutReserve();
    await fundReserve(world, 119);
    await disputedProvenJob(world);
    await expectRevert(disputedProvenJob(world), "Operator_ReserveTooSmall", OPERATOR, 59, 60);
  });

  it("goes to the worker where it is paid by then", async () => {
    const { world, escrow, registry, token, worker, workerOwner } = await freshWorld();
    const job = await disputedProvenJob(world);
    const payout = someAddress("another payout");
    await registry.connect(workerOwner).setPayout(worker.key.address, payout);
    await expect(sendRuling(world, job, Ruling.Rejected))
      .to.emit(escrow, "ReserveChanged")
      .withArgs(OPERATOR, job.id, 5, RESERVE_CREDITS - 60, 0);
    expect([await token.balanceOf(payout), await token.balanceOf(worker.payout)]).to.deep.equal([600_000n, 0n]);
  });
});

describe("The wallet's bond", () => {
  /** A settled job of a wallet that has exactly `left` free credits, and token units of its own, approved. */
  async function withLeft(left: number, units = 0n, approved = units) {
    const { world, escrow, client, owner } = await freshWorld();
    const job = await settledJob(world);
    const { free } = await escrow.accountOf(client.address);
    await escrow.connect(client).withdraw(free - BigInt(left), owner.address);
    await provide(world, client, units, approved);
    return { world, job };
  }

  for (const [charge, bond] of [
    [40, 40],
    [99, 99],
    [100, 100],
    [101, 100],
    [2_560, 100],
  ] as const) {
    it(`is ${bond} credits of a charge of ${charge}`, async () => {
      for (const prove of [false, true]) {
        const { world, escrow, client } = await freshWorld();
        // 20 credits a 1,000 tokens, and 40 a request.
        const completionTokens = charge * 50;
        const job = await lockJob(world, { maxTokens: completionTokens });
        if (prove) await sendAcknowledge(world, job);
        await (prove ? sendProof : sendComplete)(world, job, { completionTokens });
        const { escrowed } = await escrow.accountOf(client.address);
        await sendDispute(world, job, { by: client, completionTokens });
        expect((await escrow.disputeOf(job.id)).bond).to.equal(bond);
        expect((await escrow.accountOf(client.address)).escrowed).to.equal(escrowed + BigInt(bond));
        await sendRuling(world, job, Ruling.Rejected);
        expect((await escrow.accountOf(client.address)).escrowed).to.equal(escrowed);
        await books(world);
      }
    });
  }

  it("takes free credits, and nobody can spend or withdraw them meanwhile", async () => {
    const { world, job } = await withLeft(BOND, 10_000_000n);
    const { escrow, client, token } = world;
    const opening = sendDispute(world, job, { by: client });
    await expect(opening).not.to.emit(escrow, "Deposited");
    await expectTokens(opening, token, client, 0);
    const { free, escrowed } = await escrow.accountOf(client.address);
    expect([free, escrowed]).to.deep.equal([0n, BigInt(BOND)]);
    const refused = escrow.connect(client).withdraw(1, client.address);
    await expectRevert(refused, "Ledger_InsufficientCredits", client.address, 0, 1);
    await expectRevert(lockJob(world), "Ledger_InsufficientCredits");
  });

  for (const [left, missing] of [
    [BOND - 1, 1],
    [1, BOND - 1],
    [0, BOND],
  ] as const) {
    it(`pulls exactly ${missing} missing credits from stablecoin with ${left} free`, async () => {
      const { world, job } = await withLeft(left, BigInt(missing) * 10_000n);
      const { escrow, client, token } = world;
      const opening = sendDispute(world, job, { by: client });
      await expect(opening)
        .to.emit(escrow, "Deposited")
        // Its operator stays the one it chose.
        .withArgs(1, client.address, 3, missing, OPERATOR, BOND, 0);
      await expectTokens(opening, token, [client, escrow], [-BigInt(missing) * 10_000n, BigInt(missing) * 10_000n]);
      const { free, escrowed } = await escrow.accountOf(client.address);
      expect([free, escrowed]).to.deep.equal([0n, BigInt(BOND)]);
    });
  }

  it("without the tokens or the allowance is refused by the token, in its own words", async () => {
    for (const [units, approved, error] of [
      [600_000n, 0n, "ERC20InsufficientAllowance"],
      [600_000n, 599_999n, "ERC20InsufficientAllowance"],
      [599_999n, 600_000n, "ERC20InsufficientBalance"],
    ] as const) {
      const { world, job } = await withLeft(0, units, approved);
      const { escrow, client } = world;
      await expectRevert(sendDispute(world, job, { by: client }), error);
      expect((await escrow.jobOf(job.id)).status).to.equal(4);
      expect(await openDisputes(world)).to.equal(0);
    }
  });

  it("pulls nothing from a wallet whose operator disputes, whatever it approved", async () => {
    const { world, job } = await withLeft(0, 600_000n);
    await expectTokens(sendDispute(world, job), world.token, world.client, 0);
  });
});
