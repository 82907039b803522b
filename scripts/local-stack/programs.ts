import { existsSync } from "node:fs";
import { join } from "node:path";
import { DEPLOYER_KEY, GATEWAY } from "./accounts.ts";
import type { StackContext } from "./context.ts";
import { StackError } from "./errors.ts";
import { ROOT } from "./files.ts";
import { indexIsReady } from "./index-ready.ts";
import { ALL_MODELS, type WorkerOptions } from "./options.ts";
import { type PartSpec, RANK } from "./part.ts";
import { answersOk } from "./ready.ts";

/** The project's own programs as parts: which file, which environment, when ready, how stopped. */

const AGAIN =
  "look at the message above; if it says nothing to act on, start again. Deleting the data folder begins anew (balances, keys and jobs are then gone).";

/** Program file and arguments for this very Node; says so when the file is not there. */
function program(part: string, file: string): Pick<PartSpec, "command" | "args"> {
  if (!existsSync(join(ROOT, file))) {
    throw new StackError(
      `${file} is missing, and ${part} cannot start without it. What to do: check that the clone is complete (git status).`,
    );
  }
  return { command: process.execPath, args: [file] };
}

const chainEnv = ({ options, urls, deploymentFile, dataDir }: StackContext): NodeJS.ProcessEnv => ({
  ...options.baseEnv,
  DATA_DIR: dataDir,
  RPC_URL: urls.rpc,
  WS_URL: urls.ws,
  DEPLOYMENT_FILE: deploymentFile,
});

/** A program that runs to its end; it gets the deployer's key, which the services never see. */
export function taskSpec(
  context: StackContext,
  name: string,
  file: string,
  env: Record<string, string>,
): Omit<PartSpec, "ready" | "readyTimeoutMs"> {
  return {
    name,
    ...program(name, file),
    env: { ...chainEnv(context), DEPLOYER_PRIVATE_KEY: DEPLOYER_KEY, ...env },
    stop: { rank: RANK.task, signal: "SIGTERM", deadlineMs: 3_000 },
    hint: AGAIN,
  };
}

export function indexerSpec(context: StackContext): PartSpec {
  return {
    name: "indexer",
    ...program("the indexer", "indexer/main.ts"),
    env: {
      ...chainEnv(context),
      DATABASE_URL: context.databaseUrl,
      INDEXER_PORT: String(context.ports.indexer),
      ...context.options.env.indexer,
    },
    ready: () => indexIsReady(context.urls.indexer, context.urls.rpc),
    readyTimeoutMs: 120_000,
    // After anything but SIGINT, Ponder's next start waits 20 s for a lock.
    stop: { rank: RANK.indexer, signal: "SIGINT", deadlineMs: 15_000 },
    hint: AGAIN,
  };
}

export function apiEnv(context: StackContext): NodeJS.ProcessEnv {
  const { options, secrets } = context;
  return {
    ...chainEnv(context),
    API_PORT: String(context.ports.api),
    API_HOST: options.baseEnv["API_HOST"] || "127.0.0.1",
    DATABASE_URL: context.databaseUrl,
    GATEWAY_PRIVATE_KEY: GATEWAY.privateKey,
    MASTER_KEY: secrets.masterKey,
    BASE_URL: options.baseEnv["BASE_URL"] || context.urls.api,
    // Workers and receivers of webhooks run on this machine too.
    ALLOW_LOCAL_ENDPOINTS: "true",
    // An idle chain that mines on demand never adds confirmations.
    WEBHOOK_CONFIRMATIONS: "0",
    ...options.env.api,
  };
}

export function apiSpec(context: StackContext): PartSpec {
  return {
    name: "api",
    ...program("the API", "api/main.ts"),
    env: apiEnv(context),
    ready: () => answersOk(`${context.urls.api}/readyz`),
    readyTimeoutMs: 120_000,
    // Long enough to finish the answers it is streaming.
    stop: { rank: RANK.api, signal: "SIGTERM", deadlineMs: 30_000 },
    hint: AGAIN,
  };
}

export function workerSpec(context: StackContext, worker: WorkerEntry): PartSpec {
  const url = `http://127.0.0.1:${worker.port}`;
  return {
    name: worker.name,
    ...program("a worker", "worker/main.ts"),
    env: {
      ...chainEnv(context),
      WORKER_PORT: String(worker.port),
      WORKER_PRIVATE_KEY: worker.privateKey,
      WORKER_DATA_DIR: join(context.dataDir, "workers", String(worker.number)),
      WORKER_MODELS: worker.models.join(","),
      WORKER_BACKEND: "builtin",
      ...context.options.env.workers,
      ...worker.env,
    },
    ready: () => answersOk(`${url}/healthz`),
    readyTimeoutMs: 60_000,
    stop: { rank: RANK.worker, signal: "SIGTERM", deadlineMs: 15_000 },
    hint: AGAIN,
  };
}

/** A worker of this stack, with its port and key. */
export type WorkerEntry = {
  number: number;
  name: string;
  port: number;
  endpoint: string;
  privateKey: `0x${string}`;
  models: readonly string[];
  env: Record<string, string>;
  start: boolean;
};

export function workerEntries(
  options: { workers: readonly WorkerOptions[] },
  firstPort: number,
  keys: readonly `0x${string}`[],
): WorkerEntry[] {
  return options.workers.map((worker, index) => ({
    number: index + 1,
    name: `worker-${index + 1}`,
    port: firstPort + index,
    endpoint: `http://127.0.0.1:${firstPort + index}`,
    privateKey: keys[index] ?? fail(`worker ${index + 1} has no key`),
    models: worker.models ?? ALL_MODELS,
    env: worker.env ?? {},
    start: worker.start ?? true,
  }));
}

function fail(message: string): never {
  throw new Error(message);
}
