/** How SVC holders decide: what a proposal needs, when each step is possible, and what only a vote can do. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { expect } from "chai";
import { someAddress } from "../support/actors.ts";
import { DAY, ethers, mineAt, nextBlockAt, now } from "../support/chain.ts";
import { expectRevert, expectTokens } from "../support/expect.ts";
import {
  decide,
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
import { sendLock } from "../support/jobs.ts";
import { PERMIT_TYPES } from "../support/sign.ts";
import { addSigners, CHAIN_ID, LISTING, type World } from "../support/world.ts";

const pausing = (world: World) =>
  [[world.escrow, world.escrow.interface.encodeFunctionData("setPaused", [true])]] as const;

describe("A proposal", () => {
  it("is announced, voted, queued and executed, each to the second", async () => {
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

// Who the timelock obeys, and who changes the rules of voting: nobody but a vote.

it("The governor changes its own rules only by a vote", async () => {
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

it("The timelock takes orders from the governor alone", async () => {
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

// What only governance can do is done through the deployed governor and timelock, for real, and within its bounds.

describe("A vote", () => {
  it("makes every kind of change in one decision", async () => {
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
      [registry, registry.interface.encodeFunctionData("scheduleSvcWorth", [7])],
      [treasury, treasury.interface.encodeFunctionData("pay", [await token.getAddress(), stranger.address, 1_000])],
    ]);
    await expectTokens(deciding, token, stranger, 1_000);
    expect([await escrow.operatorCount(), (await escrow.operatorOf(3)).admin]).to.deep.equal([3n, stranger.address]);
    expect(await escrow.compensationCap()).to.equal(1_000_000);
    expect([await escrow.guardian(), await escrow.treasury()]).to.deep.equal([guardian, treasurer]);
    expect(await panel.arbitersOf(2)).to.deep.equal([arbiters, 2n]);
    expect((await catalog.modelAt(9)).listing.id).to.equal("tiny");
    expect((await registry.nextStakeTerms()).slice(0, 2)).to.deep.equal([2_000n, 1_000n]);
    expect(await registry.svcWorth()).to.equal(7);
    // The rest is the operator's and the wallet's: governance names no signer and chooses for nobody.
    await addSigners(world, 3, stranger, [newcomer]);
    await escrow.connect(client).chooseOperator(3);
    await sendLock(world, { gateway: newcomer });
  });

  it("cannot take more than the cap, and one bad call undoes the whole decision", async () => {
    const { world, escrow, governor } = await freshGovernedWorld();
    const queued = await queuedProposal(world, [
      [escrow, escrow.interface.encodeFunctionData("setPaused", [true])],
      [escrow, escrow.interface.encodeFunctionData("scheduleFee", [2_001, 0])],
    ]);
    await nextBlockAt(queued.readyAt);
    await expectRevert(governor.execute(...hashed(queued)), "Admin_FeeAboveCap", 2_001, 2_000);
    expect(await escrow.paused()).to.deep.equal([false, false]);
  });
});

// SVC as votes: by the holder's word, by signature, as of the snapshot; and as permits.

const AMOUNT = 10n ** 24n;

async function domainOf(world: World) {
  return {
    name: "Service Token",
    version: "1",
    chainId: CHAIN_ID,
    verifyingContract: await world.svc.getAddress(),
  };
}

async function proposed(world: World): Promise<bigint> {
  const { escrow, governor, owner } = world;
  const data = escrow.interface.encodeFunctionData("setPaused", [true]);
  const proposal = await proposalOf(world, [[escrow, data]], "pause");
  await governor.connect(owner).propose(...proposal.args);
  return proposal.id;
}

it("Votes count as of the snapshot, whatever is bought or sold later", async () => {
  const { world, svc, governor, owner, stranger, client } = await freshGovernedWorld();
  await svc.connect(owner).transfer(client.address, AMOUNT);
  for (const holder of [client, stranger]) await svc.connect(holder).delegate(holder.address);
  const id = await proposed(world);
  await mineAt((await now()) + votingDelay + 1);
  await svc.connect(client).transfer(stranger.address, AMOUNT);
  await governor.connect(stranger).castVote(id, Vote.Against);
  await governor.connect(client).castVote(id, Vote.For);
  expect(await governor.proposalVotes(id)).to.deep.equal([0n, AMOUNT, 0n]);
  await expectRevert(governor.connect(client).castVote(id, Vote.Against), "GovernorAlreadyCastVote", client.address);
  await expectRevert(governor.connect(owner).castVote(id, 3), "GovernorInvalidVoteType");
});

describe("Permits of SVC", () => {
  async function permit(world: World, deadline: number, chainId = CHAIN_ID) {
    const { svc, owner, stranger } = world;
    const message = {
      owner: owner.address,
      spender: stranger.address,
      value: AMOUNT,
      nonce: await svc.nonces(owner.address),
      deadline,
    };
    const signature = await owner.signTypedData({ ...(await domainOf(world)), chainId }, PERMIT_TYPES, message);
    const { v, r, s } = ethers.Signature.from(signature);
    return [owner.address, stranger.address, AMOUNT, deadline, v, r, s] as const;
  }

  it("approve by signature, once", async () => {
    const { world, svc, owner, stranger } = await freshGovernedWorld();
    const args = await permit(world, (await now()) + 1_000);
    await svc.connect(stranger).permit(...args);
    expect(await svc.allowance(owner.address, stranger.address)).to.equal(AMOUNT);
    expect(await svc.nonces(owner.address)).to.equal(1);
    await expectRevert(svc.permit(...args), "ERC2612InvalidSigner");
  });

  it("are worth nothing after their deadline or on another chain", async () => {
    const { world, svc } = await freshGovernedWorld();
    const deadline = (await now()) - 1;
    await expectRevert(svc.permit(...(await permit(world, deadline))), "ERC2612ExpiredSignature", deadline);
    await expectRevert(svc.permit(...(await permit(world, (await now()) + 1_000, 1))), "ERC2612InvalidSigner");
  });
});
