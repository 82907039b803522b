/** Units of money. A credit is 0.01 of a 6-decimal stablecoin; the chain counts whole credits. */

export const UNITS_PER_CREDIT = 10_000n;
export const MINIMUM_DEPOSIT_CREDITS = 100;

/**
 * Credits → stablecoin value as the API shows it (`usdg_value`): credits / 100, exact to the cent.
 *
 * @example
 * usdgValue(40); // 0.4
 */
export function usdgValue(credits: number): number {
  return credits / 100;
}

/**
 * Token units → credits, with their fraction.
 *
 * @example
 * creditsOf(405_000); // 40.5
 */
export function creditsOf(units: number): number {
  return units / Number(UNITS_PER_CREDIT);
}

/**
 * The daily limit that is proposed to a wallet without one: with it, an operator's stolen key takes a part of the credits before the wallet acts.
 *
 * @example
 * proposedDailyLimit(20_000); // 2_000
 */
export const proposedDailyLimit = (credits: number): number => Math.max(500, Math.ceil(credits / 10));

/**
 * Credits → token units.
 *
 * @example
 * toUnits(40); // 400_000n
 */
export function toUnits(credits: bigint | number): bigint {
  return BigInt(credits) * UNITS_PER_CREDIT;
}

/**
 * Token units as people write them: a unit is a millionth of a USDG.
 *
 * @example
 * usdgText(108_000n); // "0.108 USDG"
 */
export function usdgText(units: bigint): string {
  const digits = (units < 0n ? -units : units).toString().padStart(7, "0");
  const fraction = digits.slice(-6).replace(/0+$/, "");
  return `${units < 0n ? "-" : ""}${digits.slice(0, -6)}${fraction === "" ? "" : `.${fraction}`} USDG`;
}
