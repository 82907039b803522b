import { expect } from "chai";
import { windowsOf } from "../../../contracts/ignition/protocol.ts";
import { DEFAULT_DURATIONS } from "../../../contracts/ignition/settings.ts";
import { ethers, mineAt, nextBlockAt, now } from "../support/chain.ts";
import { escrowFactory } from "../support/escrow-factory.ts";
import { freshBare } from "../support/fresh.ts";

const DAY = 86_400;
const WINDOWS = windowsOf(DEFAULT_DURATIONS);

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
    const { escrow, panel, token, catalog, registry, owner, treasury } = await freshBare();
    await escrow.scheduleFee(2_000);
    await expect(escrow.scheduleFee(2_001))
      .to.be.revertedWithCustomError(escrow, "Admin_FeeAboveCap")
      .withArgs(2_001, 2_000);
    const factory = await escrowFactory();
    await expect(factory.deploy(token, catalog, registry, panel, owner, owner, treasury, 2_001, WINDOWS))
      .to.be.revertedWithCustomError(escrow, "Admin_FeeAboveCap")
      .withArgs(2_001, 2_000);
  });
});

describe("The treasury's address", () => {
  it("is never where fees would be lost", async () => {
    const { escrow, token } = await freshBare();
    for (const lost of [ethers.ZeroAddress, await escrow.getAddress(), await token.getAddress()]) {
      await expect(escrow.setTreasury(lost))
        .to.be.revertedWithCustomError(escrow, "Admin_InvalidAddress")
        .withArgs(lost);
    }
  });
});

describe("The time windows", () => {
  // 150 + 3,600 + 86,400: locked, proven in the last second, disputed in the last second, ruled in the last second.
  const LONGEST = 90_150;

  it("must be shorter, added up, than the unbonding of a stake", async () => {
    const { escrow, panel, token, catalog, owner, svc, treasury } = await freshBare();
    const factory = await escrowFactory();
    for (const [unbonding, good] of [
      [LONGEST, false],
      [LONGEST + 1, true],
    ] as const) {
      const registry = await ethers.deployContract("WorkerRegistry", [owner, svc, 1, 1, unbonding]);
      const deploying = factory.deploy(token, catalog, registry, panel, owner, owner, treasury, 0, WINDOWS);
      if (good) await deploying;
      else await expect(deploying).to.be.revertedWithCustomError(escrow, "Admin_InvalidWindows");
    }
  });

  it("count whichever way of punishment is the longest", async () => {
    const { escrow, panel, token, catalog, owner, svc, treasury } = await freshBare();
    const factory = await escrowFactory();
    const cases = [
      [{ ...WINDOWS, equivocation: 200_000 }, 200_000],
      // Settled in the last second, disputed in the last: 150 + 60 + 30 + 86,400 beats a finalization of 10 s.
      [{ ...WINDOWS, finalization: 10 }, 86_640],
    ] as const;
    for (const [windows, longest] of cases) {
      const tight = await ethers.deployContract("WorkerRegistry", [owner, svc, 1, 1, longest]);
      await expect(
        factory.deploy(token, catalog, tight, panel, owner, owner, treasury, 0, windows),
      ).to.be.revertedWithCustomError(escrow, "Admin_InvalidWindows");
      const enough = await ethers.deployContract("WorkerRegistry", [owner, svc, 1, 1, longest + 1]);
      await factory.deploy(token, catalog, enough, panel, owner, owner, treasury, 0, windows);
    }
  });

  it("leave time to answer and to be mined", async () => {
    const { escrow, panel, token, catalog, registry, owner, treasury } = await freshBare();
    const factory = await escrowFactory();
    for (const name of ["completion", "inclusion"] as const) {
      await expect(
        factory.deploy(token, catalog, registry, panel, owner, owner, treasury, 0, { ...WINDOWS, [name]: 0 }),
      ).to.be.revertedWithCustomError(escrow, "Admin_InvalidWindows");
    }
  });
});
