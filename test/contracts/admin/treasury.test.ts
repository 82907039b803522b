import { expect } from "chai";
import { ethers } from "../support/chain.ts";
import { freshBare } from "../support/fresh.ts";

describe("ProtocolTreasury", () => {
  it("pays what its owner says, and counts", async () => {
    const { treasury, token, owner, stranger } = await freshBare();
    await token.mint(await treasury.getAddress(), 100);
    const paying = treasury.connect(owner).pay(token, stranger.address, 60);
    await expect(paying)
      .to.emit(treasury, "TreasuryPaid")
      .withArgs(1, await token.getAddress(), stranger.address, 60);
    await expect(paying).to.changeTokenBalances(ethers, token, [treasury, stranger], [-60n, 60n]);
    await expect(treasury.connect(owner).pay(token, stranger.address, 40))
      .to.emit(treasury, "TreasuryPaid")
      .withArgs(2, await token.getAddress(), stranger.address, 40);
  });

  it("pays on nobody else's word", async () => {
    const { treasury, token, guardian, gateway, stranger } = await freshBare();
    await token.mint(await treasury.getAddress(), 100);
    for (const caller of [guardian, gateway, stranger]) {
      await expect(treasury.connect(caller).pay(token, caller.address, 1))
        .to.be.revertedWithCustomError(treasury, "OwnableUnauthorizedAccount")
        .withArgs(caller.address);
    }
  });
});

describe("ServiceToken", () => {
  it("is minted once, a billion of 18 decimals, and votes by time", async () => {
    const { svc, owner, stranger } = await freshBare();
    expect([await svc.totalSupply(), await svc.decimals(), await svc.balanceOf(owner.address)]).to.deep.equal([
      10n ** 27n,
      18n,
      10n ** 27n,
    ]);
    expect(await svc.CLOCK_MODE()).to.equal("mode=timestamp");
    expect(await svc.clock()).to.equal((await ethers.provider.getBlock("latest"))?.timestamp);
    await svc.transfer(stranger.address, 5);
    await svc.connect(stranger).delegate(stranger.address);
    expect(await svc.getVotes(stranger.address)).to.equal(5);
    expect(await svc.nonces(stranger.address)).to.equal(0);
  });
});
