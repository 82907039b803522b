/**
 * What all stacks of one test run share: a folder, a PostgreSQL server, and chains with the contracts deployed. A run is `vitest` with its
 * workers, or one program. The keeper, this very file as a process, holds the server and clears everything away when the run has ended,
 * however it ended.
 */
import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { chainFiles } from "../../scripts/dev/chain.ts";
import { readJson, writeJson } from "../../scripts/dev/files.ts";
import { freePorts } from "../../scripts/dev/ports.ts";
import { query } from "../../scripts/dev/postgres.ts";
import { type StackOptions, startStack } from "../../scripts/dev/stack.ts";
import { codeOf, type Identity, identify, isAlive, readText, withLock } from "../../shared/process.ts";

/**
 * The environment without what the test runner adds: Vite sets BASE_URL, which is the gateway's own name for its address. And no test depends on
 * a model server of this machine.
 */
export function plainEnv(): NodeJS.ProcessEnv {
  const foreign = /^(VITEST|VITE_|BASE_URL$|DEV$|PROD$|SSR$|MODE$|TEST$|NODE_ENV$|DATABASE_URL$|npm_lifecycle_event$)/;
  const own = Object.entries(process.env).filter(([name]) => !foreign.test(name));
  return { ...Object.fromEntries(own), LOOK_FOR_MODELS: "no" };
}

/** The folder of this run, made with its keeper at the first call. Others may enter it, as PostgreSQL may run as another user. */
export function runFolder(): string {
  // Vitest starts processes for the test files, and runs the setup of suites in its own: that one is the run.
  const run = identify(process.env["VITEST_POOL_ID"] ? process.ppid : process.pid) as Identity;
  const folder = join(tmpdir(), `stacks-${run.pid}-${run.started.split(":").at(-1)}`);
  try {
    mkdirSync(folder);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return folder;
    throw error;
  }
  chmodSync(folder, 0o711);
  const log = openSync(join(folder, "keeper.log"), "a");
  spawn(process.execPath, [fileURLToPath(import.meta.url), folder, JSON.stringify(run)], {
    detached: true,
    stdio: ["ignore", log, log],
    env: plainEnv(),
  }).unref();
  return folder;
}

/** A fresh data folder, which is deleted at the end of the run at the latest. */
export function temporaryDataDir(): string {
  const folder = mkdtempSync(join(runFolder(), "stack-"));
  chmodSync(folder, 0o711);
  return folder;
}

/** A new, empty database on the server of the run, which the first call starts. */
export async function sharedDatabase(): Promise<string> {
  const folder = runFolder();
  const server = join(folder, "server.json");
  writeJson(join(folder, "wanted.json"), true);
  for (const deadline = Date.now() + 120_000; !existsSync(server); await sleep(25)) {
    if (Date.now() > deadline) throw new Error(`no PostgreSQL for the tests:\n${readText(join(folder, "keeper.log"))}`);
  }
  const { url } = readJson<{ url: string }>(server) as { url: string };
  const name = `stack_${randomUUID().replaceAll("-", "")}`;
  await query(url, `CREATE DATABASE ${name}`);
  return url.replace(/[^/]*$/, name);
}

type Deployed = Pick<StackOptions, "windows" | "env">;

/** Puts a chain with the contracts into a fresh data folder. The first stack of a run with these windows deploys them. */
export async function copyDeployedChain(to: string, { windows = {}, env }: Deployed): Promise<void> {
  const key = JSON.stringify([windows, env.contracts ?? {}]);
  const dataDir = join(runFolder(), `chain-${createHash("sha256").update(key).digest("hex").slice(0, 12)}`);
  await withLock(`${dataDir}.lock`, async () => {
    if (existsSync(join(dataDir, "deployment.json"))) return;
    const stack = await startStack({
      dataDir,
      ports: await freePorts(0),
      parts: ["chain", "contracts"],
      workers: [],
      windows,
      env: env.contracts === undefined ? {} : { contracts: env.contracts },
      baseEnv: plainEnv(),
      write: () => {},
    }).ready;
    await stack.stop();
  });
  cpSync(chainFiles(dataDir).state, chainFiles(to).state);
  cpSync(join(dataDir, "deployment.json"), join(to, "deployment.json"));
}

/** Holds the server for as long as the run goes on, then removes what the run has left. */
async function keep(folder: string, run: Identity): Promise<void> {
  while (isAlive(run) && !existsSync(join(folder, "wanted.json"))) await sleep(50);
  if (isAlive(run)) {
    const dataDir = join(folder, "server");
    mkdirSync(dataDir, { mode: 0o711 });
    const stack = await startStack({
      dataDir,
      ports: await freePorts(0),
      parts: ["database"],
      workers: [],
      env: {},
      baseEnv: plainEnv(),
      write: (line) => console.log(line),
    }).ready;
    const url = stack.info.database_url;
    // Its data goes with the run: nothing needs to reach the disk. Tests that kill a server have one of their own.
    for (const setting of ["fsync", "synchronous_commit", "full_page_writes"])
      await query(url, `ALTER SYSTEM SET ${setting} = off`);
    await query(url, "SELECT pg_reload_conf()");
    writeJson(join(folder, "server.json"), { url });
    while (isAlive(run)) await sleep(250);
    await othersStopped(folder);
    await stack.stop();
  } else await othersStopped(folder);
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}

/** The wardens of killed stacks need a moment; their locks say when they are done. */
async function othersStopped(folder: string): Promise<void> {
  const running = (name: string): boolean => {
    const lock = join(folder, name, "starter.json");
    const holder = name !== "server" && existsSync(lock) ? readJson<Identity>(lock) : null;
    return holder !== null && isAlive(holder);
  };
  for (const deadline = Date.now() + 90_000; Date.now() < deadline && readdirSync(folder).some(running); )
    await sleep(100);
}

if (import.meta.main) {
  const [, , folder, run] = process.argv as [string, string, string, string];
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => {});
  await keep(folder, JSON.parse(run) as Identity);
  process.exit();
}
