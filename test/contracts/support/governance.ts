/** The protocol as it is deployed where money is real: the timelock owns it, and only a vote moves the timelock. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { DEFAULT_GOVERNANCE } from "../../../scripts/deploy/protocol-settings.ts";
import { ethers, freshly, mineAt, nextBlockAt, now } from "./chain.ts";
import { type BareWorld, deployWorld } from "./world.ts";

export const { votingDelay, votingPeriod, timelockDelay, proposalThreshold } = DEFAULT_GOVERNANCE;
/** Numbers of `ProposalState` in OpenZeppelin's IGovernor. */
export const ProposalState = {
  Pending: 0,
  Active: 1,
  Canceled: 2,
  Defeated: 3,
  Succeeded: 4,
  Queued: 5,
  Expired: 6,
  Executed: 7,
} as const;
export const Vote = { Against: 0, For: 1, Abstain: 2 } as const;

async function governed() {
  const world = await deployWorld({ owner: null });
  // The deployer is the tests' first holder of SVC; votes count once they are delegated.
  await world.svc.connect(world.owner).delegate(world.owner.address);
  return world;
}

/** A world owned by its timelock. `owner` is the holder of nearly all SVC, and nothing else. */
export const freshGovernedWorld = () => freshly(governed);

export type Call = readonly [target: { getAddress(): Promise<string> }, data: string];
/** The arguments that name a proposal to the governor. */
export type Proposal = { id: bigint; args: readonly [string[], bigint[], string[], string] };

/** A proposal of some calls, not sent yet. */
export async function proposalOf(world: BareWorld, calls: readonly Call[], description: string): Promise<Proposal> {
  const targets = await Promise.all(calls.map(([target]) => target.getAddress()));
  const args = [targets, calls.map(() => 0n), calls.map(([, data]) => data), description] as const;
  const id = await world.governor.hashProposal(args[0], args[1], args[2], ethers.id(description));
  return { id, args };
}

/** The arguments of `queue`, `execute` and `cancel`: the description goes by its hash. */
export function hashed({ args: [targets, values, data, description] }: Proposal) {
  return [targets, values, data, ethers.id(description)] as const;
}

/** Proposed and voted through by the holder of nearly all SVC; its vote is over. */
export async function votedProposal(
  world: BareWorld,
  calls: readonly Call[],
  description = "a decision",
  voter: HardhatEthersSigner = world.owner,
): Promise<Proposal> {
  const proposal = await proposalOf(world, calls, description);
  const mine = world.governor.connect(voter);
  await mine.propose(...proposal.args);
  await mineAt((await now()) + votingDelay + 1);
  await mine.castVote(proposal.id, Vote.For);
  await mineAt(Number(await mine.proposalDeadline(proposal.id)) + 1);
  return proposal;
}

/** Voted through and queued; returns when it can be executed. */
export async function queuedProposal(world: BareWorld, calls: readonly Call[], description?: string) {
  const proposal = await votedProposal(world, calls, description);
  await world.governor.connect(world.stranger).queue(...hashed(proposal));
  return { ...proposal, readyAt: Number(await world.governor.proposalEta(proposal.id)) };
}

/** All the way: proposed, voted, queued and executed, by a stranger, in the first second in which it can be. */
export async function decide(world: BareWorld, calls: readonly Call[], description?: string) {
  const { readyAt, ...proposal } = await queuedProposal(world, calls, description);
  await nextBlockAt(readyAt);
  return await world.governor.connect(world.stranger).execute(...hashed(proposal));
}
