import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The JavaScript file behind a package's command, so that no shell wrapper stands between us and the program. */
export function binOf(root, name) {
  const folder = join(root, "node_modules", name);
  const { bin } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = typeof bin === "string" ? bin : (bin?.[name.split("/").at(-1)] ?? Object.values(bin ?? {})[0]);
  if (!file) throw new Error(`the package ${name} has no command to run`);
  return join(folder, file);
}
