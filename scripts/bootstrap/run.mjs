/**
 * The front door of every npm script: finds a Node new enough, makes sure the dependencies are there, then runs
 * the wanted program and passes signals and exit code through. Plain JavaScript without dependencies, because it
 * has to work on a fresh clone and on the older Node (20) that a machine may have.
 *
 *   run.mjs start | test [suite...] | compile | format | tool <package> args... | node <file> args...
 */
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runChild } from "./child.mjs";
import { ensureInstalled } from "./install.mjs";
import { findNode } from "./node.mjs";
import { binOf } from "./tool.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The programs each command runs, one after the other, stopping at the first failure. */
function programs(command, args) {
  switch (command) {
    case "start":
      return [["scripts/start.ts", ...args]];
    case "test":
      return [["scripts/bootstrap/suites/run.ts", ...args]];
    case "compile":
      return [["scripts/build/compile.ts"]];
    case "format":
      return [
        [binOf(root, "@biomejs/biome"), "check", "--write", ...args],
        [
          binOf(root, "prettier"),
          "--write",
          "contracts/**/*.sol",
          "test/contracts/**/*.sol",
          "--no-error-on-unmatched-pattern",
        ],
      ];
    case "node":
      return [args];
    case "tool":
      return [[binOf(root, args[0]), ...args.slice(1)]];
    default:
      throw new Error(
        `unknown command "${command ?? ""}"; use start, test, compile, format, tool <name> or node <file>`,
      );
  }
}

async function main() {
  const [command, ...args] = process.argv.slice(2);
  const node = findNode();
  const env = {
    ...process.env,
    // Children that say "node" must get this one, not the older one npm was started with.
    PATH: [dirname(node), join(root, "node_modules", ".bin"), process.env.PATH].join(delimiter),
    // A stack is eight Node processes of the same modules: what one has compiled, the next need not.
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(root, "node_modules", ".cache", "compiled"),
  };
  await ensureInstalled(root, node, env);
  for (const program of programs(command, args)) {
    const code = await runChild(node, program, { cwd: root, env });
    if (code !== 0) return code;
  }
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`\n${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
