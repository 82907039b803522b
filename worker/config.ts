import { parseArgs } from "node:util";
import type { Hex } from "viem";
import { z } from "zod";

/** A configuration error; its message is all that the operator needs to see. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

const whole = (min: number, max: number) => z.coerce.number().int().min(min).max(max);
const seconds = z.coerce.number().min(0);

const schema = z.object({
  WORKER_PORT: whole(0, 65_535).default(9101),
  WORKER_HOST: z.string().min(1).default("127.0.0.1"),
  RPC_URL: z.url({ protocol: /^https?$/ }).default("http://127.0.0.1:8545"),
  DEPLOYMENT_FILE: z.string().min(1),
  WORKER_PRIVATE_KEY: z.custom<Hex>(
    (v) => typeof v === "string" && /^0x[0-9a-fA-F]{64}$/.test(v),
    "must be 0x and 64 hex digits",
  ),
  WORKER_DATA_DIR: z.string().min(1),
  WORKER_MODELS: z.string().min(1).transform(parseModels),
  WORKER_BACKEND: z.union(
    [z.literal("builtin"), z.url({ protocol: /^https?$/ })],
    'must be "builtin" or an http(s) URL',
  ),
  WORKER_BACKEND_KEY: z.string().min(1).optional(),
  WORKER_CONCURRENCY: whole(1, 10_000).default(32),
  WORKER_QUEUE: whole(0, 100_000).default(64),
  WORKER_TOKENS_PER_SECOND: z.coerce.number().min(0).default(0),
  WORKER_FIRST_TOKEN_MS: whole(0, 600_000).default(0),
  WORKER_SELF_SETTLE_AFTER: seconds.optional(),
  WORKER_ACKNOWLEDGE_MARGIN: seconds.default(5),
  WORKER_KEEP_SETTLED_SECONDS: seconds.default(15),
  WORKER_SETTLEMENT_POLL_MS: whole(50, 60_000).default(2_000),
  WORKER_LOCK_WAIT_MS: whole(0, 30_000).default(2_000),
  WORKER_DRAIN_SECONDS: seconds.default(130),
  WORKER_LOG_LEVEL: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
});

export type Config = {
  port: number;
  host: string;
  rpcUrl: string;
  deploymentFile: string;
  privateKey: Hex;
  dataDir: string;
  /** Catalog id → name the backend knows the model by. */
  models: ReadonlyMap<string, string>;
  backend: { url: "builtin" | (string & {}); key: string | undefined; tokensPerSecond: number; firstTokenMs: number };
  concurrency: number;
  queue: number;
  /** Seconds after the final token at which the worker proves the job itself; null: when half the inclusion window is left. */
  selfSettleAfter: number | null;
  /** Seconds before `acknowledgeBy` at which the worker relays its own acknowledgement. */
  acknowledgeMargin: number;
  /** Seconds that an answer is kept after its job was seen to be over: a reorganisation may take the end back. */
  keepSettledSeconds: number;
  settlementPollMs: number;
  /** How long a lock that the node does not show yet is waited for. */
  lockWaitMs: number;
  drainSeconds: number;
  logLevel: string;
};

export const USAGE = `Usage: node worker/main.ts [--backend URL|builtin] [--models id,id=backend-name] [--port N] [--host H]
                          [--concurrency N] [--queue N] [--data-dir DIR] [--deployment FILE] [--rpc-url URL]
Every flag has an environment variable (WORKER_BACKEND, WORKER_MODELS, ...); WORKER_PRIVATE_KEY has no flag, because
flags are visible to every user of the machine.`;

const FLAGS = {
  backend: "WORKER_BACKEND",
  models: "WORKER_MODELS",
  port: "WORKER_PORT",
  host: "WORKER_HOST",
  concurrency: "WORKER_CONCURRENCY",
  queue: "WORKER_QUEUE",
  "data-dir": "WORKER_DATA_DIR",
  deployment: "DEPLOYMENT_FILE",
  "rpc-url": "RPC_URL",
} as const;

/** Reads flags and environment; flags win. Throws a ConfigError that names every bad value. */
export function readConfig(argv: string[], environment: NodeJS.ProcessEnv): Config {
  const merged: Record<string, string | undefined> = { ...environment, ...readFlags(argv) };
  // An empty variable is how shells and compose files say "not set".
  const given = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined && value !== ""));
  const result = schema.safeParse({ WORKER_BACKEND: "builtin", ...given });
  if (!result.success)
    throw new ConfigError(`invalid worker configuration:\n${z.prettifyError(result.error)}\n\n${USAGE}`);
  const env = result.data;
  return {
    port: env.WORKER_PORT,
    host: env.WORKER_HOST,
    rpcUrl: env.RPC_URL,
    deploymentFile: env.DEPLOYMENT_FILE,
    privateKey: env.WORKER_PRIVATE_KEY,
    dataDir: env.WORKER_DATA_DIR,
    models: env.WORKER_MODELS,
    backend: {
      url: env.WORKER_BACKEND,
      key: env.WORKER_BACKEND_KEY,
      tokensPerSecond: env.WORKER_TOKENS_PER_SECOND,
      firstTokenMs: env.WORKER_FIRST_TOKEN_MS,
    },
    concurrency: env.WORKER_CONCURRENCY,
    queue: env.WORKER_QUEUE,
    selfSettleAfter: env.WORKER_SELF_SETTLE_AFTER ?? null,
    acknowledgeMargin: env.WORKER_ACKNOWLEDGE_MARGIN,
    keepSettledSeconds: env.WORKER_KEEP_SETTLED_SECONDS,
    settlementPollMs: env.WORKER_SETTLEMENT_POLL_MS,
    lockWaitMs: env.WORKER_LOCK_WAIT_MS,
    drainSeconds: env.WORKER_DRAIN_SECONDS,
    logLevel: env.WORKER_LOG_LEVEL,
  };
}

function readFlags(argv: string[]): Record<string, string> {
  const names = Object.keys(FLAGS) as (keyof typeof FLAGS)[];
  const options = Object.fromEntries(names.map((name) => [name, { type: "string" as const }]));
  let values: Record<string, unknown>;
  try {
    values = parseArgs({ args: argv, options, strict: true }).values;
  } catch (error) {
    throw new ConfigError(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
  }
  return Object.fromEntries(
    names.flatMap((name) => (typeof values[name] === "string" ? [[FLAGS[name], values[name]]] : [])),
  );
}

/** `a,b=name` → a served as "a", b served by the backend under "name". */
function parseModels(text: string): ReadonlyMap<string, string> {
  const entries = text.split(",").flatMap((part): [string, string][] => {
    const [id = "", name = ""] = part.split("=", 2).map((s) => s.trim());
    return id === "" ? [] : [[id, name || id]];
  });
  return new Map(entries);
}
