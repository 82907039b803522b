/** What only governance can do is done through the deployed governor and timelock, for real, and within its bounds. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { expect } from "chai";
import { someAddress } from "../support/actors.ts";
import { nextBlockAt } from "../support/chain.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import { decide, freshGovernedWorld, hashed, queuedProposal } from "../support/governance.ts";
import { sendLock } from "../support/jobs.ts";
import { addSigners, LISTING } from "../support/world.ts";

describe("A vote", () => {
  it("admits operators, sets the cap of compensations, appoints arbiters, names treasury and guardian and lists models, all in one decision", async () => {
    const world = await freshGovernedWorld();
    const { escrow, panel, catalog, registry, treasury, token, client, stranger, others } = world;
    const newcomer = others[0] as HardhatEthersSigner;
    await token.mint(treasury, 1_000n);
    const [guardian, treasurer] = [someAddress("guardian"), someAddress("treasurer")];
    const arbiters = ["a", "b", "c"].map(someAddress);
    const deciding = decide(world, [
      [escrow, escrow.interface.encodeFunctionData("admitOperator", [stranger.address])],
      [escrow, escrow.interface.encodeFunctionData("setCompensationCap", [1_000_000])],
      [escrow, escrow.interface.encodeFunctionData("setGuardian", [guardian])],
      [escrow, escrow.interface.encodeFunctionData("setTreasury", [treasurer])],
      [panel, panel.interface.encodeFunctionData("setArbiters", [arbiters, 2])],
      [catalog, catalog.interface.encodeFunctionData("list", [LISTING])],
      [registry, registry.interface.encodeFunctionData("scheduleStakeTerms", [2_000, 1_000])],
      [treasury, treasury.interface.encodeFunctionData("pay", [await token.getAddress(), stranger.address, 1_000])],
    ]);
    await expectTokens(deciding, token, stranger, 1_000);
    expect([await escrow.operatorCount(), (await escrow.operatorOf(3)).admin]).to.deep.equal([3n, stranger.address]);
    expect(await escrow.compensationCap()).to.equal(1_000_000);
    expect([await escrow.guardian(), await escrow.treasury()]).to.deep.equal([guardian, treasurer]);
    expect(await panel.arbitersOf(2)).to.deep.equal([arbiters, 2n]);
    expect((await catalog.modelAt(9)).listing.id).to.equal("tiny");
    expect((await registry.nextStakeTerms()).slice(0, 2)).to.deep.equal([2_000n, 1_000n]);
    // The rest is the operator's and the wallet's: governance names no signer and chooses for nobody.
    await addSigners(world, 3, stranger, [newcomer]);
    await escrow.connect(client).chooseOperator(3);
    await sendLock(world, { gateway: newcomer });
  });

  it("cannot take more than the cap, and one bad call undoes the whole decision", async () => {
    const { world, escrow, governor } = await freshGovernedWorld();
    const queued = await queuedProposal(world, [
      [escrow, escrow.interface.encodeFunctionData("setPaused", [true])],
      [escrow, escrow.interface.encodeFunctionData("scheduleFee", [2_001])],
    ]);
    await nextBlockAt(queued.readyAt);
    await expectRevert(governor.execute(...hashed(queued)), "Admin_FeeAboveCap", 2_001, 2_000);
    expect(await escrow.paused()).to.deep.equal([false, false]);
  });
});
