/** The refusals of the governor and its timelock in words: a voter can act on words, and hardly on the names of errors. */
import { PROPOSAL_STATES } from "../protocol/proposal-states.ts";

const SVC_UNITS = 10n ** 18n;
const svc = (units: unknown): string => `${(BigInt(units as bigint) / SVC_UNITS).toLocaleString("en")} SVC`;
/** The states of a bitmap. */
const statesIn = (bitmap: unknown): string =>
  PROPOSAL_STATES.filter((_, state) => (BigInt(bitmap as string) >> BigInt(state)) & 1n).join(" or ");

const SENTENCES: Record<string, (...args: readonly unknown[]) => string> = {
  GovernorInsufficientProposerVotes: (proposer, votes, threshold) =>
    `${proposer} had ${svc(votes)} of votes in the block before, and a proposal needs ${svc(threshold)}: ` +
    "delegate the SVC to that account (`proposals delegate`), and propose in a later block",
  GovernorAlreadyCastVote: (voter) => `${voter} has voted on this proposal, and a vote cannot be changed`,
  GovernorUnexpectedProposalState: (_id, current, expected) => {
    const is = PROPOSAL_STATES[Number(current)] ?? current;
    const wanted = statesIn(expected);
    return wanted === ""
      ? `the same proposal was made before and is ${is}: propose it with other words`
      : `the proposal is ${is}, and this takes one that is ${wanted}; \`proposals list\` says when`;
  },
  GovernorNonexistentProposal: (id) => `there is no proposal ${id}; see \`proposals list\``,
  GovernorAlreadyQueuedProposal: () =>
    "the proposal is queued already; `proposals list` says from when it can be executed",
  GovernorOnlyExecutor: (account) => `only a vote can do this, through the timelock; ${account} cannot`,
  GovernorRestrictedProposer: (account) =>
    `the proposal's description names another account than ${account} as its only proposer`,
  GovernorUnableToCancel: (_id, account) =>
    `${account} cannot cancel the proposal: only its proposer can, before the vote begins`,
  GovernorInvalidVoteType: () => "a vote is for, against or abstain",
  TimelockUnexpectedOperationState: () =>
    "the timelock does not allow it yet: the decision's delay is not over; `proposals list` says from when it can be executed",
  OwnableUnauthorizedAccount: (account) =>
    `${account} does not own this contract: what its owner, the timelock, does takes a vote`,
};

/** The error in a sentence, and its name for those who look it up; null for errors of other contracts. */
export function explainGovernor(name: string, args: readonly unknown[]): string | null {
  const sentence = SENTENCES[name];
  return sentence === undefined ? null : `${sentence(...args)} (${name})`;
}
