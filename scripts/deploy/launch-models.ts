/** Models listed at deployment, in the order of their on-chain numbers (from 1). */

/** Tier numbers of `IModelCatalog.Tier`. */
const LITE = 0;
const STANDARD = 1;
const PRO = 2;
const MAX = 3;

/** The fields of the contract's `ModelListing`. */
export type LaunchModel = {
  id: string;
  parameters: string;
  ownedBy: string;
  tier: number;
  creditsPerRequest: number;
  creditsPer1kTokens: number;
  contextWindow: number;
};

/** Every model of a tier has the tier's price at launch; later each model's price is its own. */
const PRICES = {
  [LITE]: { creditsPerRequest: 2, creditsPer1kTokens: 1 },
  [STANDARD]: { creditsPerRequest: 8, creditsPer1kTokens: 4 },
  [PRO]: { creditsPerRequest: 18, creditsPer1kTokens: 9 },
  [MAX]: { creditsPerRequest: 40, creditsPer1kTokens: 20 },
} as const;

function model(
  id: string,
  parameters: string,
  contextWindow: number,
  tier: keyof typeof PRICES,
  ownedBy: string,
): LaunchModel {
  return { id, parameters, ownedBy, tier, contextWindow, ...PRICES[tier] };
}

export const LAUNCH_MODELS: readonly LaunchModel[] = [
  model("llama-3.3-70b-instruct", "70B", 128_000, MAX, "meta"),
  model("deepseek-r1-distill-llama-70b", "70B", 128_000, MAX, "deepseek"),
  model("gemma-3-27b-it", "27B", 128_000, PRO, "google"),
  model("qwen3-14b", "14B", 32_768, PRO, "qwen"),
  model("qwen3-8b", "8B", 32_768, STANDARD, "qwen"),
  model("mistral-7b-instruct-v0.3", "7B", 32_768, STANDARD, "mistralai"),
  model("llama-3.2-3b-instruct", "3B", 128_000, LITE, "meta"),
  model("qwen3-1.7b", "1.7B", 32_768, LITE, "qwen"),
];
