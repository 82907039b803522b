/** The earnings of an operator by a thousand charged jobs, and their cost, in units of the stablecoin (millionths). */
import { toUnits } from "../../../../protocol/money.ts";
import type { Operator, OperatorGas } from "../../../contract.ts";

const JOBS = 1_000n;
const UNITS_PER_USDG = 1_000_000n;
const ETHER = 10n ** 18n;

/** `earned`: the operator's part of the fee. */
type Thousand = { charged: bigint; fee: bigint; earned: bigint; wei: bigint; gas: bigint; margin: bigint };

/**
 * By the jobs of 24 hours: as many jobs that end without a charge come with a thousand charged ones as came with them, and their gas counts as
 * that of a charged one, which is more than it is. Null without a charged job. `price`: whole USDG for a coin of the chain.
 */
export function ofThousand(
  {
    jobs_24h,
    failed_24h,
    credits_24h,
    fee_units_24h,
    earned_24h,
  }: Pick<Operator, "jobs_24h" | "failed_24h" | "credits_24h" | "fee_units_24h" | "earned_24h">,
  { wei_per_job }: OperatorGas,
  price: number,
): Thousand | null {
  if (jobs_24h === 0 || wei_per_job === null) return null;
  const each = (sum: bigint) => (sum * JOBS) / BigInt(jobs_24h);
  const fee = each(BigInt(fee_units_24h));
  const earned = each(BigInt(earned_24h));
  const wei = each(BigInt(wei_per_job) * BigInt(jobs_24h + failed_24h));
  // Rounded up, since it is a cost.
  const gas = (wei * BigInt(price) * UNITS_PER_USDG + ETHER - 1n) / ETHER;
  return { charged: each(toUnits(credits_24h)), fee, earned, wei, gas, margin: earned - gas };
}
