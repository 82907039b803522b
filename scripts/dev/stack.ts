/** The local stack: its options, the order in which its parts start and stop, and what a caller can do with it. */
import { join, resolve } from "node:path";
import { privateKeyToAccount } from "viem/accounts";
import { bringUpToDate, DEV_OWNER, registrarOf } from "../../operator/register-workers.ts";
import type { Deployment } from "../../protocol/deployment.ts";
import { type Identity, identify, isAlive, tryLock } from "../../shared/process.ts";
import { retryUntil } from "../../shared/retry.ts";
import { listModels } from "../../worker/development.ts";
import { buildWeb } from "../build/web.ts";
import { DEPLOYER_KEY, OPERATOR_ADMIN } from "../deploy/config.ts";
import {
  chainFiles,
  faultOfDump,
  isDeployed,
  lostBlocks,
  readDeployment,
  setAside,
  startChain,
  wasKilled,
} from "./chain.ts";
import { awaitRouting, ensureDemo, loadSecrets, writeStackFile } from "./demo.ts";
import { demandRoom, ROOT, StackError } from "./files.ts";
import { GivenUp, Parts } from "./parts.ts";
import { demandFree, type Ports, portsFromEnv } from "./ports.ts";
import { connectGiven, outsideFolder, startPostgres } from "./postgres.ts";
import {
  apiSpec,
  type Context,
  deployTask,
  indexerSpec,
  PARTS,
  type PartName,
  type StackOptions,
  type WorkerOptions,
  workerEntries,
  workerSpec,
} from "./services.ts";
import { GATEWAY, OPERATOR, provideOperator } from "./wallets.ts";

export { PARTS, type PartName, type StackOptions };

/** The two workers of the operator's pool. */
export const DEFAULT_WORKERS: readonly WorkerOptions[] = [{}, {}];

export function optionsFromEnv(env: NodeJS.ProcessEnv): StackOptions {
  const blockTime = Number(env["BLOCK_TIME"]);
  if (env["BLOCK_TIME"] && !(blockTime > 0))
    throw new StackError(
      `BLOCK_TIME=${env["BLOCK_TIME"]} is not a number of seconds above 0; leave it out for a block a transaction.`,
    );
  return {
    dataDir: resolve(ROOT, env["DATA_DIR"] || ".data"),
    ports: portsFromEnv(env),
    parts: PARTS,
    workers: DEFAULT_WORKERS,
    ...(env["BLOCK_TIME"] ? { blockTime } : {}),
    ...(env["DATABASE_URL"] ? { databaseUrl: env["DATABASE_URL"] } : {}),
    env: {},
    baseEnv: env,
    write: (line) => console.log(line),
  };
}

/** Handle on a stack that is still starting: it can be given up at any moment. */
export type Starting = ReturnType<typeof startStack>;
export type Stack = Awaited<Starting["ready"]>;

/** Starts a stack. Whatever goes wrong, nothing of it is left running when `ready` rejects. */
export function startStack(options: StackOptions) {
  const { dataDir } = options;
  const abort = new AbortController();
  const death = Promise.withResolvers<StackError>();
  const progress = new Progress(options.write);
  let release = (): void => {};
  demandRoom(dataDir);
  const parts = new Parts(dataDir, abort.signal, (error, part) => {
    if (options.onDeath?.(error, part)) return;
    death.resolve(error);
    // During the start, the other parts need not wait any longer.
    abort.abort(error);
  });
  if (options.temporary) parts.deleteWhenKilled([dataDir, outsideFolder(dataDir)]);

  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopped ??= (async () => {
      abort.abort(new StackError("The stack was stopped."));
      progress.end();
      for (const line of await parts.stop()) progress.note("stack", line);
      release();
    })();
    return stopped;
  };

  const start = async () => {
    release = await lockDataDir(parts, progress);
    await demandPorts(options);
    putUnusableChainAside(options, progress);
    const secrets = loadSecrets(dataDir, options.workers.length);
    const context: Context = {
      options,
      parts,
      secrets,
      workers: workerEntries(options, secrets),
      urls: urlsOf(options.ports),
      deploymentFile: join(dataDir, "deployment.json"),
    };
    const started = await startParts(context, progress, (error) => abort.abort(error));
    progress.end();
    const { deployment } = started;
    return {
      info: writeStackFile(context, started),
      options,
      deployment,
      deploymentFile: context.deploymentFile,
      workers: context.workers,
      /** Settles with the reason when a part dies by itself; the stack is to be stopped then. */
      died: death.promise,
      /** Stops everything in order; safe to call more than once. */
      stop,
      killAll: () => parts.killAll(),
      /** Signals one part ("api", "worker-1", "indexer", "postgres", "chain") and waits for its end. */
      kill: (part: string, signal: NodeJS.Signals = "SIGKILL") => parts.kill(part, signal),
      /** Starts a part again that was killed, and waits until it is ready. */
      restart: (part: string, readyWithinMs?: number) => parts.restart(part, readyWithinMs),
      processes: () => parts.list(),
    };
  };

  const ready = start().catch(async (error: unknown) => {
    await stop();
    // A part that died is the cause; that others were given up only follows from it.
    throw error instanceof GivenUp && abort.signal.reason instanceof StackError ? abort.signal.reason : error;
  });
  return { ready, giveUp: stop, killAll: () => parts.killAll() };
}

/** Starts the parts, each as soon as what it needs is there. */
async function startParts(context: Context, progress: Progress, giveUp: (error: unknown) => void) {
  const { options, parts, secrets, urls } = context;
  const { ports, baseEnv: env } = options;
  const workers = options.parts.includes("workers") ? context.workers : [];
  const started = workers.filter(({ start }) => start);
  const killed = options.parts.includes("chain") && wasKilled(options.dataDir);

  /** A step with a line of its own; null when its part is not wanted. */
  const step = async <T>(part: PartName, name: string, action: () => Promise<Done<T>>): Promise<T | null> =>
    options.parts.includes(part) ? await progress.step(name, action) : null;

  const chain = step("chain", "chain", async () => [await startChain(parts, options), null]);
  const database = step("database", "database", () =>
    options.databaseUrl
      ? connectGiven(options.databaseUrl)
      : startPostgres(parts, { port: ports.postgres, password: secrets.postgresPassword, env }),
  );
  const deployed = chain.then(() => step("contracts", "contracts", () => ensureDeployed(context, progress)));
  // Before anything notes in the database what is on the chain now.
  const told = Promise.all([deployed, database]).then(async ([, url]) => {
    const lost = killed && url ? await lostBlocks(urls.rpc, url) : null;
    if (lost !== null) progress.note("chain", lost);
    return url ?? "";
  });
  const indexer = told.then((url) =>
    step("indexer", "indexer", async () => {
      await parts.launch(indexerSpec(context, url));
      return [`Ponder on ${ports.indexer}`, null];
    }),
  );
  const pool = deployed.then((deployment) =>
    step("workers", "workers", async () => {
      const registrar = registrarOf(urls.rpc, DEV_OWNER, deployment as Deployment);
      await listModels(registrar, options.listings ?? []);
      await bringUpToDate(registrar, workers);
      await Promise.all(started.map((worker) => parts.launch(workerSpec(context, worker))));
      const on = [...new Set([started[0]?.port, started.at(-1)?.port])].join("-");
      return [started.length === 0 ? "registered, none started" : `${started.length} on ${on}`, null];
    }),
  );
  // The API serves it; whoever starts the API gets it built.
  const web = step("api", "web", async () => {
    const hint = "correct the source named above, or restore it (git status shows what differs from the clone).";
    const run = (args: string[]) => parts.run({ name: "web", command: process.execPath, args, env, hint });
    return [await buildWeb(run), null];
  });
  const api = Promise.all([told, web]).then(([url]) =>
    step("api", "api", async () => {
      await parts.launch(apiSpec(context, url));
      return [`gateway on ${ports.api}`, null];
    }),
  );
  // After the pool: both are paid for by the same account, whose transactions must not overtake each other.
  const demo = Promise.all([api, pool]).then(() =>
    step("demo", "demo", async () => {
      const account = await ensureDemo(context, (await deployed) as Deployment, await told);
      return [`account ${account.wallet}`, account];
    }),
  );
  const routing = demo.then((account) =>
    step("demo", "routing", async () => [await awaitRouting(context, started, account?.api_key ?? ""), null]),
  );

  const all = [chain, database, deployed, told, indexer, pool, web, api, demo, routing];
  try {
    await Promise.all(all);
  } catch (error) {
    // The first failure is the one to tell about; the others end before anything is cleaned up.
    giveUp(error);
    await Promise.allSettled(all);
    throw error;
  }
  return { databaseUrl: await told, deployment: await deployed, demo: await demo };
}

/** Credits that stand for the operator's faults. */
const RESERVE = 100_000;

/** Deploys the contracts unless this chain has them, and gives the operator its gateways and its reserve. */
async function ensureDeployed(context: Context, progress: Progress): Promise<Done<Deployment>> {
  const { options, parts, urls, deploymentFile } = context;
  const known = readDeployment(deploymentFile);
  let deployment = known !== null && (await isDeployed(urls.rpc, known)) ? known : null;
  const says = deployment === null ? "deployed to" : "deployed at";
  if (known !== null && deployment === null)
    progress.note(
      "contracts",
      "they have changed, or the chain is another: they are deployed again, with empty balances",
    );
  if (deployment === null) {
    const windows: Record<string, string> = options.windows ? { DEPLOY_WINDOWS: JSON.stringify(options.windows) } : {};
    await parts.run(deployTask(context, { OPERATOR_ADMIN_ADDRESSES: OPERATOR_ADMIN.address, ...windows }));
    deployment = readDeployment(deploymentFile);
  }
  if (deployment === null) throw new StackError(`scripts/deploy.ts ended well but wrote no ${deploymentFile}.`);
  await provideOperator(
    { rpc_url: urls.rpc, contracts: deployment.contracts },
    {
      operator: OPERATOR,
      admin: privateKeyToAccount(OPERATOR_ADMIN.privateKey),
      signers: [GATEWAY.privateKey, ...(options.gatewayKeys ?? [])].map((key) => privateKeyToAccount(key)),
      funder: privateKeyToAccount(DEPLOYER_KEY),
      reserve: RESERVE,
    },
  );
  return [`${says} ${deployment.contracts.InferenceEscrow}`, deployment];
}

/** A lock is held by the warden, which outlives a killed starter until the last part has stopped. */
type Holder = Identity & { starter: Identity };

/** Makes this stack the only one of its data folder; waits until a killed one has come to its end. */
async function lockDataDir(parts: Parts, progress: Progress): Promise<() => void> {
  const { dataDir } = parts;
  const owner: Holder = { ...parts.warden, starter: identify(process.pid) as Identity };
  let said = false;
  const attempt = () => {
    const lock = tryLock(join(dataDir, "starter.json"), owner);
    if ("release" in lock) return lock.release;
    const { starter } = lock.holder;
    if (isAlive(starter)) {
      throw new StackError(
        `A stack with the data folder ${dataDir} is already running (process ${starter.pid}).\n` +
          `What to do: use that one, stop it with Ctrl-C or \`kill ${starter.pid}\`, or choose another folder and other ports:\n` +
          "  DATA_DIR=.data-2 API_PORT=4001 CHAIN_PORT=8546 INDEXER_PORT=4270 WORKER_PORT=9201 POSTGRES_PORT=5430 npm start",
      );
    }
    if (!said) progress.note("stack", "the last start was killed: waiting until its parts have stopped");
    said = true;
    return null;
  };
  return await retryUntil(attempt, { pauseMs: 100, signal: parts.abort });
}

async function demandPorts({ ports, parts, workers, databaseUrl }: StackOptions): Promise<void> {
  const all: readonly (readonly [PartName, keyof Ports, number])[] = [
    ["chain", "chain", ports.chain],
    ...(databaseUrl ? [] : [["database", "postgres", ports.postgres] as const]),
    ["indexer", "indexer", ports.indexer],
    ["api", "api", ports.api],
    ...workers.flatMap(({ start }, i) => (start === false ? [] : [["workers", "worker", ports.worker + i] as const])),
  ];
  for (const [part, kind, port] of all) if (parts.includes(part)) await demandFree(kind, port);
}

/** After a kill of the chain: begins anew, with everything that belongs to the old one, if its dump cannot be used. */
function putUnusableChainAside({ dataDir, parts, databaseUrl }: StackOptions, progress: Progress): void {
  if (!parts.includes("chain") || !wasKilled(dataDir)) return;
  const fault = faultOfDump(chainFiles(dataDir).state);
  if (fault === null) return;
  const folder = setAside(dataDir);
  progress.note(
    "chain",
    `it was killed, and ${fault}. A new chain is started, with new keys and empty balances; the old chain, its database, keys and ` +
      `workers' stores are kept in ${folder}${databaseUrl ? "; jobs in the database of DATABASE_URL are dropped" : ""}`,
  );
}

const urlsOf = (ports: Ports): Context["urls"] => ({
  rpc: `http://127.0.0.1:${ports.chain}`,
  ws: `ws://127.0.0.1:${ports.chain}`,
  api: `http://127.0.0.1:${ports.api}`,
  indexer: `http://127.0.0.1:${ports.indexer}`,
});

/** The words that a finished step prints, and the value that it gives to later steps. */
type Done<T> = readonly [says: string, value: T];

/** Prints the progress: one line a step, with the time it took, and a sign of life when no step ends for a while. */
class Progress {
  readonly #write: (line: string) => void;
  readonly #running = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(write: (line: string) => void) {
    this.#write = write;
    this.#tick();
  }

  /** Runs a step; it returns what the line says about it. */
  async step<T>(name: string, action: () => Promise<Done<T>>): Promise<T> {
    const started = performance.now();
    this.#running.add(name);
    const [says, value] = await action();
    this.#running.delete(name);
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    this.note(name, `${says.padEnd(58)} ${seconds.padStart(5)} s`);
    return value;
  }

  note(name: string, text: string): void {
    this.#write(`  ${name.padEnd(12)} ${text}`);
    this.#tick();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#running.clear();
  }

  #tick(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#running.size > 0) this.note("...", `still starting: ${[...this.#running].join(", ")}`);
      else this.#tick();
    }, 4_000).unref();
  }
}
