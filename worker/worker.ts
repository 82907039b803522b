/** A worker's life: set up, put together, serve until a signal, drain. */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Hex } from "viem";
import type { Health } from "../protocol/dispatch.ts";
import { ignoreLostOutput, keepCompiled } from "../shared/process.ts";
import { withoutLogin } from "../shared/redact.ts";
import { onStopSignal, stopWithNpm } from "../shared/signals.ts";
import { startTracing } from "../shared/tracing.ts";
import { type Backend, modelsFault } from "./backends/backend.ts";
import { BuiltinTextGenerator } from "./backends/builtin.ts";
import { OpenAiBackend } from "./backends/openai.ts";
import { type Chain, ChainReader, connectChain, payeeId } from "./chain.ts";
import { saveSettings, setUp } from "./cli/setup.ts";
import { type Config, demandBackend, hiding, type Invocation } from "./config.ts";
import { createLogger, type Logger, type Terminal } from "./console.ts";
import { JobRunner } from "./jobs/runner.ts";
import { Identity, openWorkerKey } from "./keys.ts";
import { createServer, listen } from "./server.ts";
import { SettlementWatcher } from "./settlement.ts";
import { answerCipher, CompletionStore } from "./store.ts";

const SWEEP_MS = 3_600_000;
/** After the drain, time for the last bytes to reach their gateways, and for the last spans. */
const CLOSE_MS = 1_000;

/** Sets the worker up as far as that is its own business, then serves until a signal. */
export async function serve(config: Config, { flags, values }: Invocation, terminal: Terminal): Promise<void> {
  ignoreLostOutput();
  const log = createLogger(config.logLevel, hiding(config));
  process.on("uncaughtException", (error) => {
    // Frames only: the text above them may quote what went through.
    const stack = error.stack?.split("\n").filter((line) => line.startsWith("    at "));
    log.fatal({ err: error, stack: stack?.slice(0, 6) }, "a fault of the worker: stopping; a restart resumes");
    process.exit(1);
  });
  const sendSpans = await startTracing("worker", process.env, log);
  const chain = await connectChain(config, log);
  demandBackend(values, chain.deployment.chainId);
  const privateKey = await openWorkerKey(config, terminal, chain.deployment.chainId);
  const backend = createBackend(config);
  const where = config.backend.kind === "openai" ? `at ${withoutLogin(config.backend.url)}` : "";
  const fault = await modelsFault(backend, config.models.values(), where);
  // A key from the environment is registered by the person who manages it; with --yes its registration is brought up to date here, too.
  if (config.privateKey === null || flags.yes) {
    await setUp({ config, chain, privateKey, modelsFault: fault, terminal, yes: flags.yes });
    // Beside a local stack, the next start looks again for the model server that this one has found.
    if (values["WORKER_MODELS"] !== undefined) await saveSettings(config.dataDir, values, terminal);
  }
  if (fault !== null) log.warn(fault);
  const worker = await startWorker({ config, chain, backend, privateKey, log });
  keepCompiled();

  let stopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping) {
      log.warn({ signal }, "second signal: stopping the running jobs");
      return worker.abortJobs();
    }
    stopping = true;
    log.info({ signal, jobs: worker.health().in_flight }, "draining");
    const stopped = worker.stop().then(() => Promise.race([sendSpans(), sleep(CLOSE_MS)]));
    stopped.then(
      () => process.exit(0),
      (error: unknown) => {
        log.fatal({ err: error }, "could not stop in order");
        process.exit(1);
      },
    );
  };
  onStopSignal(onSignal, ["SIGINT", "SIGTERM"]);
  stopWithNpm();
}

function createBackend({ backend, concurrency }: Config): Backend {
  if (backend.kind === "builtin") return new BuiltinTextGenerator(backend);
  return new OpenAiBackend({ baseUrl: backend.url, key: backend.key, connections: concurrency });
}

type Given = { config: Config; chain: Chain; backend: Backend; privateKey: Hex; log: Logger };
type Worker = {
  health: () => Health;
  /** Refuses new jobs, waits for the running ones, then lets go of everything. */
  stop: () => Promise<void>;
  /** Ends the running jobs at once. */
  abortJobs: () => void;
};

/** Puts a worker together, which looks after what an earlier process left unsettled, and listens. */
async function startWorker({ config, chain, backend, privateKey, log }: Given): Promise<Worker> {
  const identity = new Identity(privateKey, chain.deployment);
  const store = await CompletionStore.open(config.dataDir, { cipher: answerCipher(privateKey), log });
  const escrow = chain.deployment.contracts.InferenceEscrow;
  const reader = new ChainReader(chain, await store.gateways(escrow), (key, operator) => {
    store
      .addGateway(escrow, key, operator)
      .catch((error: unknown) => log.warn({ err: error, key }, "a gateway's key was not noted: it is read again"));
  });
  const { equivocation } = await reader.windows();
  await warnAboutStanding({ config, chain, log }, identity, reader);
  const stored = await store.heads();
  if (stored.length > 0) log.info({ jobs: stored.length }, "found completions that are not settled yet");
  const watcher = new SettlementWatcher({ chain, identity, reader, store, log }, config, stored);
  const runner = new JobRunner({ config, identity, reader, store, watcher, backend, log });
  // The equivocation window is long after the chain has stopped taking a Completion of the job.
  const sweep = (): void => {
    store
      .sweep(equivocation)
      .catch((error: unknown) => log.warn({ err: error }, "cannot clean the list of taken jobs"));
  };
  sweep();
  const sweeper = setInterval(sweep, SWEEP_MS);

  const models = [...config.models.keys()];
  const health = (): Health => ({
    status: runner.isDraining ? "draining" : "ok",
    worker: identity.address,
    models,
    abilities: Object.fromEntries(config.abilities),
    demo: config.backend.kind === "builtin",
    ...runner.load,
    counting: Object.fromEntries([...config.models].map(([id, name]) => [id, backend.counting(name)])),
    unsettled: watcher.unsettled,
  });
  const server = await listen(createServer({ runner, health, log }), config);
  const { address: host, port } = server.address() as AddressInfo;
  log.info({ worker: identity.address, host, port, models, backend: backend.name }, "listening");
  return {
    health,
    abortJobs: () => runner.stop(),
    stop: async () => {
      await runner.drain(config.drainSeconds);
      clearInterval(sweeper);
      await watcher.stop();
      await store.close();
      await backend.close();
      await close(server);
      log.info({ unsettled: watcher.unsettled }, "stopped");
    },
  };
}

/** Stops listening; connections get a moment for their last bytes. */
async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  await Promise.race([closed, sleep(CLOSE_MS)]);
}

/** Warns of models for which no job can come. That is not final, so it does not stop the worker. */
async function warnAboutStanding(
  { config, chain, log }: Pick<Given, "config" | "chain" | "log">,
  { address }: Identity,
  reader: ChainReader,
): Promise<void> {
  const listed = await reader.models();
  for (const model of config.models.keys()) {
    const number = listed.get(model);
    if (number === undefined) {
      log.warn({ model, listed: [...listed.keys()] }, "the catalog does not list this model: no job of it can come");
    } else if ((await payeeId(chain, address, number)) === null) {
      log.warn(
        { model, worker: address },
        "not registered with enough stake for this model yet: no job of it can come",
      );
    }
  }
}
