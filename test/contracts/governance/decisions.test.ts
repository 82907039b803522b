/** What only governance can do is done through the deployed governor and timelock, for real, and within its bounds. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { expect } from "chai";
import { someAddress } from "../support/actors.ts";
import { ethers, mineAt, nextBlockAt, now } from "../support/chain.ts";
import { decide, freshGovernedWorld, hashed, queuedProposal } from "../support/governance.ts";
import { lockJob, sendLock } from "../support/jobs.ts";
import { addSigners, MODEL, OPERATOR } from "../support/world.ts";

const DAY = 86_400;

describe("A vote", () => {
  it("admits operators, sets the cap of compensations, appoints arbiters, names treasury and guardian and lists models, all in one decision", async () => {
    const world = await freshGovernedWorld();
    const { escrow, panel, catalog, registry, treasury, token, client, stranger, others } = world;
    const newcomer = others[0] as HardhatEthersSigner;
    await token.mint(treasury, 1_000n);
    const [guardian, treasurer] = [someAddress("guardian"), someAddress("treasurer")];
    const arbiters = ["a", "b", "c"].map(someAddress);
    const listing = {
      id: "tiny",
      parameters: "1B",
      ownedBy: "someone",
      tier: 0,
      creditsPerRequest: 2,
      creditsPer1kTokens: 1,
      contextWindow: 4_096,
    };
    const deciding = await decide(world, [
      [escrow, escrow.interface.encodeFunctionData("admitOperator", [stranger.address])],
      [escrow, escrow.interface.encodeFunctionData("setCompensationCap", [1_000_000])],
      [escrow, escrow.interface.encodeFunctionData("setGuardian", [guardian])],
      [escrow, escrow.interface.encodeFunctionData("setTreasury", [treasurer])],
      [panel, panel.interface.encodeFunctionData("setArbiters", [arbiters, 2])],
      [catalog, catalog.interface.encodeFunctionData("list", [listing])],
      [registry, registry.interface.encodeFunctionData("scheduleStakeTerms", [2_000, 1_000])],
      [treasury, treasury.interface.encodeFunctionData("pay", [await token.getAddress(), stranger.address, 1_000])],
    ]);
    await expect(deciding).to.changeTokenBalance(ethers, token, stranger, 1_000);
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

  it("announces prices and fees a day ahead; a job keeps the terms of its lock", async () => {
    const world = await freshGovernedWorld();
    const { escrow, catalog } = world;
    const queued = await queuedProposal(world, [
      [catalog, catalog.interface.encodeFunctionData("schedulePrices", [MODEL, 50, 25])],
      [escrow, escrow.interface.encodeFunctionData("scheduleFee", [2_000])],
    ]);
    await nextBlockAt(queued.readyAt);
    await world.governor.connect(world.stranger).execute(...hashed(queued));
    const effectiveAt = (await now()) + DAY;
    await nextBlockAt(effectiveAt - 1);
    const before = await lockJob(world);
    await nextBlockAt(effectiveAt);
    const after = await lockJob(world);
    const terms = async (id: string) => {
      const { creditsPerRequest, creditsPer1kTokens, feeBps, credits } = await escrow.jobOf(id);
      return [creditsPerRequest, creditsPer1kTokens, feeBps, credits].map(Number);
    };
    expect(await terms(before.id)).to.deep.equal([40, 20, 1_000, 80]);
    expect(await terms(after.id)).to.deep.equal([50, 25, 2_000, 100]);
    await mineAt(effectiveAt + DAY);
    expect(await terms(before.id)).to.deep.equal([40, 20, 1_000, 80]);
  });

  it("cannot take more than the cap, and one bad call undoes the whole decision", async () => {
    const world = await freshGovernedWorld();
    const { escrow, governor } = world;
    const queued = await queuedProposal(world, [
      [escrow, escrow.interface.encodeFunctionData("setPaused", [true])],
      [escrow, escrow.interface.encodeFunctionData("scheduleFee", [2_001])],
    ]);
    await nextBlockAt(queued.readyAt);
    await expect(governor.execute(...hashed(queued)))
      .to.be.revertedWithCustomError(escrow, "Admin_FeeAboveCap")
      .withArgs(2_001, 2_000);
    expect(await escrow.paused()).to.deep.equal([false, false]);
  });

  it("lets an operator lock again that the guardian stopped, and resumes what it paused", async () => {
    const world = await freshGovernedWorld();
    const { escrow, guardian } = world;
    await escrow.connect(guardian).stopOperator(OPERATOR, true);
    await escrow.connect(guardian).setPaused(true);
    await decide(world, [
      [escrow, escrow.interface.encodeFunctionData("stopOperator", [OPERATOR, false])],
      [escrow, escrow.interface.encodeFunctionData("setPaused", [false])],
    ]);
    await sendLock(world);
  });

  it("to pause outranks the guardian: only another vote resumes", async () => {
    const world = await freshGovernedWorld();
    const { escrow, guardian } = world;
    const pause = (paused: boolean) => [escrow, escrow.interface.encodeFunctionData("setPaused", [paused])] as const;
    await decide(world, [pause(true)], "pause");
    await escrow.connect(guardian).setPaused(false);
    await expect(sendLock(world)).to.be.revertedWithCustomError(escrow, "Ledger_Paused");
    await decide(world, [pause(false)], "resume");
    await sendLock(world);
  });
});
