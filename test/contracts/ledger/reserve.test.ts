/** An operator's reserve: its skin in the game. What it pays for is told in disputes. */
import { expect } from "chai";
import { ethers, nextBlockAt, now } from "../support/chain.ts";
import { disputedProvenJob, sendExpire } from "../support/disputes.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshBare, freshHostileWorld, freshWorld } from "../support/fresh.ts";
import { Behaviour } from "../support/hostile.ts";
import {
  type BareWorld,
  CLIENT_CREDITS,
  OPERATOR,
  OTHER_OPERATOR,
  provide,
  RESERVE_CREDITS,
} from "../support/world.ts";

const UNITS = 10_000n;
/** A job is disputed after an equivocation at its last moment, a day later, and ruled another day later. */
const LONGEST_RISK = 3 * 86_400;
const NO_JOB = `0x${"0".repeat(32)}`;

const reserveOf = async ({ escrow }: Pick<BareWorld, "escrow">, operator = OPERATOR) => {
  const { reserve, held, leaving, leavesAt } = await escrow.operatorOf(operator);
  return { reserve: Number(reserve), held: Number(held), leaving: Number(leaving), leavesAt: Number(leavesAt) };
};

/** Announces a withdrawal; returns when it is due. */
async function announce({ escrow, operatorAdmin }: BareWorld, credits: number): Promise<number> {
  await escrow.connect(operatorAdmin).announceReserveWithdrawal(OPERATOR, credits);
  return (await now()) + LONGEST_RISK;
}

describe("fundReserve", () => {
  it("buys credits for the operator with the caller's tokens, whoever calls", async () => {
    const { escrow, token, stranger } = await freshBare();
    await provide({ escrow, token }, stranger, 123n * UNITS);
    const funding = escrow.connect(stranger).fundReserve(OTHER_OPERATOR, 123);
    await expectTokens(funding, token, [stranger, escrow], [-123n * UNITS, 123n * UNITS]);
    await expect(funding).to.emit(escrow, "ReserveChanged").withArgs(OTHER_OPERATOR, NO_JOB, 2, 123, 0);
    expect(await escrow.liabilities()).to.deep.equal([123n, 0n]);
  });

  it("refuses zero credits, and operators that there are not", async () => {
    const { escrow } = await freshBare();
    await expectRevert(escrow.fundReserve(OPERATOR, 0), "Ledger_ZeroCredits");
    for (const operator of [0, OTHER_OPERATOR + 1])
      await expectRevert(escrow.fundReserve(operator, 1), "Operator_Unknown", operator);
  });

  it("needs the caller's allowance, and the exact tokens", async () => {
    const { escrow, token, hostile, stranger } = await freshHostileWorld();
    await expectRevert(escrow.connect(stranger).fundReserve(OPERATOR, 1), "ERC20InsufficientAllowance");
    await provide({ escrow, token }, stranger, UNITS);
    await hostile.setFee(1);
    await expectRevert(escrow.connect(stranger).fundReserve(OPERATOR, 1), "Ledger_InexactTransfer", UNITS - 1n, UNITS);
  });

  it("never lets reserve and bonds outgrow 40 bits: a bond can always return", async () => {
    const { world, escrow, operatorAdmin } = await freshWorld();
    const job = await disputedProvenJob(world);
    const most = 2n ** 40n - 1n - BigInt(RESERVE_CREDITS);
    await provide(world, operatorAdmin, (most + 1n) * UNITS);
    const refused = escrow.connect(operatorAdmin).fundReserve(OPERATOR, most + 1n);
    await expectRevert(refused, "SafeCastOverflowedUintDowncast", 40, 2n ** 40n);
    await escrow.connect(operatorAdmin).fundReserve(OPERATOR, most);
    await sendExpire(world, job);
    expect(await reserveOf(world)).to.include({ reserve: 2 ** 40 - 1, held: 0 });
  });
});

describe("announceReserveWithdrawal", () => {
  it("is due after the longest time in which a job locked now can cost the operator", async () => {
    const { world, escrow, operatorAdmin } = await freshWorld();
    expect(await escrow.LONGEST_RISK()).to.equal(LONGEST_RISK);
    const time = (await now()) + 10;
    await nextBlockAt(time);
    await expect(escrow.connect(operatorAdmin).announceReserveWithdrawal(OPERATOR, 500))
      .to.emit(escrow, "ReserveLeaving")
      .withArgs(OPERATOR, 4, 500, time + LONGEST_RISK);
    expect(await reserveOf(world)).to.deep.equal({
      reserve: RESERVE_CREDITS,
      held: 0,
      leaving: 500,
      leavesAt: time + LONGEST_RISK,
    });
  });

  it("is the admin's call alone", async () => {
    const { escrow, owner, guardian, gateway, otherAdmin, stranger } = await freshWorld();
    for (const caller of [owner, guardian, gateway, otherAdmin, stranger]) {
      const refused = escrow.connect(caller).announceReserveWithdrawal(OPERATOR, 1);
      await expectRevert(refused, "Operator_NotAdmin", OPERATOR, caller.address);
      await expect(escrow.connect(caller).withdrawReserve(OPERATOR, caller.address))
        .to.be.revertedWithCustomError(escrow, "Operator_NotAdmin")
        .withArgs(OPERATOR, caller.address);
    }
  });

  it("replaces an earlier one, time included", async () => {
    const { world, escrow, operatorAdmin, stranger } = await freshWorld();
    const earlier = await announce(world, 500);
    await nextBlockAt(earlier - 10);
    const later = await announce(world, 400);
    await nextBlockAt(earlier);
    const refused = escrow.connect(operatorAdmin).withdrawReserve(OPERATOR, stranger.address);
    await expectRevert(refused, "Operator_ReserveStays", OPERATOR, later, earlier);
  });

  it("with 0 is taken back", async () => {
    const { world, escrow, operatorAdmin, stranger } = await freshWorld();
    const due = await announce(world, 500);
    const sent = escrow.connect(operatorAdmin).announceReserveWithdrawal(OPERATOR, 0);
    await expect(sent).to.emit(escrow, "ReserveLeaving").withArgs(OPERATOR, 5, 0, 0);
    await nextBlockAt(due + 1);
    const refused = escrow.connect(operatorAdmin).withdrawReserve(OPERATOR, stranger.address);
    await expectRevert(refused, "Operator_ReserveStays", OPERATOR, 0, due + 1);
  });
});

describe("withdrawReserve", () => {
  it("pays from the end of the notice on, not a second sooner, once", async () => {
    const { world, escrow, operatorAdmin, stranger, token } = await freshWorld();
    const due = await announce(world, 500);
    const mine = escrow.connect(operatorAdmin);
    await nextBlockAt(due - 1);
    const refused = mine.withdrawReserve(OPERATOR, stranger.address);
    await expectRevert(refused, "Operator_ReserveStays", OPERATOR, due, due - 1);
    await nextBlockAt(due);
    const withdrawing = mine.withdrawReserve(OPERATOR, stranger.address);
    await expectTokens(withdrawing, token, [escrow, stranger], [-500n * UNITS, 500n * UNITS]);
    await expect(withdrawing)
      .to.emit(escrow, "ReserveChanged")
      .withArgs(OPERATOR, NO_JOB, 5, RESERVE_CREDITS - 500, 0);
    expect(await escrow.liabilities()).to.deep.equal([BigInt(RESERVE_CREDITS - 500 + CLIENT_CREDITS), 0n]);
    await expectRevert(mine.withdrawReserve(OPERATOR, stranger.address), "Operator_ReserveStays", OPERATOR, 0, due + 1);
  });

  it("pays what is at hand when that is less than announced; held bonds stay", async () => {
    const { world, escrow, operatorAdmin, stranger, token } = await freshWorld();
    const due = await announce(world, 2 ** 40 - 1);
    await nextBlockAt(due - 10_000);
    await disputedProvenJob(world);
    await nextBlockAt(due);
    await expect(escrow.connect(operatorAdmin).withdrawReserve(OPERATOR, stranger.address)).to.changeTokenBalance(
      ethers,
      token,
      stranger,
      BigInt(RESERVE_CREDITS - 60) * UNITS,
    );
    expect(await reserveOf(world)).to.deep.equal({ reserve: 0, held: 60, leaving: 0, leavesAt: 0 });
  });

  it("refuses receivers that would lose the tokens", async () => {
    const { world, escrow, operatorAdmin, token } = await freshWorld();
    await nextBlockAt(await announce(world, 500));
    for (const receiver of [ethers.ZeroAddress, await escrow.getAddress(), await token.getAddress()]) {
      const refused = escrow.connect(operatorAdmin).withdrawReserve(OPERATOR, receiver);
      await expectRevert(refused, "Ledger_InvalidReceiver", receiver);
    }
  });

  it("changes nothing when the token refuses the receiver", async () => {
    const { world, escrow, hostile, operatorAdmin, stranger } = await freshHostileWorld();
    await nextBlockAt(await announce(world, 500));
    const before = await reserveOf(world);
    await hostile.setBehaviour(stranger.address, Behaviour.Revert);
    const mine = escrow.connect(operatorAdmin);
    await expect(mine.withdrawReserve(OPERATOR, stranger.address)).to.revert(ethers);
    await hostile.setBehaviour(stranger.address, Behaviour.ReturnFalse);
    await expect(mine.withdrawReserve(OPERATOR, stranger.address)).to.revert(ethers);
    expect(await reserveOf(world)).to.include(before);
  });
});
