import { resolve } from "node:path";
import { LAUNCH_MODELS } from "../../contracts/ignition/launch-models.ts";
import { StackError } from "./errors.ts";
import { ROOT } from "./files.ts";
import { PORT_VARIABLES, type Ports } from "./ports.ts";

/** What a stack consists of. Later ones need the earlier ones. */
export const PARTS = ["chain", "database", "contracts", "indexer", "workers", "api", "demo"] as const;
export type PartName = (typeof PARTS)[number];

/** One worker of the pool. */
export type WorkerOptions = {
  /** Model ids it hosts; all launch models by default. */
  models?: readonly string[];
  env?: Record<string, string>;
  /** False registers it on chain and leaves its port to the caller (a test that plays the worker). */
  start?: boolean;
};

export type StackOptions = {
  dataDir: string;
  ports: Ports;
  parts: readonly PartName[];
  workers: readonly WorkerOptions[];
  chainId: number;
  /** Seconds between blocks; a block a transaction without it. */
  blockTime?: number;
  /** Shorter contract windows, passed to the deployment as DEPLOY_WINDOWS. */
  windows?: Record<string, number>;
  /** Keys of further gateways, which the operator's admin adds beside the stack's own. */
  gatewayKeys?: readonly `0x${string}`[];
  /** A database of one's own instead of the local one. */
  databaseUrl?: string;
  /** More environment for single parts. */
  env: Partial<Record<"contracts" | "indexer" | "workers" | "api" | "demo", Record<string, string>>>;
  /** What every part's environment begins with. */
  baseEnv: NodeJS.ProcessEnv;
  /** Told when a part dies by itself; true if the stack shall go on without it (whoever says so restarts it). */
  onDeath?: (error: Error, part: string) => boolean;
  /** Takes the lines of progress. */
  write: (line: string) => void;
};

/** The two workers of the operator's pool. */
export const DEFAULT_WORKERS: readonly WorkerOptions[] = [{}, {}];
export const ALL_MODELS: readonly string[] = LAUNCH_MODELS.map((model) => model.id);

/** The options `npm start` takes from the environment. */
export function optionsFromEnv(env: NodeJS.ProcessEnv): StackOptions {
  return {
    dataDir: resolve(ROOT, env["DATA_DIR"] || ".data"),
    ports: {
      api: portFrom(env, "api"),
      chain: portFrom(env, "chain"),
      indexer: portFrom(env, "indexer"),
      worker: portFrom(env, "worker"),
      postgres: portFrom(env, "postgres"),
    },
    parts: PARTS,
    workers: DEFAULT_WORKERS,
    chainId: 31_337,
    ...(env["BLOCK_TIME"] ? { blockTime: blockTimeFrom(env["BLOCK_TIME"]) } : {}),
    ...(env["DATABASE_URL"] ? { databaseUrl: env["DATABASE_URL"] } : {}),
    env: {},
    baseEnv: env,
    write: (line) => console.log(line),
  };
}

function portFrom(env: NodeJS.ProcessEnv, kind: keyof Ports): number {
  const { variable, fallback } = PORT_VARIABLES[kind];
  const text = env[variable];
  if (!text) return fallback;
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port <= 65_535) return port;
  throw new StackError(`${variable}=${text} is not a port: use a number from 1 to 65535.`);
}

function blockTimeFrom(text: string): number {
  const seconds = Number(text);
  if (seconds > 0) return seconds;
  throw new StackError(
    `BLOCK_TIME=${text} is not a number of seconds above 0; leave it out for a block a transaction.`,
  );
}
