/** Worlds in which operators earn half of the fee. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { DAY, mineAt, now } from "./chain.ts";
import type { Job } from "./jobs.ts";
import { type BareWorld, OPERATOR, type World } from "./world.ts";

/** Twentieths of the fee: half. */
export const HALF = 10;
/** The operator's part of the default job: half of the fee of 60 credits at 10 %. */
export const PART_UNITS = 30_000n;
/** A job is disputed after an equivocation at its last moment, a day later, and ruled another day later. */
export const LONGEST_RISK = 3 * DAY;

/** Jobs locked from now on earn their operator this share of a fee of 10 %. The next day begins soon after. */
export async function withShare<W extends BareWorld>(fresh: Promise<W>, share = HALF): Promise<W> {
  const world = await fresh;
  await world.escrow.scheduleFee(1_000, share);
  // An hour into a UTC day: the steps of a test are all of that day.
  const from = (await now()) + DAY;
  await mineAt((Math.floor(from / DAY) + 1) * DAY + 3_600);
  return world;
}

/** UTC day of a job's lock, and from when on what it earned can be withdrawn. */
export const dayOf = ({ lockedAt }: Job): number => Math.floor(lockedAt / DAY);
export const vestsAt = (job: Job): number => (dayOf(job) + 1) * DAY + LONGEST_RISK;

/** What an operator has earned by jobs of the job's day. */
export const earned = ({ escrow }: World, job: Job, operator = OPERATOR): Promise<bigint> =>
  escrow.earningsOf(operator, dayOf(job));

/** By the operator's admin, who gets it, unless another one is named. */
export function sendWithdrawal(
  { escrow, operatorAdmin }: World,
  [first, last]: readonly [first: number, last: number],
  options: { by?: HardhatEthersSigner; receiver?: string; operator?: number } = {},
) {
  const { by = operatorAdmin, operator = OPERATOR } = options;
  return escrow.connect(by).withdrawEarnings(operator, first, last, options.receiver ?? by.address);
}
