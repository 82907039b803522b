import { describe, expect, it } from "vitest";
import { quote } from "../../../protocol/pricing.ts";
import { TIERS } from "../../../protocol/tiers.ts";
import { LAUNCH_MODELS } from "../../../scripts/deploy/launch-models.ts";
import {
  catalogIdOf,
  listingOf,
  namesByCatalogId,
  namesText,
  parseNames,
  wantedNames,
} from "../../../worker/catalog-names.ts";

const CATALOG = LAUNCH_MODELS.map(({ id }) => id);

describe("a served model's id", () => {
  it.each([
    ["qwen3:8b", "qwen3-8b"],
    ["qwen3:8b-q4_K_M", "qwen3-8b"],
    ["Qwen/Qwen3-8B", "qwen3-8b"],
    ["Qwen3-8B-Q4_K_M.gguf", "qwen3-8b"],
    ["qwen3:1.7b", "qwen3-1.7b"],
    ["gemma3:27b", "gemma-3-27b-it"],
    ["llama3.2:3b", "llama-3.2-3b-instruct"],
    ["meta-llama/Llama-3.3-70B-Instruct", "llama-3.3-70b-instruct"],
    ["mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-instruct-v0.3"],
    ["deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "deepseek-r1-distill-llama-70b"],
  ])("of %s is the launch catalog's %s", (name, id) => {
    expect(catalogIdOf(name, CATALOG)).toBe(id);
  });

  it.each([
    ["qwen3:17b", "qwen3-17b"],
    ["qwen3:latest", "qwen3"],
    ["tiny.gguf", "tiny"],
    ["gemma3:4b", "gemma3-4b"],
    ["HuggingFaceTB/SmolLM2-135M-Instruct", "smollm2-135m-instruct"],
    ["qwen2.5-coder:7b-instruct-q8_0", "qwen2.5-coder-7b-instruct-q8_0"],
    ["///", "model"],
  ])("of %s, which the launch catalog lacks, is %s", (name, id) => {
    expect(catalogIdOf(name, CATALOG)).toBe(id);
  });

  it("stands for one name at the server, the first", () => {
    const models = ["qwen3:8b", "qwen3:8b-q8_0", "tiny"].map((name) => ({ name, parameters: null, context: null }));
    expect([...namesByCatalogId(models, CATALOG)]).toEqual([
      ["qwen3-8b", "qwen3:8b"],
      ["tiny", "tiny"],
    ]);
  });
});

describe("a list of models", () => {
  const models = ["Qwen/Qwen3-8B-GGUF", "mine=v2", "tiny"].map((name) => ({ name, parameters: null, context: null }));

  it.each([
    ["qwen3-8b", { "qwen3-8b": "qwen3-8b" }],
    [" qwen3-8b = Qwen/Qwen3-8B-GGUF , mine=mine=v2,", { "qwen3-8b": "Qwen/Qwen3-8B-GGUF", mine: "mine=v2" }],
    ["mine=", { mine: "mine" }],
    [" , ", {}],
  ])("is read from %j", (list, names) => {
    expect(Object.fromEntries(parseNames(list))).toEqual(names);
  });

  it("is written as it is read", () => {
    const list = "qwen3-8b=Qwen/Qwen3-8B-GGUF,mine=mine=v2";
    expect(namesText(parseNames(list))).toBe(list);
  });

  it("may name a model as its server or as the catalog does", () => {
    const wanted = parseNames("a=Qwen/Qwen3-8B-GGUF,b=qwen3-8b,tiny,c=other");
    const { names, missing } = wantedNames(wanted, models, CATALOG);
    expect(namesText(names)).toBe("a=Qwen/Qwen3-8B-GGUF,b=Qwen/Qwen3-8B-GGUF,tiny=tiny");
    expect(missing).toEqual(["other"]);
  });
});

describe("the listing of a model that the catalog lacks", () => {
  const listing = (parameters: number | null, context: number | null = 8_192, name = "m") => {
    const { tier, ...rest } = listingOf("m", { name, parameters, context });
    return { tier: TIERS[tier], ...rest };
  };

  it("puts each model of the launch catalog's sizes into its tier", () => {
    for (const { parameters, tier } of LAUNCH_MODELS)
      expect(listing(Number.parseFloat(parameters) * 1e9)).toMatchObject({ parameters, tier: TIERS[tier] });
    expect([listing(165_312), listing(8_030_261_248), listing(null)]).toMatchObject([
      { tier: "lite", parameters: "165K" },
      { tier: "standard", parameters: "8B", creditsPerRequest: 8, creditsPer1kTokens: 4 },
      { tier: "lite", parameters: "unknown" },
    ]);
  });

  it("takes the context from the server, as far as a job may cost", () => {
    expect([listing(1e9, 40_960), listing(1e9, null)]).toMatchObject([
      { contextWindow: 40_960 },
      { contextWindow: 4_096 },
    ]);
    const { contextWindow, ...prices } = listing(70e9, 1_000_000);
    expect([quote(contextWindow, prices), contextWindow]).toEqual([5_000, 250_000]);
  });

  it("names the organisation where the server's name does", () => {
    expect(listing(1e9, 1, "Qwen/Qwen3-4B").ownedBy).toBe("Qwen");
    expect(listing(1e9, 1, "qwen3:4b").ownedBy).toBe("local");
  });
});
