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

/** Output tokens by a worker's signed counts, and the bytes of its text. */
export type SignedTokens = { completionTokens: number; reasoningTokens: number; textBytes: number };

/**
 * Output tokens that a job's operator settles: of content and reasoning by the worker's counts, at most those that the gateway counted.
 *
 * @example
 * settledTokens({ completionTokens: 300, reasoningTokens: 900, textBytes: 1_400 }, 1_100); // 1100
 */
export function settledTokens({ completionTokens, reasoningTokens }: SignedTokens, countedTokens: number): number {
  return Math.min(completionTokens + reasoningTokens, countedTokens);
}

/**
 * Output tokens that a job costs which its worker proved without its operator: of the content alone, at most one a byte.
 *
 * @example
 * provenTokens({ completionTokens: 300, reasoningTokens: 900, textBytes: 1_400 }); // 300
 */
export function provenTokens({ completionTokens, textBytes }: SignedTokens): number {
  return Math.min(completionTokens, textBytes);
}

/**
 * How many of the billed output tokens are reasoning: those beyond the worker's count of the content.
 *
 * @example
 * billedReasoning({ billedTokens: 1_100, completionTokens: 300 }); // 800
 */
export function billedReasoning(usage: { billedTokens: number; completionTokens: number }): number {
  return Math.max(0, usage.billedTokens - usage.completionTokens);
}

/** The whole fee, in the unit of an operator's share of it: one is 5 % of the fee. */
const WHOLE_FEE = 20;

/**
 * An operator's share of the fee, in percent of the fee.
 *
 * @example
 * sharePercent(10); // 50
 */
export const sharePercent = (operatorShare: number): number => (operatorShare * 100) / WHOLE_FEE;

/** Terms of a job's fee: hundredths of a percent of the charge, and the operator's share of the fee, twentieths. */
export type FeeTerms = { feeBps: number; operatorShare: number };

/** A charge's parts, token units: `feeUnits` is the whole fee, of which the operator earns `operatorUnits` and the treasury has the rest. */
export type Split = { workerUnits: bigint; feeUnits: bigint; operatorUnits: bigint; treasuryUnits: bigint };

/**
 * Split of a charge in token units; between worker and fee exact, because a credit is 10,000 units and a fee is in 1/10,000. The operator's
 * part of the fee is rounded down.
 *
 * @example
 * payouts(40, { feeBps: 500, operatorShare: 10 });
 * // { workerUnits: 380_000n, feeUnits: 20_000n, operatorUnits: 10_000n, treasuryUnits: 10_000n }
 */
export function payouts(credits: number, { feeBps, operatorShare }: FeeTerms): Split {
  const feeUnits = BigInt(credits) * BigInt(feeBps);
  const operatorUnits = (feeUnits * BigInt(operatorShare)) / BigInt(WHOLE_FEE);
  const workerUnits = BigInt(credits) * 10_000n - feeUnits;
  return { workerUnits, feeUnits, operatorUnits, treasuryUnits: feeUnits - operatorUnits };
}
