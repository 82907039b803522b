import { expect } from "chai";
import { ethers, mineAt, nextBlockAt, now } from "../support/chain.ts";
import { someAddress } from "../support/actors.ts";
import { escrowFactory } from "../support/escrow-factory.ts";
import { freshBare } from "../support/fresh.ts";

const DAY = 86_400;
const UNAUTHORIZED = "OwnableUnauthorizedAccount";

describe("Roles of the escrow", () => {
  it("leave everything that lasts to the owner", async () => {
    const { escrow, guardian, gateway, stranger } = await freshBare();
    const other = someAddress("other");
    for (const caller of [guardian, gateway, stranger]) {
      const mine = escrow.connect(caller);
      for (const attempt of [mine.addGateway(other), mine.scheduleFee(0), mine.setTreasury(other), mine.setGuardian(other)]) {
        await expect(attempt).to.be.revertedWithCustomError(escrow, UNAUTHORIZED).withArgs(caller.address);
      }
    }
  });

  it("let owner and guardian pause, resume and take a gateway's lock, and nobody else", async () => {
    const { escrow, owner, guardian, gateway, otherGateway, stranger } = await freshBare();
    for (const caller of [gateway, otherGateway, stranger]) {
      const mine = escrow.connect(caller);
      for (const attempt of [mine.setPaused(true), mine.setGatewayLocking(gateway.address, false)]) {
        await expect(attempt).to.be.revertedWithCustomError(escrow, "Admin_NotGuardian").withArgs(caller.address);
      }
    }
    for (const caller of [owner, guardian]) {
      await escrow.connect(caller).setPaused(true);
      expect(await escrow.paused()).to.equal(true);
      await escrow.connect(caller).setPaused(false);
      await escrow.connect(caller).setGatewayLocking(gateway.address, false);
      expect(await escrow.gatewayOf(gateway.address)).to.deep.equal([1n, false]);
    }
  });

  it("let only the owner give a lock back", async () => {
    const { escrow, owner, guardian, gateway } = await freshBare();
    await escrow.connect(guardian).setGatewayLocking(gateway.address, false);
    await expect(escrow.connect(guardian).setGatewayLocking(gateway.address, true)).to.be.revertedWithCustomError(escrow, UNAUTHORIZED).withArgs(guardian.address);
    await escrow.connect(owner).setGatewayLocking(gateway.address, true);
    expect(await escrow.gatewayOf(gateway.address)).to.deep.equal([1n, true]);
  });

  it("end with their holder: an old guardian can do nothing", async () => {
    const { escrow, guardian, stranger } = await freshBare();
    await escrow.setGuardian(stranger.address);
    await expect(escrow.connect(guardian).setPaused(true)).to.be.revertedWithCustomError(escrow, "Admin_NotGuardian").withArgs(guardian.address);
    await escrow.connect(stranger).setPaused(true);
    await escrow.setGuardian(ethers.ZeroAddress);
    expect(await escrow.guardian()).to.equal(ethers.ZeroAddress);
  });

  it("are counted: each change has the next number", async () => {
    const { escrow, gateway, guardian } = await freshBare();
    const other = someAddress("other");
    // Treasury, guardian, fee and two gateways at deployment were 1 … 5.
    await expect(escrow.addGateway(other)).to.emit(escrow, "GatewayAdded").withArgs(3, other, 6);
    await expect(escrow.setGatewayLocking(gateway.address, false)).to.emit(escrow, "GatewayLockingSet").withArgs(1, gateway.address, 7, false);
    const at = (await now()) + 5;
    await nextBlockAt(at);
    await expect(escrow.scheduleFee(0)).to.emit(escrow, "FeeScheduled").withArgs(8, 0, at + DAY);
    await expect(escrow.setTreasury(other)).to.emit(escrow, "TreasurySet").withArgs(9, other);
    await expect(escrow.setGuardian(other)).to.emit(escrow, "GuardianSet").withArgs(10, other);
    await expect(escrow.setPaused(true)).to.emit(escrow, "PausedSet").withArgs(11, true);
    await expect(escrow.connect(guardian).setPaused(false)).to.be.revertedWithCustomError(escrow, "Admin_NotGuardian");
  });
});

describe("Gateways", () => {
  it("have permanent ids, in order", async () => {
    const { escrow, gateway, otherGateway, stranger } = await freshBare();
    expect([await escrow.gatewaySigner(0), await escrow.gatewaySigner(1), await escrow.gatewaySigner(2), await escrow.gatewaySigner(3)]).to.deep.equal([
      ethers.ZeroAddress,
      gateway.address,
      otherGateway.address,
      ethers.ZeroAddress,
    ]);
    expect(await escrow.gatewayOf(stranger.address)).to.deep.equal([0n, false]);
  });

  it("are added once and never the zero address", async () => {
    const { escrow, gateway } = await freshBare();
    await expect(escrow.addGateway(gateway.address)).to.be.revertedWithCustomError(escrow, "Admin_GatewayExists").withArgs(gateway.address);
    await expect(escrow.addGateway(ethers.ZeroAddress)).to.be.revertedWithCustomError(escrow, "Admin_InvalidAddress").withArgs(ethers.ZeroAddress);
    await expect(escrow.setGatewayLocking(someAddress("none"), true)).to.be.revertedWithCustomError(escrow, "Admin_UnknownGateway").withArgs(someAddress("none"));
  });

  it("are 255 at most", async () => {
    const { escrow } = await freshBare();
    const add = (i: number) => escrow.interface.encodeFunctionData("addGateway", [someAddress(`gateway ${i}`)]);
    const items = Array.from({ length: 253 }, (_, i) => add(i));
    for (let from = 0; from < items.length; from += 128) await escrow.execute(items.slice(from, from + 128), { gasLimit: 16_000_000 });
    expect(await escrow.gatewaySigner(255)).to.equal(someAddress("gateway 252"));
    await expect(escrow.addGateway(someAddress("one too many"))).to.be.revertedWithCustomError(escrow, "Admin_TooManyGateways");
  });
});

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
    await expect(escrow.scheduleFee(2_001)).to.be.revertedWithCustomError(escrow, "Admin_FeeAboveCap").withArgs(2_001, 2_000);
    const factory = await escrowFactory();
    const windows = await escrow.windows();
    await expect(factory.deploy(token, catalog, registry, panel, owner, owner, treasury, 2_001, { ...named(windows) }))
      .to.be.revertedWithCustomError(escrow, "Admin_FeeAboveCap")
      .withArgs(2_001, 2_000);
  });
});

describe("The treasury's address", () => {
  it("is never where fees would be lost", async () => {
    const { escrow, token } = await freshBare();
    for (const lost of [ethers.ZeroAddress, await escrow.getAddress(), await token.getAddress()]) {
      await expect(escrow.setTreasury(lost)).to.be.revertedWithCustomError(escrow, "Admin_InvalidAddress").withArgs(lost);
    }
  });
});

describe("The time windows", () => {
  // 150 + 3,600 + 86,400: locked, proven in the last second, disputed in the last second, ruled in the last second.
  const LONGEST = 90_150;

  it("must be shorter, added up, than the unbonding of a stake", async () => {
    const { escrow, panel, token, catalog, owner, svc, treasury } = await freshBare();
    const factory = await escrowFactory();
    const windows = named(await escrow.windows());
    for (const [unbonding, good] of [[LONGEST, false], [LONGEST + 1, true]] as const) {
      const registry = await ethers.deployContract("WorkerRegistry", [owner, svc, 1, 1, unbonding]);
      const deploying = factory.deploy(token, catalog, registry, panel, owner, owner, treasury, 0, windows);
      if (good) await deploying;
      else await expect(deploying).to.be.revertedWithCustomError(escrow, "Admin_InvalidWindows");
    }
  });

  it("count whichever way of punishment is the longest", async () => {
    const { escrow, panel, token, catalog, owner, svc, treasury } = await freshBare();
    const factory = await escrowFactory();
    const base = named(await escrow.windows());
    const cases = [
      [{ ...base, equivocation: 200_000 }, 200_000],
      // Settled in the last second, disputed in the last: 150 + 60 + 30 + 86,400 beats a finalization of 10 s.
      [{ ...base, finalization: 10 }, 86_640],
    ] as const;
    for (const [windows, longest] of cases) {
      const tight = await ethers.deployContract("WorkerRegistry", [owner, svc, 1, 1, longest]);
      await expect(factory.deploy(token, catalog, tight, panel, owner, owner, treasury, 0, windows)).to.be.revertedWithCustomError(escrow, "Admin_InvalidWindows");
      const enough = await ethers.deployContract("WorkerRegistry", [owner, svc, 1, 1, longest + 1]);
      await factory.deploy(token, catalog, enough, panel, owner, owner, treasury, 0, windows);
    }
  });

  it("leave time to answer and to be mined", async () => {
    const { escrow, panel, token, catalog, registry, owner, treasury } = await freshBare();
    const factory = await escrowFactory();
    const windows = named(await escrow.windows());
    for (const name of ["completion", "inclusion"] as const) {
      await expect(factory.deploy(token, catalog, registry, panel, owner, owner, treasury, 0, { ...windows, [name]: 0 })).to.be.revertedWithCustomError(escrow, "Admin_InvalidWindows");
    }
  });
});

type Windows = Record<"completion" | "inclusion" | "finalization" | "dispute" | "arbitration" | "equivocation" | "notice", bigint>;

function named(windows: Windows): Windows {
  const { completion, inclusion, finalization, dispute, arbitration, equivocation, notice } = windows;
  return { completion, inclusion, finalization, dispute, arbitration, equivocation, notice };
}
