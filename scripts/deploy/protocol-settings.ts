/** Everything a deployment decides once. The time windows and the unbonding period can never be changed later. */
import type { Address } from "viem";

/** The contract's `Windows`, seconds. */
export type Windows = {
  completion: number;
  inclusion: number;
  finalization: number;
  dispute: number;
  arbitration: number;
  equivocation: number;
  notice: number;
};

/** All durations of a deployment, seconds. */
export type Durations = Windows & {
  /** From the start of unbonding to the withdrawal of a stake; longer than every window in which a job can be punished. */
  unbonding: number;
  /** From the announcement of a model's price to its effect. */
  priceNotice: number;
  /** From the announcement of a model's end to its effect. */
  retirementNotice: number;
};

/** The part of the durations that the escrow keeps. */
export function windowsOf({
  unbonding: _,
  priceNotice: _price,
  retirementNotice: _end,
  ...windows
}: Durations): Windows {
  return windows;
}

export type ProtocolSettings = {
  /** Sends every transaction; owns the contracts until the last step. */
  deployer: Address;
  /** Owner of all contracts afterwards; null for the timelock, as in every real deployment. Tests put a key of their own here. */
  owner: Address | null;
  guardian: Address;
  /** First holder of the whole SVC supply. */
  serviceTokenHolder: Address;
  /** An existing 6-decimal stablecoin; null deploys the test stablecoin. */
  stablecoin: Address | null;
  /** Operators to admit, by their admins, in the order of their numbers. They add their signers themselves. */
  operators: readonly Address[];
  feeBps: number;
  /** Credits that the treasury can be charged on a UTC day; a quarter of it for one operator's jobs. */
  compensationCap: number;
  /** Millionths of an SVC. */
  minimumStake: bigint;
  /** The stake that a slash takes, millionths of an SVC; at most the minimum stake, worth more than any job. */
  slashAmount: bigint;
  /** The worth of 1,000 SVC, credits: gateways bound what is open at a worker by the worth of its slashes. */
  creditsPer1kSvc: number;
  /** First arbiters of disputes. */
  arbiters: readonly Address[];
  /** Votes that make a ruling; more than half of the arbiters. */
  arbiterQuorum: number;
  governance: Governance;
  durations: Durations;
};

/** The rules by which SVC holders decide; a vote can change all of them. */
export type Governance = {
  /** Seconds between a proposal and its vote. */
  votingDelay: number;
  /** Seconds a vote lasts. */
  votingPeriod: number;
  /** Base units of SVC whose votes are needed to propose. */
  proposalThreshold: bigint;
  /** Share of the supply that must take part. */
  quorumPercent: number;
  /** Seconds between the queueing of a decision and its execution. */
  timelockDelay: number;
};

const DAY = 86_400;

export const DEFAULT_DURATIONS: Durations = {
  completion: 120,
  inclusion: 30,
  finalization: 3_600,
  dispute: 60,
  arbitration: DAY,
  equivocation: DAY,
  notice: DAY,
  unbonding: 2 * DAY,
  priceNotice: DAY,
  retirementNotice: 14 * DAY,
};

export const DEFAULT_GOVERNANCE: Governance = {
  votingDelay: DAY,
  votingPeriod: 5 * DAY,
  proposalThreshold: 10n ** 24n,
  quorumPercent: 4,
  timelockDelay: 2 * DAY,
};

export const DEFAULT_FEE_BPS = 1_000;
/** 200 stablecoin units a day, 50 for one operator's jobs: one job of the highest price. */
export const DEFAULT_COMPENSATION_CAP = 20_000;
/** 1,000 SVC. */
export const DEFAULT_MINIMUM_STAKE = 1_000_000_000n;
/** 500 SVC: half of the minimum stake, so that a worker slashed once can still be slashed in full. */
export const DEFAULT_SLASH_AMOUNT = 500_000_000n;
/** 10 credits an SVC: a slash is worth the largest job. */
export const DEFAULT_CREDITS_PER_1K_SVC = 10_000;
/** 1,000,000,000 SVC of 18 decimals. */
export const SERVICE_TOKEN_SUPPLY = 10n ** 27n;
