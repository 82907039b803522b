/** The price formula of `contracts/Pricing.sol`, for quotes ahead of the chain and for verification after it. */

/** Completions up to this many output tokens cost the flat price. */
export const FLAT_TOKENS = 500;
/** Output tokens a request may produce when the client names none: they cost just the flat price on every launch model. */
export const DEFAULT_MAX_TOKENS = 2_000;

/** Most credits that a job can lock, and so cost (`Pricing.JOB_LIMIT`). The catalog lists no model of which a whole window costs more. */
export const JOB_LIMIT = 5_000;

export type Prices = { creditsPerRequest: number; creditsPer1kTokens: number };

/**
 * Credits of a completion of `tokens` output tokens.
 *
 * @example
 * quote(2_001, { creditsPerRequest: 40, creditsPer1kTokens: 20 }); // 41
 */
export function quote(tokens: number, prices: Prices): number {
  if (tokens <= FLAT_TOKENS) return prices.creditsPerRequest;
  return Math.max(Math.ceil((tokens * prices.creditsPer1kTokens) / 1000), prices.creditsPerRequest);
}

/**
 * Credits a finished job is charged: its price, never more than the lock.
 *
 * @example
 * charge(2_001, { creditsPerRequest: 40, creditsPer1kTokens: 20 }, 40); // 40
 */
export function charge(tokens: number, prices: Prices, locked: number): number {
  return Math.min(quote(tokens, prices), locked);
}

/**
 * Split of a charge in token units; exact, because a credit is 10,000 units and a fee is in 1/10,000.
 *
 * @example
 * payouts(40, 500); // { workerUnits: 380_000n, feeUnits: 20_000n }
 */
export function payouts(credits: number, feeBps: number): { workerUnits: bigint; feeUnits: bigint } {
  const feeUnits = BigInt(credits) * BigInt(feeBps);
  return { feeUnits, workerUnits: BigInt(credits) * 10_000n - feeUnits };
}
