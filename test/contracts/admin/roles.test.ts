import { expect } from "chai";
import { someAddress } from "../support/actors.ts";
import { ethers, nextBlockAt, now } from "../support/chain.ts";
import { freshBare } from "../support/fresh.ts";

const DAY = 86_400;
const UNAUTHORIZED = "OwnableUnauthorizedAccount";

describe("Roles of the escrow", () => {
  it("leave everything that lasts to the owner", async () => {
    const { escrow, guardian, gateway, stranger } = await freshBare();
    const other = someAddress("other");
    for (const caller of [guardian, gateway, stranger]) {
      const mine = escrow.connect(caller);
      for (const attempt of [
        mine.addGateway(other),
        mine.scheduleFee(0),
        mine.setTreasury(other),
        mine.setGuardian(other),
      ]) {
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
    await expect(escrow.connect(guardian).setGatewayLocking(gateway.address, true))
      .to.be.revertedWithCustomError(escrow, UNAUTHORIZED)
      .withArgs(guardian.address);
    await escrow.connect(owner).setGatewayLocking(gateway.address, true);
    expect(await escrow.gatewayOf(gateway.address)).to.deep.equal([1n, true]);
  });

  it("end with their holder: an old guardian can do nothing", async () => {
    const { escrow, guardian, stranger } = await freshBare();
    await escrow.setGuardian(stranger.address);
    await expect(escrow.connect(guardian).setPaused(true))
      .to.be.revertedWithCustomError(escrow, "Admin_NotGuardian")
      .withArgs(guardian.address);
    await escrow.connect(stranger).setPaused(true);
    await escrow.setGuardian(ethers.ZeroAddress);
    expect(await escrow.guardian()).to.equal(ethers.ZeroAddress);
  });

  it("are counted: each change has the next number", async () => {
    const { escrow, gateway, guardian } = await freshBare();
    const other = someAddress("other");
    // Treasury, guardian, fee and two gateways at deployment were 1 … 5.
    await expect(escrow.addGateway(other)).to.emit(escrow, "GatewayAdded").withArgs(3, other, 6);
    await expect(escrow.setGatewayLocking(gateway.address, false))
      .to.emit(escrow, "GatewayLockingSet")
      .withArgs(1, gateway.address, 7, false);
    const at = (await now()) + 5;
    await nextBlockAt(at);
    await expect(escrow.scheduleFee(0))
      .to.emit(escrow, "FeeScheduled")
      .withArgs(8, 0, at + DAY);
    await expect(escrow.setTreasury(other)).to.emit(escrow, "TreasurySet").withArgs(9, other);
    await expect(escrow.setGuardian(other)).to.emit(escrow, "GuardianSet").withArgs(10, other);
    await expect(escrow.setPaused(true)).to.emit(escrow, "PausedSet").withArgs(11, true);
    await expect(escrow.connect(guardian).setPaused(false)).to.be.revertedWithCustomError(escrow, "Admin_NotGuardian");
  });
});

describe("Gateways", () => {
  it("have permanent ids, in order", async () => {
    const { escrow, gateway, otherGateway, stranger } = await freshBare();
    expect([
      await escrow.gatewaySigner(0),
      await escrow.gatewaySigner(1),
      await escrow.gatewaySigner(2),
      await escrow.gatewaySigner(3),
    ]).to.deep.equal([ethers.ZeroAddress, gateway.address, otherGateway.address, ethers.ZeroAddress]);
    expect(await escrow.gatewayOf(stranger.address)).to.deep.equal([0n, false]);
  });

  it("are added once and never the zero address", async () => {
    const { escrow, gateway } = await freshBare();
    await expect(escrow.addGateway(gateway.address))
      .to.be.revertedWithCustomError(escrow, "Admin_GatewayExists")
      .withArgs(gateway.address);
    await expect(escrow.addGateway(ethers.ZeroAddress))
      .to.be.revertedWithCustomError(escrow, "Admin_InvalidAddress")
      .withArgs(ethers.ZeroAddress);
    await expect(escrow.setGatewayLocking(someAddress("none"), true))
      .to.be.revertedWithCustomError(escrow, "Admin_UnknownGateway")
      .withArgs(someAddress("none"));
  });

  it("are 255 at most", async () => {
    const { escrow } = await freshBare();
    const add = (i: number) => escrow.interface.encodeFunctionData("addGateway", [someAddress(`gateway ${i}`)]);
    const items = Array.from({ length: 253 }, (_, i) => add(i));
    for (let from = 0; from < items.length; from += 128)
      await escrow.execute(items.slice(from, from + 128), { gasLimit: 16_000_000 });
    expect(await escrow.gatewaySigner(255)).to.equal(someAddress("gateway 252"));
    await expect(escrow.addGateway(someAddress("one too many"))).to.be.revertedWithCustomError(
      escrow,
      "Admin_TooManyGateways",
    );
  });
});
