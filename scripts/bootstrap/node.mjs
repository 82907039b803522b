import { spawnSync } from "node:child_process";

/** The first version that runs TypeScript files as they are. */
const NEEDED = [22, 18];

/**
 * Path of a Node that is new enough: this one, or Node 24 from the npm package `node`. Only its path is taken from
 * npx: a wrapper left running between us and the program would swallow signals.
 */
export function findNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) return process.execPath;

  const args = ["exec", "--yes", "--package=node@24", "--", "node", "-p", "process.execPath"];
  // npm names its own program file, which is safer than whatever "npm" the PATH finds.
  const npm = process.env.npm_execpath?.endsWith("npm-cli.js") ? process.env.npm_execpath : null;
  const result = npm
    ? spawnSync(process.execPath, [npm, ...args], { encoding: "utf8" })
    : spawnSync("npm", args, { encoding: "utf8" });
  const path = result.stdout?.trim().split("\n").at(-1);
  if (result.status === 0 && path) return path;
  throw new Error(
    `Node ${NEEDED.join(".")} or newer is needed and this is ${process.version}. Getting Node 24 from npm failed:\n` +
      `${(result.stderr || result.error?.message || "no output").trim().split("\n").slice(-8).join("\n")}\n` +
      "What to do: check that npm reaches its registry (npm ping), or install Node 24 and run the command again.",
  );
}
