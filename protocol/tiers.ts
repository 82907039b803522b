import type { Prices } from "./pricing.ts";

/** Price classes, by their number on chain. */
export const TIERS = ["lite", "standard", "pro", "max"] as const;
export type Tier = (typeof TIERS)[number];

/** Every model of a tier has the tier's price when it is listed; later each model's price is its own. */
export const LISTING_PRICES: Record<Tier, Prices> = {
  lite: { creditsPerRequest: 2, creditsPer1kTokens: 1 },
  standard: { creditsPerRequest: 8, creditsPer1kTokens: 4 },
  pro: { creditsPerRequest: 18, creditsPer1kTokens: 9 },
  max: { creditsPerRequest: 40, creditsPer1kTokens: 20 },
};

/**
 * Number on chain → name in the API.
 *
 * @example
 * tierName(3); // "max"
 */
export function tierName(tier: number): Tier {
  const name = TIERS[tier];
  if (name === undefined) throw new RangeError(`unknown tier number ${tier}`);
  return name;
}
