/** The treasury: what its owner pays, what it owes for rulings, and fees that the stablecoin refused to pay; and its SVC. */
import { expect } from "chai";
import { jobId, someAddress } from "../support/actors.ts";
import { actingAs, ethers } from "../support/chain.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { freshBare, freshHostileWorld } from "../support/fresh.ts";
import { Behaviour } from "../support/hostile.ts";
import { lockJob, sendComplete } from "../support/jobs.ts";

it("ProtocolTreasury pays what its owner says, and counts", async () => {
  const { treasury, token, owner, stranger } = await freshBare();
  await token.mint(await treasury.getAddress(), 100);
  const paying = treasury.connect(owner).pay(token, stranger.address, 60);
  await expect(paying)
    .to.emit(treasury, "TreasuryPaid")
    .withArgs(1, await token.getAddress(), stranger.address, 60);
  await expectTokens(paying, token, [treasury, stranger], [-60n, 60n]);
  await expect(treasury.connect(owner).pay(token, stranger.address, 40))
    .to.emit(treasury, "TreasuryPaid")
    .withArgs(2, await token.getAddress(), stranger.address, 40);
});

describe("A fee that the stablecoin refused to pay to the treasury", () => {
  const FEE = 60_000n;
  const receiver = someAddress("receiver");

  /** The fee of a job waits for the treasury, whom the token blocks. */
  async function withBlockedTreasury() {
    const world = await freshHostileWorld();
    await world.hostile.setBehaviour(world.treasury, Behaviour.Revert);
    await sendComplete(world, await lockJob(world));
    expect(await world.escrow.claimableOf(world.treasury)).to.equal(FEE);
    return world;
  }

  it("reaches the receiver that the owner names, once", async () => {
    const { treasury, escrow, hostile, owner } = await withBlockedTreasury();
    await expectRevert(escrow.claim(treasury), "Ledger_PayoutRefused", await treasury.getAddress(), FEE);
    const claiming = treasury.connect(owner).claimTo(receiver);
    await expect(claiming)
      .to.emit(escrow, "PayoutClaimed")
      .withArgs(await treasury.getAddress(), receiver, 1, FEE);
    await expectTokens(claiming, hostile, [escrow, treasury, receiver], [-FEE, 0n, FEE]);
    expect(await escrow.claimableOf(treasury)).to.equal(0);
    await expectRevert(treasury.connect(owner).claimTo(receiver), "Ledger_NothingToClaim", await treasury.getAddress());
  });
});

it("ServiceToken is minted once, a billion of 18 decimals, and votes by time", async () => {
  const { svc, owner, stranger } = await freshBare();
  const supply = 10n ** 27n;
  expect([await svc.totalSupply(), await svc.balanceOf(owner.address)]).to.deep.equal([supply, supply]);
  expect(await svc.decimals()).to.equal(18);
  expect(await svc.CLOCK_MODE()).to.equal("mode=timestamp");
  expect(await svc.clock()).to.equal((await ethers.provider.getBlock("latest"))?.timestamp);
  await svc.transfer(stranger.address, 5);
  await svc.connect(stranger).delegate(stranger.address);
  expect(await svc.getVotes(stranger.address)).to.equal(5);
  expect(await svc.nonces(stranger.address)).to.equal(0);
});

// The treasury as payer of compensations: on the escrow's word only, as far as its money goes.

describe("Compensations of the treasury", () => {
  it("go to the escrow when it asks, are counted, and end where the money ends", async () => {
    const { treasury, escrow, token, owner } = await freshBare();
    await token.mint(treasury, 1_000n);
    const mine = treasury.connect(await actingAs(escrow));
    const id = jobId();
    const paying = mine.compensate(id, 600);
    await expect(paying).to.emit(treasury, "CompensationPaid").withArgs(id, 1, 600);
    await expectTokens(paying, token, [treasury, escrow], [-600n, 600n]);
    await expect(treasury.connect(owner).pay(token, owner.address, 1)).to.emit(treasury, "TreasuryPaid");
    const short = mine.compensate(id, 600);
    await expect(short).to.emit(treasury, "CompensationPaid").withArgs(id, 3, 399);
    await expectTokens(short, token, [treasury, escrow], [-399n, 399n]);
    const empty = mine.compensate(id, 600);
    await expect(empty).not.to.emit(treasury, "CompensationPaid");
    await expect(mine.compensate(id, 0)).not.to.emit(treasury, "CompensationPaid");
  });

  it("have one escrow, for ever", async () => {
    const { treasury, escrow, token, owner, stranger } = await freshBare();
    expect(await treasury.escrow()).to.equal(await escrow.getAddress());
    await expectRevert(treasury.connect(owner).setEscrow(stranger), "Treasury_InvalidEscrow", stranger.address);
    const fresh = await ethers.deployContract("ProtocolTreasury", [owner, token]);
    await expectRevert(fresh.setEscrow(ethers.ZeroAddress), "Treasury_InvalidEscrow", ethers.ZeroAddress);
    await expect(fresh.setEscrow(stranger)).to.emit(fresh, "EscrowSet").withArgs(stranger.address);
  });
});
