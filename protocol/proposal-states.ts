/** States of a proposal by their number at the governor (`ProposalState` of OpenZeppelin's IGovernor 5.7). */
export const PROPOSAL_STATES = [
  "pending",
  "active",
  "canceled",
  "defeated",
  "succeeded",
  "queued",
  "expired",
  "executed",
] as const;
export type ProposalState = (typeof PROPOSAL_STATES)[number];
