import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createBackend } from "./backends/create.ts";
import { connectChain } from "./chain/connect.ts";
import { saveSettings, setUp } from "./cli/setup.ts";
import type { Terminal } from "./cli/terminal.ts";
import { type Config, demandBackend } from "./config/config.ts";
import { hiding } from "./config/hiding.ts";
import type { Invocation } from "./config/sources.ts";
import { ConfigError } from "./errors.ts";
import { openWorkerKey } from "./keys/worker-key.ts";
import { createLogger, type Logger } from "./log.ts";
import { startWorker, type Worker } from "./worker.ts";

/** After the drain, time for the last bytes to reach their gateways. */
const CLOSE_MS = 1_000;

/** Sets the worker up as far as that is its own business, then serves until a signal. */
export async function serve(config: Config, { flags, values }: Invocation, terminal: Terminal): Promise<void> {
  const log = createLogger(config.logLevel, hiding(config));
  process.on("uncaughtException", (error) => {
    // Frames only: the text above them may quote what went through.
    const stack = error.stack?.split("\n").filter((line) => line.startsWith("    at "));
    log.fatal({ err: error, stack: stack?.slice(0, 6) }, "a fault of the worker: stopping; a restart resumes");
    process.exit(1);
  });
  const privateKey = await openWorkerKey(config, terminal);
  const chain = await connectChain(config.rpcUrl, config.deploymentFile, log);
  demandBackend(values, config, chain.deployment.chainId);
  const backend = await createBackend(config.backend, config.concurrency);
  // A key that comes from outside is registered by whoever manages it; with --yes it is brought up to date here, too.
  if (config.privateKey === null || flags.yes) {
    await setUp({ config, chain, backend, privateKey, terminal, yes: flags.yes });
    await saveSettings(config.dataDir, values, terminal);
  }
  const worker = await startWorker({ config, privateKey, chain, backend, log });
  const server = await listen(worker, config);
  const { address, port } = server.address() as AddressInfo;
  log.info(
    { worker: worker.address, host: address, port, models: [...config.models.keys()], backend: worker.backendName },
    "listening",
  );

  let stopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping) {
      log.warn({ signal }, "second signal: stopping the running jobs");
      return worker.abortJobs();
    }
    stopping = true;
    log.info({ signal, jobs: worker.health().in_flight }, "draining");
    void shutDown(worker, server, config, log);
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
}

function listen(worker: Worker, config: Config): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = worker.app.listen(config.port, config.host, (error?: Error) => {
      if (error === undefined) return resolve(server);
      const busy = "code" in error && error.code === "EADDRINUSE";
      reject(
        busy
          ? new ConfigError(
              `port ${config.port} of ${config.host} is in use: choose another with WORKER_PORT or --port`,
            )
          : error,
      );
    });
    // Whoever finds the port can connect: nothing may trickle in for minutes, nor take all memory.
    server.headersTimeout = 10_000;
    server.requestTimeout = 60_000;
    server.maxConnections = 4_096;
    // Longer than a gateway keeps an idle connection, so that it never writes into one that is just being closed.
    server.keepAliveTimeout = 75_000;
  });
}

async function shutDown(worker: Worker, server: Server, config: Config, log: Logger): Promise<void> {
  try {
    await worker.drain(config.drainSeconds);
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeIdleConnections();
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, CLOSE_MS))]);
    log.info({ unsettled: worker.health().unsettled }, "stopped");
    process.exit(0);
  } catch (error) {
    log.fatal({ err: error }, "could not stop in order");
    process.exit(1);
  }
}
