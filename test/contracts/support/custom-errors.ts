/** Which custom errors the contracts declare, and which of them a text never asserts. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Names of the errors that Solidity source declares. */
export function declaredErrors(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
  return [...code.matchAll(/\berror\s+(\w+)\s*\(/g)].map((match) => match[1] as string);
}

/**
 * Errors that no assertion of the test sources names. An assertion names an error in quotes: as the argument of `expectRevert`,
 * `revertedWithCustomError` or `encodeErrorResult`, or in a table that ends there; a comment does not count.
 */
export function unassertedErrors(errors: Iterable<string>, tests: readonly string[]): string[] {
  const code = tests.map((text) => text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "")).join("\n");
  const quoted = new Set([...code.matchAll(/"(\w+)"/g)].map((match) => match[1]));
  return [...new Set(errors)].filter((error) => !quoted.has(error)).sort();
}

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** Texts of all files below a folder of the project whose name ends like this, and does not begin like that. */
export function sources(folder: string, ending: string, without?: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(ending) && (without === undefined || !file.startsWith(without)))
    .map((file) => readFileSync(join(ROOT, folder, file), "utf8"));
}
