/**
 * Matches a model server's names with the catalog's ids, reads and writes both, and makes the listing of a model that the catalog lacks.
 */
import { JOB_LIMIT } from "../protocol/pricing.ts";
import { LISTING_PRICES, TIERS, type Tier } from "../protocol/tiers.ts";
import type { ModelServer, ServedModel } from "./model-servers.ts";

/** The endings of a name that do not make another model: how it is tuned, stored or quantized. */
const SUFFIX =
  /[-_.:@](instruct|it|chat|latest|gguf|mlx|awq|gptq|fp8|fp16|bf16|f16|f32|int[48]|[48]bit|i?q\d(_[0-9a-z]+)*)$/;

/** "Qwen/Qwen3-8B-GGUF", "qwen3:8b-q4_K_M" and "qwen3-8b" are one model. */
function coreOf(name: string): string {
  let core = (name.split("/").at(-1) ?? name).toLowerCase();
  for (let shorter = core.replace(SUFFIX, ""); shorter !== core && shorter !== ""; shorter = core.replace(SUFFIX, "")) {
    core = shorter;
  }
  // "llama-3.2-3b-instruct" has its tuning at the end, "mistral-7b-instruct-v0.3" in the middle.
  const whole = core.replace(/-(instruct|it|chat)(?=-)/, "").replace(/[^a-z0-9.]+/g, "-");
  // "llama3.2:3b" and "llama-3.2-3b"; only between two figures a separator says something.
  return whole.replace(/(?<!\d)-|-(?!\d)/g, "");
}

/** The id under which the catalog has a served model, or would list it. */
export function catalogIdOf(name: string, catalog: Iterable<string>): string {
  const core = coreOf(name);
  for (const id of catalog) if (id === name || coreOf(id) === core) return id;
  const own = (name.split("/").at(-1) ?? name)
    .toLowerCase()
    .replace(/\.gguf$/, "")
    .replace(/:latest$/, "");
  return own.replace(/[^a-z0-9._]+/g, "-").replace(/^[-.]+|[-.]+$/g, "") || "model";
}

/** Catalog id → name at the server, of all its models; of two names for one model the first. */
export function namesByCatalogId(models: readonly ServedModel[], catalog: Iterable<string>): Map<string, string> {
  const ids = [...catalog];
  const names = new Map<string, string>();
  for (const { name } of models) {
    const id = catalogIdOf(name, ids);
    if (!names.has(id)) names.set(id, name);
  }
  return names;
}

/** Models as settings name them: of `a,b=name` a has its own name at the model server, b has "name". */
export function parseNames(list: string): Map<string, string> {
  const names = new Map<string, string>();
  for (const part of list.split(",")) {
    const [id = "", ...name] = part.split("=").map((text) => text.trim());
    if (id !== "") names.set(id, name.join("=") || id);
  }
  return names;
}

/** The same as a setting. */
export const namesText = (names: ReadonlyMap<string, string>): string =>
  [...names].map(([id, name]) => `${id}=${name}`).join(",");

/** Catalog id → name at the server, of the wanted models. A name may also be the catalog's. `missing`: names that the server does not have. */
export function wantedNames(
  wanted: ReadonlyMap<string, string>,
  models: readonly ServedModel[],
  catalog: readonly string[],
): { names: Map<string, string>; missing: string[] } {
  const names = new Map<string, string>();
  const missing: string[] = [];
  for (const [id, name] of wanted) {
    const isNamed = (one: ServedModel) => one.name === name;
    const model = models.find(isNamed) ?? models.find((one) => catalogIdOf(one.name, catalog) === name);
    if (model === undefined) missing.push(name);
    else names.set(id, model.name);
  }
  return { names, missing };
}

/** Which of a server's models are used, as a sentence without its end. */
export function servesInWords({ kind, url }: ModelServer, names: ReadonlyMap<string, string>): string {
  const models = [...names].map(([id, name]) => (id === name ? id : `${name} as ${id}`));
  return `${kind} at ${url} serves ${models.join(", ")}`;
}

/** The largest model of each tier, in parameters; between the launch catalog's 3B and 7B, 8B and 14B, 27B and 70B. */
const TIER_LIMITS: readonly [Tier, number][] = [
  ["lite", 5e9],
  ["standard", 11e9],
  ["pro", 45e9],
  ["max", Number.POSITIVE_INFINITY],
];
/** The context that is listed if the server does not tell its own: every model of today has it. */
const UNTOLD_CONTEXT = 4_096;
/** The catalog's entry (`ModelListing` of the contracts) of a model: its tier by its parameters, its context as its server says. */
export function listingOf(id: string, { name, parameters, context }: ServedModel) {
  const [tier] = TIER_LIMITS.find(([, limit]) => (parameters ?? 0) < limit) ?? ["max" as const];
  const prices = LISTING_PRICES[tier];
  // A whole window must not cost more.
  const affordable = Math.floor((JOB_LIMIT * 1_000) / prices.creditsPer1kTokens);
  const [organisation] = name.includes("/") ? name.split("/") : [];
  return {
    id,
    parameters: parameters === null ? "unknown" : label(parameters),
    ownedBy: organisation || "local",
    tier: TIERS.indexOf(tier),
    contextWindow: Math.min(context ?? UNTOLD_CONTEXT, affordable),
    ...prices,
  };
}
export type Listing = ReturnType<typeof listingOf>;

/** "8B", "1.7B", "135M". */
function label(parameters: number): string {
  const [unit, size] = (
    [
      ["B", 1e9],
      ["M", 1e6],
      ["K", 1e3],
    ] as const
  ).find(([, one]) => parameters >= one) ?? ["", 1];
  const figure = parameters / size;
  return `${figure >= 10 ? Math.round(figure) : Number(figure.toPrecision(2))}${unit}`;
}
