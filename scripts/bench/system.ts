import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { endWhenInterrupted } from "../local-stack/interrupted.ts";
import { PARTS } from "../local-stack/options.ts";
import { freePorts } from "../local-stack/ports.ts";
import { removeDataDir } from "../local-stack/postgres-home.ts";
import { type Stack, startStack } from "../local-stack/stack.ts";
import type { Target } from "./load.ts";
import { processorMilliseconds, residentMegabytes } from "./processes.ts";
import { openAccounts } from "./wallets.ts";

export const MODEL = "qwen3-8b";

export type System = {
  stack: Stack;
  /** All of the funded accounts take turns. */
  target: Target;
  /** Resident memory by part, MB. */
  memory: () => Record<string, number>;
  /** Processor time used so far by part, ms. */
  processor: () => Record<string, number>;
  stop: () => Promise<void>;
};

export type SystemOptions = {
  upstream: string;
  blockTime?: number;
  accounts: number;
  credits: number;
  /** Folder for CPU profiles of gateway, workers and indexer, written when they stop. */
  profile?: string | undefined;
};

/** Starts the whole system in a throw-away folder, its workers in front of the benchmark's upstream. */
export async function startSystem(options: SystemOptions): Promise<System> {
  const profile: Record<string, string> = options.profile
    ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${resolve(options.profile)}` }
    : {};
  const dataDir = mkdtempSync(join(tmpdir(), "bench-"));
  // The database runs as another user when this runs as root.
  chmodSync(dataDir, 0o711);
  const starting = startStack({
    dataDir,
    ports: await freePorts(2),
    parts: PARTS,
    chainId: 31_337,
    workers: [{ models: [MODEL] }, { models: [MODEL] }],
    ...(options.blockTime === undefined ? {} : { blockTime: options.blockTime }),
    env: {
      workers: {
        WORKER_BACKEND: `${options.upstream}/v1`,
        WORKER_CONCURRENCY: "512",
        WORKER_QUEUE: "1024",
        WORKER_LOG_LEVEL: "warn",
        ...profile,
      },
      indexer: profile,
      api: { BURST_PER_SECOND: "1000000", LOG_LEVEL: "warn", ...profile },
    },
    baseEnv: process.env,
    write: () => {},
  });
  const letBe = endWhenInterrupted(starting, dataDir);
  const stack = await starting.ready;
  const stop = async (): Promise<void> => {
    letBe();
    await stack.stop();
    removeDataDir(dataDir);
  };
  let keys: string[];
  try {
    keys = await openAccounts(stack, options.accounts, options.credits);
  } catch (error) {
    await stop();
    throw error;
  }
  let turn = 0;
  return {
    stack,
    target: {
      name: "this service",
      url: stack.info.base_url as string,
      model: MODEL,
      headers: () => ({ authorization: `Bearer ${keys[turn++ % keys.length]}` }),
    },
    memory: () => Object.fromEntries(stack.processes().map(({ name, pid }) => [name, residentMegabytes(pid)])),
    processor: () => Object.fromEntries(stack.processes().map(({ name, pid }) => [name, processorMilliseconds(pid)])),
    stop,
  };
}
