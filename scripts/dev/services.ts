/** The project's own services as parts of a stack: which file, which environment, when ready, how stopped. */
import { join } from "node:path";
import type { Hex } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import type { Listing } from "../../worker/catalog-names.ts";
import { DEPLOYER_KEY } from "../deploy/config.ts";
import { LAUNCH_MODELS } from "../deploy/launch-models.ts";
import { rpc } from "./chain.ts";
import { AGAIN, answersOk, type PartSpec, type Parts, RANK, type TaskSpec } from "./parts.ts";
import type { Ports } from "./ports.ts";
import { GATEWAY } from "./wallets.ts";

/** The parts of a stack. Later ones need the earlier ones. */
export const PARTS = ["chain", "database", "contracts", "indexer", "workers", "api", "demo"] as const;
export type PartName = (typeof PARTS)[number];

export type StackOptions = {
  dataDir: string;
  ports: Ports;
  parts: readonly PartName[];
  workers: readonly WorkerOptions[];
  /** Models that its workers host and the launch catalog lacks. */
  listings?: readonly Listing[];
  /** Seconds between blocks; a block a transaction without it. */
  blockTime?: number;
  /** Shorter contract windows, passed to the deployment as DEPLOY_WINDOWS. */
  windows?: Record<string, number>;
  /** Keys of further gateways, which the operator's admin adds beside the stack's own. */
  gatewayKeys?: readonly Hex[];
  /** A database of one's own instead of the local one. */
  databaseUrl?: string;
  /** More environment for single parts. */
  env: Partial<Record<"contracts" | "indexer" | "workers" | "api", Record<string, string>>>;
  /** The environment that every part gets, before its own. */
  baseEnv: NodeJS.ProcessEnv;
  /** Seconds that the start waits for all workers to answer the gateway; 20 without it. */
  routingSeconds?: number;
  /** Told when a part dies by itself; true if the stack shall go on without it (whoever says so restarts it). */
  onDeath?: (error: Error, part: string) => boolean;
  /** Deletes the data folder when the starter is killed, and never writes the chain there: a killed node has lost it. */
  temporary?: boolean;
  write: (line: string) => void;
};

export type Secrets = {
  /** Encrypts answers and webhook secrets in the gateway's tables: losing it loses those. */
  masterKey: string;
  postgresPassword: string;
  workerKeys: Hex[];
  demoPrivateKey: Hex;
  demoApiKey?: string;
};

/** The values that every part needs about its stack. */
export type Context = {
  options: StackOptions;
  parts: Parts;
  secrets: Secrets;
  workers: readonly WorkerEntry[];
  urls: { rpc: string; ws: string; api: string; indexer: string };
  deploymentFile: string;
};

export type WorkerOptions = {
  /** Model ids it hosts; all launch models by default. */
  models?: readonly string[];
  env?: Record<string, string>;
  /** False registers it on chain and leaves its port to the caller (a test that plays the worker). */
  start?: boolean;
};

/** The workers of a stack, with their ports and keys. */
export const workerEntries = ({ workers, ports }: StackOptions, { workerKeys }: Secrets) =>
  workers.map((worker, index) => ({
    number: index + 1,
    name: `worker-${index + 1}`,
    port: ports.worker + index,
    endpoint: `http://127.0.0.1:${ports.worker + index}`,
    privateKey: workerKeys[index] as Hex,
    models: [...(worker.models ?? LAUNCH_MODELS.map(({ id }) => id))],
    env: worker.env ?? {},
    start: worker.start ?? true,
  }));
export type WorkerEntry = ReturnType<typeof workerEntries>[number];

/** One of the project's programs; all of them learn where the chain is. */
const program = ({ options, urls, deploymentFile }: Context, file: string, env: NodeJS.ProcessEnv) => ({
  command: process.execPath,
  args: [file],
  env: {
    ...options.baseEnv,
    DATA_DIR: options.dataDir,
    RPC_URL: urls.rpc,
    WS_URL: urls.ws,
    DEPLOYMENT_FILE: deploymentFile,
    ...env,
  },
  hint: AGAIN,
});

/** The deployment; it gets the deployer's key, which the services never see. */
export const deployTask = (context: Context, env: Record<string, string>): TaskSpec => ({
  name: "deploy",
  ...program(context, "scripts/deploy.ts", {
    DEPLOYER_PRIVATE_KEY: DEPLOYER_KEY,
    ...env,
    ...context.options.env.contracts,
  }),
});

export const indexerSpec = (context: Context, databaseUrl: string): PartSpec => ({
  name: "indexer",
  ...program(context, "indexer/main.ts", {
    DATABASE_URL: databaseUrl,
    INDEXER_PORT: String(context.options.ports.indexer),
    ...context.options.env.indexer,
  }),
  ready: readyIndex(context.urls),
  // After anything but SIGINT, Ponder's next start waits 20 s for a lock.
  stop: { rank: RANK.indexer, signal: "SIGINT", seconds: 15 },
});

export const apiSpec = (context: Context, databaseUrl: string): PartSpec => ({
  name: "api",
  ...program(context, "api/main.ts", {
    API_PORT: String(context.options.ports.api),
    API_HOST: context.options.baseEnv["API_HOST"] || "127.0.0.1",
    DATABASE_URL: databaseUrl,
    GATEWAY_PRIVATE_KEY: GATEWAY.privateKey,
    MASTER_KEY: context.secrets.masterKey,
    BASE_URL: context.options.baseEnv["BASE_URL"] || context.urls.api,
    // The operator's pool. A worker that joins beside it is a newcomer.
    OWN_WORKERS: context.workers.map(({ privateKey }) => privateKeyToAddress(privateKey)).join(","),
    // Workers and receivers of webhooks run on this machine too.
    ALLOW_LOCAL_ENDPOINTS: "true",
    DEMO_FILE: join(context.options.dataDir, "stack.json"),
    // An idle chain that mines on demand never adds confirmations.
    WEBHOOK_CONFIRMATIONS: "0",
    ...context.options.env.api,
  }),
  ready: () => answersOk(`${context.urls.api}/readyz`),
  // Long enough to finish the answers it is streaming.
  stop: { rank: RANK.api, signal: "SIGTERM", seconds: 30 },
});

export const workerSpec = (context: Context, worker: WorkerEntry): PartSpec => ({
  name: worker.name,
  ...program(context, "worker/main.ts", {
    WORKER_PORT: String(worker.port),
    WORKER_PRIVATE_KEY: worker.privateKey,
    WORKER_DATA_DIR: join(context.options.dataDir, "workers", String(worker.number)),
    WORKER_MODELS: worker.models.join(","),
    WORKER_BACKEND: "builtin",
    ...context.options.env.workers,
    ...worker.env,
  }),
  ready: () => answersOk(`${worker.endpoint}/healthz`),
  stop: { rank: RANK.worker, signal: "SIGTERM", seconds: 15 },
});

/**
 * Ready is an index that has all blocks from before Ponder's own `/ready` answered: that comes a moment before the last blocks are in, and a
 * client that asked then would see yesterday's account. Later blocks are not waited for: on a busy machine the index is always one behind.
 */
function readyIndex(urls: Context["urls"]): () => Promise<boolean> {
  let head: number | null = null;
  return async () => {
    if (!(await answersOk(`${urls.indexer}/ready`))) {
      // Not up yet, or started again.
      head = null;
      return false;
    }
    try {
      head ??= Number(await rpc<string>(urls.rpc, "eth_blockNumber"));
      const response = await fetch(`${urls.indexer}/status`, { signal: AbortSignal.timeout(5_000) });
      const chains = Object.values((await response.json()) as Record<string, { block: { number: number } }>);
      return chains.length > 0 && chains.every((chain) => chain.block.number >= (head as number));
    } catch {
      // Between two states: the next look tells.
      return false;
    }
  };
}
