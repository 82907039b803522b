import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const HINTS = [
  [/EUSAGE/, "package.json and package-lock.json disagree: run `npm install` and commit the lock file"],
  [/ENOSPC/, "the disk is full: free some space"],
  [/EACCES|EPERM/, "this user may not write into the project folder: fix its owner, or run as the user who owns it"],
  [/EINTEGRITY/, "a download was damaged: run `npm cache verify`"],
  [/E404/, "the registry does not have this package: check `npm config get registry`"],
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ECONNRESET/,
    "npm cannot reach its registry: check network, proxy and `npm ping`",
  ],
];

/**
 * Installs what the lock file says. npm must run under the new Node: under an older one it silently leaves out native
 * packages. Install scripts are off, because npm is about to block them anyway; what they did is in native.mjs.
 */
export function npmInstall(root, node, env) {
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  let result = npm(root, node, env, ["ci", ...flags]);
  if (!result.ok && onlyForeignPackagesMissing(root, result.output)) {
    // A lock file made behind a registry without the packages for other platforms cannot list them, and `npm ci`
    // refuses it. `npm install` takes the very same versions and fetches those this platform needs.
    result = npm(root, node, env, ["install", "--no-save", ...flags]);
  }
  if (result.ok) return;
  const hint = HINTS.find(([pattern]) => pattern.test(result.output))?.[1] ?? "read npm's message and run again";
  const shown = result.output.split("\n").filter((line) => line.trim() && !/^npm error\s*$/.test(line));
  throw new Error(`Installing the dependencies failed:\n${shown.slice(0, 15).join("\n")}\nWhat to do: ${hint}.`);
}

function npm(root, node, env, args) {
  const program = env.npm_execpath?.endsWith("npm-cli.js") && existsSync(env.npm_execpath) ? env.npm_execpath : null;
  const options = { cwd: root, env, encoding: "utf8", stdio: ["ignore", "inherit", "pipe"], maxBuffer: 1 << 26 };
  const { status, signal, error, stderr } = program
    ? spawnSync(node, [program, ...args], options)
    : spawnSync("npm", args, options);
  return { ok: status === 0, output: (stderr || error?.message || `npm ended by ${signal}`).trim() };
}

/** Is the lock file short of nothing but packages that are optional, such as those for other platforms? */
function onlyForeignPackagesMissing(root, output) {
  if (!output.includes("EUSAGE") || /Invalid: /.test(output)) return false;
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const optional = new Set(Object.values(packages).flatMap((p) => Object.keys(p.optionalDependencies ?? {})));
  const missing = [...output.matchAll(/Missing: (.+)@\S* from lock file/g)].map((match) => match[1]);
  return missing.length > 0 && missing.every((name) => optional.has(name));
}
