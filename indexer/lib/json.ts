/** Event arguments as JSON. */

/** `creditsPer1kTokens` → `credits_per_1k_tokens`. */
function snakeCase(name: string): string {
  return name.replace(/([a-z])([A-Z0-9])/g, "$1_$2").toLowerCase();
}

/** The object with its own keys in snake case; values as they are. */
export function snakeCaseKeys(value: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [snakeCase(key), inner]));
}

/** Integers of up to 48 bits are numbers already; larger ones are bigints and become decimal strings. */
export function jsonSafe<T extends Record<string, unknown>>(value: T): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, safe(inner)]));
}

function safe(value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return value.map(safe);
  if (value !== null && typeof value === "object") return jsonSafe(snakeCaseKeys(value));
  return value;
}
