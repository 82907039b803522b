/** Models listed at deployment. */
import { TIERS } from "../../protocol/tiers.ts";

/** Every model of a tier has the tier's price at launch; later each model's price is its own. */
const PRICES = {
  lite: { creditsPerRequest: 2, creditsPer1kTokens: 1 },
  standard: { creditsPerRequest: 8, creditsPer1kTokens: 4 },
  pro: { creditsPerRequest: 18, creditsPer1kTokens: 9 },
  max: { creditsPerRequest: 40, creditsPer1kTokens: 20 },
};

const MODELS = [
  ["llama-3.3-70b-instruct", "70B", 128_000, "max", "meta"],
  ["deepseek-r1-distill-llama-70b", "70B", 128_000, "max", "deepseek"],
  ["gemma-3-27b-it", "27B", 128_000, "pro", "google"],
  ["qwen3-14b", "14B", 32_768, "pro", "qwen"],
  ["qwen3-8b", "8B", 32_768, "standard", "qwen"],
  ["mistral-7b-instruct-v0.3", "7B", 32_768, "standard", "mistralai"],
  ["llama-3.2-3b-instruct", "3B", 128_000, "lite", "meta"],
  ["qwen3-1.7b", "1.7B", 32_768, "lite", "qwen"],
] as const;

/** The contract's `ModelListing`s, in the order of their on-chain numbers (from 1). */
export const LAUNCH_MODELS = MODELS.map(([id, parameters, contextWindow, tier, ownedBy]) => ({
  id,
  parameters,
  ownedBy,
  tier: TIERS.indexOf(tier),
  contextWindow,
  ...PRICES[tier],
}));
