import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Address } from "viem";
import { type Health, healthSchema } from "../../protocol/worker-health.ts";
import { tryLock } from "../../scripts/local-stack/file-lock.ts";
import { readText } from "../../scripts/local-stack/files.ts";
import { type identify, isAlive, signal, waitGone } from "../../scripts/local-stack/identity.ts";
import type { Config } from "../config/config.ts";
import { ConfigError } from "../errors.ts";
import type { Terminal } from "./terminal.ts";

const lockFile = (dataDir: string): string => join(dataDir, "worker.pid");

/** Makes this process the one worker of its data folder. Throws a ConfigError naming the other one. */
export function claimDataDir(dataDir: string): () => void {
  // Key, answers and settings are nobody else's business.
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const lock = tryLock(lockFile(dataDir));
  if ("release" in lock) return lock.release;
  throw new ConfigError(
    `process ${lock.holder.pid} is the worker of ${dataDir} already: stop it with \`npm run worker -- drain\`, or choose another --data-dir`,
  );
}

/**
 * The running worker of a data folder, and what it says of itself (null: it does not answer); null if none runs. Another worker that
 * answers on the port is not asked for this one's numbers.
 */
export async function runningWorker(
  { dataDir, host, port }: Pick<Config, "dataDir" | "host" | "port">,
  address: Address,
): Promise<{ pid: number; health: Health | null } | null> {
  const holder = holderOf(dataDir);
  if (holder === null) return null;
  return { pid: holder.pid, health: await healthOf(urlAt(host, port), address) };
}

async function healthOf(url: string, address: Address): Promise<Health | null> {
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(5_000) });
    const health = healthSchema.parse(await response.json());
    return health.worker.toLowerCase() === address.toLowerCase() ? health : null;
  } catch {
    // A worker that is starting, or listens elsewhere, is running all the same; the caller says that it does not answer.
    return null;
  }
}

/** Where something that listens at `host` is asked from this machine. */
function urlAt(host: string, port: number): string {
  const everywhere = host === "0.0.0.0" || host === "::";
  const name = everywhere ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

/** Asks the running worker to finish its jobs and stop, and waits for that. */
export async function drain(config: Config, terminal: Terminal): Promise<void> {
  const holder = holderOf(config.dataDir);
  if (holder === null) return terminal.say(`no worker of ${config.dataDir} is running`);
  terminal.say(`process ${holder.pid} finishes its jobs and stops …`);
  signal(holder.pid, "SIGTERM");
  const patience = config.drainSeconds + 10;
  if (!(await waitGone(holder, patience * 1_000))) {
    throw new ConfigError(
      `process ${holder.pid} still runs after ${patience} s: a second SIGTERM ends its jobs at once`,
    );
  }
  terminal.say("stopped; finished jobs are paid as usual");
}

function holderOf(dataDir: string): ReturnType<typeof identify> {
  const text = readText(lockFile(dataDir));
  if (text === null) return null;
  try {
    const holder = JSON.parse(text) as ReturnType<typeof identify>;
    return holder !== null && isAlive(holder) ? holder : null;
  } catch {
    // Cut short by a crash: nobody holds it.
    return null;
  }
}
