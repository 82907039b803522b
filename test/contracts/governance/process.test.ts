/** How SVC holders decide: what a proposal needs, and when each step is possible. */

import { expect } from "chai";
import { DAY, mineAt, nextBlockAt, now } from "../support/chain.ts";
import { expectRevert } from "../support/expect.ts";
import {
  freshGovernedWorld,
  hashed,
  ProposalState,
  proposalOf,
  proposalThreshold,
  queuedProposal,
  Vote,
  votedProposal,
  votingDelay,
  votingPeriod,
} from "../support/governance.ts";
import type { World } from "../support/world.ts";

const pausing = (world: World) =>
  [[world.escrow, world.escrow.interface.encodeFunctionData("setPaused", [true])]] as const;

describe("A proposal", () => {
  it("is announced, voted, queued and executed, each in its time and not a second sooner", async () => {
    const { world, governor, escrow, owner, stranger } = await freshGovernedWorld();
    const proposal = await proposalOf(world, pausing(world), "pause");
    const state = () => governor.state(proposal.id);
    const proposedAt = (await now()) + 5;
    await nextBlockAt(proposedAt);
    await expect(governor.connect(owner).propose(...proposal.args)).to.emit(governor, "ProposalCreated");
    expect(await governor.proposalSnapshot(proposal.id)).to.equal(proposedAt + DAY);

    await nextBlockAt(proposedAt + DAY);
    await expectRevert(governor.connect(owner).castVote(proposal.id, Vote.For), "GovernorUnexpectedProposalState");
    await nextBlockAt(proposedAt + DAY + 1);
    await governor.connect(owner).castVote(proposal.id, Vote.For);
    await expectRevert(governor.queue(...hashed(proposal)), "GovernorUnexpectedProposalState");

    const deadline = proposedAt + DAY + 5 * DAY;
    await mineAt(deadline);
    expect(await state()).to.equal(ProposalState.Active);
    const queuedAt = deadline + 1;
    await nextBlockAt(queuedAt);
    await governor.connect(stranger).queue(...hashed(proposal));
    expect(await state()).to.equal(ProposalState.Queued);

    await nextBlockAt(queuedAt + 2 * DAY - 1);
    await expectRevert(governor.connect(stranger).execute(...hashed(proposal)), "TimelockUnexpectedOperationState");
    await nextBlockAt(queuedAt + 2 * DAY);
    await governor.connect(stranger).execute(...hashed(proposal));
    expect(await state()).to.equal(ProposalState.Executed);
    expect(await escrow.paused()).to.deep.equal([false, true]);
    await expectRevert(governor.execute(...hashed(proposal)), "GovernorUnexpectedProposalState");
  });

  it("needs a million SVC behind its author", async () => {
    const { world, governor, svc, owner, stranger } = await freshGovernedWorld();
    const { args } = await proposalOf(world, pausing(world), "pause");
    await svc.connect(owner).transfer(stranger.address, proposalThreshold - 1n);
    await svc.connect(stranger).delegate(stranger.address);
    await mineAt((await now()) + 1);
    await expect(governor.connect(stranger).propose(...args))
      .to.be.revertedWithCustomError(governor, "GovernorInsufficientProposerVotes")
      .withArgs(stranger.address, proposalThreshold - 1n, proposalThreshold);
    await svc.connect(owner).transfer(stranger.address, 1);
    await mineAt((await now()) + 1);
    await expect(governor.connect(stranger).propose(...args)).to.emit(governor, "ProposalCreated");
  });

  it("needs four percent of the supply and more votes for it than against it", async () => {
    const { world, governor, svc, owner, stranger, client } = await freshGovernedWorld();
    const quorum = ((await svc.totalSupply()) * 4n) / 100n;
    await svc.connect(owner).transfer(stranger.address, quorum - 1n);
    await svc.connect(owner).transfer(client.address, 2n);
    for (const voter of [stranger, client]) await svc.connect(voter).delegate(voter.address);
    const cases = [
      { description: "one short", votes: [[stranger, Vote.For]], end: ProposalState.Defeated },
      {
        description: "abstentions take part",
        votes: [
          [stranger, Vote.For],
          [client, Vote.Abstain],
        ],
        end: ProposalState.Succeeded,
      },
      { description: "a tie", votes: [[owner, Vote.Abstain]], end: ProposalState.Defeated },
      {
        description: "against",
        votes: [
          [owner, Vote.Against],
          [stranger, Vote.For],
        ],
        end: ProposalState.Defeated,
      },
    ] as const;
    const proposals = [];
    for (const { description, votes, end } of cases) {
      const proposal = await proposalOf(world, pausing(world), description);
      await governor.connect(owner).propose(...proposal.args);
      proposals.push({ proposal, votes, end, description });
    }
    await mineAt((await now()) + votingDelay + 1);
    for (const { proposal, votes } of proposals)
      for (const [voter, vote] of votes) await governor.connect(voter).castVote(proposal.id, vote);
    await mineAt((await now()) + votingPeriod);
    for (const { proposal, end, description } of proposals) {
      expect(await governor.state(proposal.id), description).to.equal(end);
      if (end === ProposalState.Defeated) {
        await expectRevert(governor.queue(...hashed(proposal)), "GovernorUnexpectedProposalState");
      }
    }
  });

  it("is executed with the very calls that were voted on", async () => {
    const { world, governor, escrow } = await freshGovernedWorld();
    const proposal = await votedProposal(world, pausing(world));
    const [targets, values, , description] = hashed(proposal);
    const other = [escrow.interface.encodeFunctionData("setPaused", [false])];
    await expectRevert(governor.queue(targets, values, other, description), "GovernorNonexistentProposal");
  });

  it("can be taken back by its author before the vote, and by nobody else, ever", async () => {
    const { world, governor, owner, stranger, guardian } = await freshGovernedWorld();
    const proposal = await proposalOf(world, pausing(world), "taken back");
    await governor.connect(owner).propose(...proposal.args);
    for (const caller of [stranger, guardian])
      await expectRevert(governor.connect(caller).cancel(...hashed(proposal)), "GovernorUnableToCancel");
    await governor.connect(owner).cancel(...hashed(proposal));
    expect(await governor.state(proposal.id)).to.equal(ProposalState.Canceled);
    const queued = await queuedProposal(world, pausing(world), "queued");
    await expectRevert(governor.connect(owner).cancel(...hashed(queued)), "GovernorUnableToCancel");
  });
});
