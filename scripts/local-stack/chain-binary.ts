import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { StackError } from "./errors.ts";
import { ROOT } from "./files.ts";

/** anvil itself: the package's `anvil` command is a wrapper whose death leaves the node on its port. */
export function anvilBinary(): { file: string; version: string } {
  const platform = `${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`;
  const folder = join(ROOT, "node_modules", "@foundry-rs", `anvil-${platform}`);
  const file = join(folder, "bin", "anvil");
  if (!existsSync(file)) {
    throw new StackError(
      `There is no anvil for this machine (${platform}) in node_modules.\n` +
        "What to do: delete node_modules and start again; anvil exists for Linux and macOS, amd64 and arm64.",
    );
  }
  const { version } = createRequire(import.meta.url)(join(folder, "package.json")) as { version: string };
  return { file, version };
}
