import { join } from "node:path";
import type { Deployment } from "../../protocol/deployment.ts";
import type { StackContext } from "./context.ts";
import { GivenUp, StackError } from "./errors.ts";
import { tryLock } from "./file-lock.ts";
import type { PartName, StackOptions } from "./options.ts";
import { demandFree, type Ports } from "./ports.ts";
import { type WorkerEntry, workerEntries } from "./programs.ts";
import { loadSecrets } from "./secrets.ts";
import { type StackFile, writeStackFile } from "./stack-file.ts";
import { startParts } from "./start-parts.ts";
import { Steps } from "./steps.ts";
import { Supervisor } from "./supervisor.ts";

/** A running stack. */
export type Stack = {
  /** The contents of stack.json. */
  info: StackFile;
  options: StackOptions;
  deployment: Deployment | null;
  deploymentFile: string;
  workers: readonly WorkerEntry[];
  /** Settles with the reason when a part dies by itself; the stack is to be stopped then. */
  died: Promise<StackError>;
  /** Stops everything in order; safe to call more than once. */
  stop: () => Promise<void>;
  /** Ends everything at once. */
  killAll: () => void;
  /** Signals one part ("api", "worker-1", "indexer", "postgres", "chain") and waits for its end. */
  kill: (part: string, signal?: NodeJS.Signals) => Promise<void>;
  /** Starts a part again that was killed, and waits until it is ready. */
  restart: (part: string) => Promise<void>;
  processes: () => { name: string; pid: number; running: boolean }[];
};

/** Handle on a stack that is still starting: it can be given up at any moment. */
export type Starting = { ready: Promise<Stack>; giveUp: () => Promise<void>; killAll: () => void };

/** Starts a stack. Whatever goes wrong, nothing of it is left running when `ready` rejects. */
export function startStack(options: StackOptions): Starting {
  const steps = new Steps(options.write);
  const abort = new AbortController();
  const death = Promise.withResolvers<StackError>();
  const stopActions: (() => void)[] = [];
  const supervisor = new Supervisor({
    dataDir: options.dataDir,
    abort: abort.signal,
    report: (line) => steps.note("stack", line),
    onDeath: (error, part) => {
      if (options.onDeath?.(error, part)) return;
      death.resolve(error);
      // During the start, the other parts need not wait any longer.
      abort.abort(error);
    },
  });

  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopped ??= (async () => {
      abort.abort(new StackError("The stack was stopped."));
      await supervisor.stop();
      for (const action of stopActions) action();
    })();
    return stopped;
  };

  const start = async (): Promise<Stack> => {
    lockDataDir(options.dataDir, stopActions);
    const left = await supervisor.reapLeftovers();
    if (left.length > 0) steps.note("stack", `stopped what a killed start left behind: ${left.join(", ")}`);
    await demandPorts(options);

    const context: StackContext = {
      dataDir: options.dataDir,
      ports: options.ports,
      options,
      secrets: loadSecrets(options.dataDir, options.workers.length),
      supervisor,
      abort: abort.signal,
      report: (part, line) => steps.note(part, line),
      onStop: (action) => stopActions.push(action),
      urls: urlsOf(options.ports),
      databaseUrl: options.databaseUrl ?? "",
      deploymentFile: join(options.dataDir, "deployment.json"),
    };
    const workers = workerEntries(options, options.ports.worker, context.secrets.workerKeys);
    const { deployment, demo } = await startParts(context, steps, workers, (error) => abort.abort(error));
    return {
      info: writeStackFile(context, deployment, demo),
      options,
      deployment,
      deploymentFile: context.deploymentFile,
      workers,
      died: death.promise,
      stop,
      killAll: () => supervisor.killAll(),
      kill: (part, signal = "SIGKILL") => supervisor.kill(part, signal),
      restart: (part) => supervisor.restart(part),
      processes: () => supervisor.parts(),
    };
  };

  const ready = start().catch(async (error: unknown) => {
    await stop();
    // A part that died is the cause; that others were given up only follows from it.
    throw error instanceof GivenUp && abort.signal.reason instanceof StackError ? abort.signal.reason : error;
  });
  return { ready, giveUp: stop, killAll: () => supervisor.killAll() };
}

function lockDataDir(dataDir: string, stopActions: (() => void)[]): void {
  const lock = tryLock(join(dataDir, "starter.json"));
  if ("release" in lock) {
    stopActions.push(lock.release);
    return;
  }
  const { pid } = lock.holder;
  throw new StackError(
    `A stack with the data folder ${dataDir} is already running (process ${pid}).\n` +
      `What to do: use that one, stop it with Ctrl-C or \`kill ${pid}\`, or choose another folder and other ports:\n` +
      "  DATA_DIR=.data-2 API_PORT=4001 CHAIN_PORT=8546 INDEXER_PORT=42070 WORKER_PORT=9201 POSTGRES_PORT=54330 npm start",
  );
}

async function demandPorts({ ports, parts, workers, databaseUrl }: StackOptions): Promise<void> {
  const needs = (part: PartName): boolean => parts.includes(part);
  if (needs("chain")) await demandFree("chain", ports.chain);
  if (needs("database") && !databaseUrl) await demandFree("postgres", ports.postgres);
  if (needs("indexer")) await demandFree("indexer", ports.indexer);
  if (needs("api")) await demandFree("api", ports.api);
  if (!needs("workers")) return;
  for (const [index, worker] of workers.entries()) {
    if (worker.start !== false) await demandFree("worker", ports.worker + index);
  }
}

const urlsOf = (ports: Ports): StackContext["urls"] => ({
  rpc: `http://127.0.0.1:${ports.chain}`,
  ws: `ws://127.0.0.1:${ports.chain}`,
  api: `http://127.0.0.1:${ports.api}`,
  indexer: `http://127.0.0.1:${ports.indexer}`,
});
