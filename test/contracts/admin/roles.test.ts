import { expect } from "chai";
import { someAddress } from "../support/actors.ts";
import { DAY, ethers, nextBlockAt, now } from "../support/chain.ts";
import { expectRevert } from "../support/expect.ts";
import { freshBare, freshWorld } from "../support/fresh.ts";
import { sendLock } from "../support/jobs.ts";
import { buyCredits, OPERATOR } from "../support/world.ts";

describe("Roles of the escrow", () => {
  it("end with their holder: an old guardian can do nothing", async () => {
    const { escrow, guardian, stranger } = await freshBare();
    await escrow.setGuardian(stranger.address);
    for (const attempt of [
      () => escrow.connect(guardian).setPaused(true),
      () => escrow.connect(guardian).stopOperator(OPERATOR, true),
    ]) {
      await expectRevert(attempt(), "Admin_NotGuardian", guardian.address);
    }
    await escrow.connect(stranger).setPaused(true);
    await escrow.setGuardian(ethers.ZeroAddress);
    expect(await escrow.guardian()).to.equal(ethers.ZeroAddress);
  });

  it("are counted: each change has the next number", async () => {
    const { escrow, guardian } = await freshBare();
    const other = someAddress("other");
    // Treasury, guardian, cap, fee and two operators at deployment were 1 … 6.
    await expect(escrow.admitOperator(other)).to.emit(escrow, "OperatorAdmitted").withArgs(3, other, 7);
    await expect(escrow.stopOperator(3, true)).to.emit(escrow, "OperatorStopped").withArgs(3, 8, true);
    const at = (await now()) + 5;
    await nextBlockAt(at);
    await expect(escrow.scheduleFee(0))
      .to.emit(escrow, "FeeScheduled")
      .withArgs(9, 0, at + DAY);
    await expect(escrow.setTreasury(other)).to.emit(escrow, "TreasurySet").withArgs(10, other);
    await expect(escrow.setGuardian(other)).to.emit(escrow, "GuardianSet").withArgs(11, other);
    await expect(escrow.setPaused(true)).to.emit(escrow, "PausedSet").withArgs(12, false, true);
    await expect(escrow.setCompensationCap(0)).to.emit(escrow, "CompensationCapSet").withArgs(13, 0);
    await expectRevert(escrow.connect(guardian).setPaused(false), "Admin_NotGuardian");
  });
});

describe("A pause", () => {
  it("of governance outranks the guardian's: the guardian cannot lift it, nor make it its own", async () => {
    const { world, escrow, owner, guardian, client } = await freshWorld();
    await escrow.connect(owner).setPaused(true);
    for (const [paused, flags] of [
      [false, [false, true]],
      [true, [true, true]],
      [false, [false, true]],
      [true, [true, true]],
    ] as const) {
      const setting = escrow.connect(guardian).setPaused(paused);
      await expect(setting)
        .to.emit(escrow, "PausedSet")
        .withArgs((n: bigint) => n > 0n, ...flags);
      expect(await escrow.paused()).to.deep.equal(flags);
      await expectRevert(buyCredits(world, client, 100), "Ledger_Paused");
      await expectRevert(sendLock(world), "Ledger_Paused");
    }
    // It ends both.
    await escrow.connect(owner).setPaused(false);
    expect(await escrow.paused()).to.deep.equal([false, false]);
    await buyCredits(world, client, 100);
    await sendLock(world);
  });

  it("of the guardian stops deposits and locks alone, and ends by its word or governance's", async () => {
    const { world, escrow, owner, guardian, client } = await freshWorld();
    for (const lifter of [guardian, owner]) {
      await escrow.connect(guardian).setPaused(true);
      await expectRevert(buyCredits(world, client, 100), "Ledger_Paused");
      await expectRevert(sendLock(world), "Ledger_Paused");
      await escrow.connect(lifter).setPaused(false);
      expect(await escrow.paused()).to.deep.equal([false, false]);
      await buyCredits(world, client, 100);
      await sendLock(world);
    }
  });
});
