/** Models listed at deployment. */
import { LISTING_PRICES, TIERS } from "../../protocol/tiers.ts";

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
  ...LISTING_PRICES[tier],
}));
