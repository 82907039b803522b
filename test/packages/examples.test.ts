/** Every function that a package exports has an example beside it, and an example that says what it gives, gives that. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as client from "../../client/index.ts";
import * as bytecode from "../../contracts/bytecode.ts";
import * as contracts from "../../contracts/index.ts";
import * as verify from "../../verify/index.ts";
import { ROOT } from "../support/processes.ts";

const sources = globSync("{client,contracts,protocol,verify}/**/*.ts", { cwd: ROOT }).map((file) =>
  readFileSync(join(ROOT, file), "utf8"),
);

/** The lines of the example above the declaration of a name; null without one. */
function exampleOf(name: string): string[] | null {
  const declared = new RegExp(
    `\\n/\\*\\*((?:(?!\\*/)[^])*)\\*/\\nexport (?:async )?(?:function|const|class) ${name}\\b`,
  );
  const comment = sources.map((source) => declared.exec(source)?.[1]).find((found) => found !== undefined);
  const example = comment?.split("@example")[1];
  return example === undefined ? null : example.split("\n").flatMap((line) => line.replace(/^ \* ?/, "").trim() || []);
}

const exported = { ...client, ...bytecode, ...contracts, ...verify };
const functions = Object.entries(exported).flatMap(([name, value]) =>
  // An error is caught, and not called.
  typeof value === "function" && !(value.prototype instanceof Error) ? [name] : [],
);

describe("the functions that the packages export", () => {
  it.each(functions)("%s has an example, which holds", (name) => {
    const lines = exampleOf(name) ?? [];
    expect(lines).not.toEqual([]);
    // `expression; // value` is computed; without a value an example speaks of things that a reader has.
    const claims = lines.flatMap((line) => {
      const [, expression, value] = /^(.*); \/\/ (.*)$/.exec(line) ?? [];
      return expression === undefined ? [] : [`[${expression}, ${value}]`];
    });
    const setUp = claims.length > 0 ? lines.filter((line) => line.startsWith("const ")) : [];
    const compute = new Function(...Object.keys(exported), `${setUp.join("\n")}\nreturn [${claims}];`);
    for (const [given, said] of compute(...Object.values(exported))) expect(given).toEqual(said);
  });
});
