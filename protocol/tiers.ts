/** Price classes, by their number on chain. */
export const TIERS = ["lite", "standard", "pro", "max"] as const;
export type Tier = (typeof TIERS)[number];

/** Number on chain → name in the API. */
export function tierName(tier: number): Tier {
  const name = TIERS[tier];
  if (name === undefined) throw new RangeError(`unknown tier number ${tier}`);
  return name;
}
