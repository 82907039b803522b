import { existsSync } from "node:fs";
import type { Address, Hex } from "viem";
import type { z } from "zod";
import { ConfigError } from "../errors.ts";
import { parseMap, schema } from "./schema.ts";
import { HELP, SETTINGS } from "./settings.ts";
import { readInvocation } from "./sources.ts";

export { ConfigError } from "../errors.ts";

const DEFAULT_DEPLOYMENT = ".data/deployment.json";
const DEVELOPMENT_CHAIN = 31_337;

/** Where answers come from. */
export type BackendConfig =
  | { kind: "builtin"; tokensPerSecond: number; firstTokenMs: number }
  | { kind: "openai"; url: string; key: string | undefined }
  | {
      kind: "gguf";
      /** Catalog id → file. */
      files: ReadonlyMap<string, string>;
      contextSize: number | null;
      threads: number | null;
      gpu: boolean;
    };

export type Config = {
  port: number;
  host: string;
  /** Where gateways reach the worker; null: not said. */
  endpoint: string | null;
  rpcUrl: string;
  deploymentFile: string;
  /** The signing key, if it was given openly; else it lies encrypted in the data folder. */
  privateKey: Hex | null;
  ownerKey: Hex | null;
  passphrase: { text: string | null; file: string | null };
  dataDir: string;
  /** Catalog id → name the backend knows the model by. */
  models: ReadonlyMap<string, string>;
  backend: BackendConfig;
  concurrency: number;
  queue: number;
  payout: Address | null;
  /** Wanted stake in SVC; null: twice the minimum. */
  stake: number | null;
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

/** Reads flags, environment and file; flags win. Throws a ConfigError that names every bad value. */
export function readConfig(argv: readonly string[], environment: NodeJS.ProcessEnv): Config {
  return parseConfig(readInvocation(argv, environment).values);
}

/** Checks settings. Throws a ConfigError that names every bad one, and none of the values. */
export function parseConfig(given: Record<string, string>): Config {
  const defaults = existsSync(DEFAULT_DEPLOYMENT) ? { DEPLOYMENT_FILE: DEFAULT_DEPLOYMENT } : {};
  const result = schema.safeParse({ ...defaults, WORKER_BACKEND: "builtin", ...given });
  if (!result.success) {
    const lines = result.error.issues.map(({ path, message }) => `  ${nameOf(String(path[0]))}: ${message}`);
    throw new ConfigError(`these settings of the worker are wrong:\n${lines.join("\n")}\n${HELP}`);
  }
  const env = result.data;
  const gguf = env.WORKER_GGUF === undefined ? null : ggufFiles(env.WORKER_GGUF, [...env.WORKER_MODELS.keys()]);
  if (gguf !== null && given["WORKER_BACKEND"] !== undefined) {
    throw new ConfigError("--gguf and --backend exclude each other: a worker has one backend");
  }
  return {
    port: env.WORKER_PORT,
    host: env.WORKER_HOST,
    endpoint: env.WORKER_ENDPOINT ?? null,
    rpcUrl: env.RPC_URL,
    deploymentFile: env.DEPLOYMENT_FILE,
    privateKey: env.WORKER_PRIVATE_KEY ?? null,
    ownerKey: env.WORKER_OWNER_PRIVATE_KEY ?? null,
    passphrase: { text: env.WORKER_PASSPHRASE ?? null, file: env.WORKER_PASSPHRASE_FILE ?? null },
    dataDir: env.WORKER_DATA_DIR,
    models: gguf === null ? env.WORKER_MODELS : new Map([...gguf.keys()].map((id) => [id, id])),
    backend: backendOf(env, gguf),
    // One model in this process's memory serves few jobs at once; a model server behind a URL has its own queue.
    concurrency: env.WORKER_CONCURRENCY ?? (gguf === null ? 32 : 2),
    queue: env.WORKER_QUEUE ?? (gguf === null ? 64 : 2),
    payout: env.WORKER_PAYOUT ?? null,
    stake: env.WORKER_STAKE ?? null,
    selfSettleAfter: env.WORKER_SELF_SETTLE_AFTER ?? null,
    acknowledgeMargin: env.WORKER_ACKNOWLEDGE_MARGIN,
    keepSettledSeconds: env.WORKER_KEEP_SETTLED_SECONDS,
    settlementPollMs: env.WORKER_SETTLEMENT_POLL_MS,
    lockWaitMs: env.WORKER_LOCK_WAIT_MS,
    drainSeconds: env.WORKER_DRAIN_SECONDS,
    logLevel: env.WORKER_LOG_LEVEL,
  };
}

/**
 * Customers pay for a model's answers: outside of development the text generator must be asked for by name.
 * @throws ConfigError
 */
export function demandBackend(
  values: Record<string, string>,
  { backend }: Pick<Config, "backend">,
  chainId: number,
): void {
  if (backend.kind !== "builtin" || values["WORKER_BACKEND"] !== undefined || chainId === DEVELOPMENT_CHAIN) return;
  throw new ConfigError(
    "--backend (WORKER_BACKEND) is needed: the base URL of your model server, such as http://127.0.0.1:8000/v1, or --gguf FILE",
  );
}

/** A setting as an operator knows it: by its flag, if it has one, and its variable. */
function nameOf(env: string): string {
  const flag = SETTINGS.find((setting) => setting.env === env)?.flag ?? null;
  return flag === null ? env : `--${flag} (${env})`;
}

function backendOf(env: z.infer<typeof schema>, gguf: ReadonlyMap<string, string> | null): BackendConfig {
  if (gguf !== null) {
    return {
      kind: "gguf",
      files: gguf,
      contextSize: env.WORKER_GGUF_CONTEXT ?? null,
      threads: env.WORKER_GGUF_THREADS ?? null,
      gpu: env.WORKER_GGUF_GPU === "auto",
    };
  }
  if (env.WORKER_BACKEND !== "builtin") return { kind: "openai", url: env.WORKER_BACKEND, key: env.WORKER_BACKEND_KEY };
  const { WORKER_TOKENS_PER_SECOND: tokensPerSecond, WORKER_FIRST_TOKEN_MS: firstTokenMs } = env;
  return { kind: "builtin", tokensPerSecond, firstTokenMs };
}

/** `path` for the one model, or `id=path,id=path`. */
function ggufFiles(text: string, models: string[]): ReadonlyMap<string, string> {
  const [only] = models;
  if (!text.includes("=") && models.length === 1 && only !== undefined) return new Map([[only, text]]);
  const files = parseMap(text);
  const missing = models.filter((id) => !files.has(id));
  const strange = [...files.keys()].filter((id) => !models.includes(id));
  if (missing.length === 0 && strange.length === 0) return files;
  throw new ConfigError(
    `--gguf must name a file for each of --models (${models.join(", ")}): --gguf ${models.map((id) => `${id}=FILE`).join(",")}`,
  );
}
