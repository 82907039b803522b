/**
 * Runs `npm ci` if package-lock.json or a patch is newer than what is installed. npm runs this before `npm start` and `npm test`, under the
 * machine's own Node (20 or newer): plain JavaScript without packages. What npm runs afterwards has the Node 24 that is one of the packages.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

if (Number.parseInt(process.versions.node, 10) < 20) {
  console.error(`Node 20 or newer is needed; this is ${process.version}. Install a newer one from https://nodejs.org.`);
  process.exit(1);
}
process.chdir(fileURLToPath(new URL("..", import.meta.url)));

const changedAt = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
const wanted = ["package-lock.json", ...readdirSync("patches").map((name) => `patches/${name}`)];

// npm writes this file once all packages are in their places.
const installedAt = changedAt("node_modules/.package-lock.json");
if (wanted.some((file) => changedAt(file) > installedAt)) {
  console.log("Installing the packages (npm ci); this takes a minute or two.");
  // npm fails on folders that an interrupted installation has left.
  rmSync("node_modules", { recursive: true, force: true, maxRetries: 10 });
  const { status } = spawnSync("npm", ["ci", "--loglevel=error"], {
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  process.exitCode = status ?? 1;
}
