/** Who the timelock obeys, and who changes the rules of voting: nobody but a vote. */

import { expect } from "chai";
import { DAY, ethers, nextBlockAt } from "../support/chain.ts";
import { expectRevert } from "../support/expect.ts";
import { freshGovernedWorld, hashed, queuedProposal } from "../support/governance.ts";

describe("The governor", () => {
  it("changes the governor's own rules only by a vote", async () => {
    const { world, governor, owner } = await freshGovernedWorld();
    for (const call of [
      () => governor.connect(owner).setVotingPeriod(1),
      () => governor.connect(owner).setVotingDelay(0),
      () => governor.connect(owner).setProposalThreshold(0),
      () => governor.connect(owner).updateQuorumNumerator(0),
      () => governor.connect(owner).updateTimelock(owner.address),
      () => governor.connect(owner).relay(owner.address, 0, "0x"),
    ]) {
      await expectRevert(call(), "GovernorOnlyExecutor", owner.address);
    }
    const data = governor.interface.encodeFunctionData("setVotingPeriod", [7 * DAY]);
    const queued = await queuedProposal(world, [[governor, data]], "longer votes");
    await nextBlockAt(queued.readyAt);
    await governor.connect(world.stranger).execute(...hashed(queued));
    expect(await governor.votingPeriod()).to.equal(7 * DAY);
  });
});

describe("The timelock", () => {
  it("takes orders from the governor alone", async () => {
    const { timelock, escrow, owner, guardian, stranger } = await freshGovernedWorld();
    const call = [await escrow.getAddress(), 0, "0x", ethers.ZeroHash, ethers.ZeroHash] as const;
    for (const caller of [owner, guardian, stranger]) {
      const mine = timelock.connect(caller);
      for (const attempt of [
        () => mine.schedule(...call, 2 * DAY),
        () => mine.scheduleBatch([call[0]], [0], ["0x"], ethers.ZeroHash, ethers.ZeroHash, 2 * DAY),
        () => mine.cancel(ethers.ZeroHash),
        () => mine.grantRole(ethers.ZeroHash, caller.address),
      ]) {
        await expectRevert(attempt(), "AccessControlUnauthorizedAccount");
      }
      await expectRevert(mine.updateDelay(0), "TimelockUnauthorizedCaller", caller.address);
      // Anyone may execute, but only what was scheduled.
      await expectRevert(mine.execute(...call), "TimelockUnexpectedOperationState");
    }
  });
});
