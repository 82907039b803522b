import { expect } from "chai";
import { DEFAULT_COMPENSATION_CAP } from "../../../scripts/deploy/protocol-settings.ts";
import { DAY, ethers, mineAt, nextBlockAt, now } from "../support/chain.ts";
import { deployEscrow } from "../support/escrow-factory.ts";
import { expectRevert } from "../support/expect.ts";
import { freshBare } from "../support/fresh.ts";

describe("The fee", () => {
  it("takes effect after a day, not a second sooner, and keeps the old one until then", async () => {
    const { escrow } = await freshBare();
    const at = (await now()) + 5;
    await nextBlockAt(at);
    await escrow.scheduleFee(500);
    await mineAt(at + DAY - 1);
    expect(await escrow.feeBps()).to.equal(1_000);
    await mineAt(at + DAY);
    expect(await escrow.feeBps()).to.equal(500);
  });

  it("replaces an announcement that is not in force, and builds on one that is", async () => {
    const { escrow } = await freshBare();
    await escrow.scheduleFee(500);
    await escrow.scheduleFee(600);
    expect(await escrow.feeBps()).to.equal(1_000);
    await nextBlockAt((await now()) + DAY);
    await escrow.scheduleFee(700);
    expect(await escrow.feeBps()).to.equal(600);
  });

  it("is 20 % at most, from the first day on", async () => {
    const { world, escrow } = await freshBare();
    await escrow.scheduleFee(2_000);
    await expectRevert(escrow.scheduleFee(2_001), "Admin_FeeAboveCap", 2_001, 2_000);
    await deployEscrow(world, { feeBps: 2_000 });
    await expectRevert(deployEscrow(world, { feeBps: 2_001 }), "Admin_FeeAboveCap", 2_001, 2_000);
  });
});

describe("The treasury's address", () => {
  it("is never where fees would be lost", async () => {
    const { world, escrow, token } = await freshBare();
    for (const lost of [ethers.ZeroAddress, await escrow.getAddress(), await token.getAddress()])
      await expectRevert(escrow.setTreasury(lost), "Admin_InvalidAddress", lost);
    for (const lost of [ethers.ZeroAddress, await token.getAddress()])
      await expectRevert(deployEscrow(world, { treasury: lost }), "Admin_InvalidAddress", lost);
  });
});

describe("The cap of compensations", () => {
  const CEILING = 1_000_000;

  it("is the owner's to set, from nothing up to the ceiling", async () => {
    const { escrow, owner } = await freshBare();
    expect(await escrow.compensationCap()).to.equal(DEFAULT_COMPENSATION_CAP);
    expect(await escrow.COMPENSATION_CEILING()).to.equal(CEILING);
    for (const [i, cap] of [0, CEILING].entries()) {
      await expect(escrow.connect(owner).setCompensationCap(cap))
        .to.emit(escrow, "CompensationCapSet")
        .withArgs(7 + i, cap);
      expect(await escrow.compensationCap()).to.equal(cap);
    }
  });

  it("is 10,000 of the stablecoin a day at most, from the first day on", async () => {
    const { world, escrow } = await freshBare();
    for (const cap of [CEILING + 1, 2 ** 40 - 1])
      await expectRevert(escrow.setCompensationCap(cap), "Admin_CompensationAboveCeiling", cap, CEILING);
    await deployEscrow(world, { cap: CEILING });
    const above = deployEscrow(world, { cap: CEILING + 1 });
    await expectRevert(above, "Admin_CompensationAboveCeiling", CEILING + 1, CEILING);
  });
});
