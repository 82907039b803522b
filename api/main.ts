/** The gateway process: `node api/main.ts`. Settings come from the environment (api/config.ts). */
import type { Server } from "node:http";
import { limitConnectionsEach } from "../shared/connections.ts";
import { ignoreLostOutput, keepCompiled } from "../shared/process.ts";
import { startTracing } from "../shared/tracing.ts";
import { createApp } from "./app.ts";
import { type Config, readConfig } from "./config.ts";
import { migrate, openDatabase } from "./db/pool.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import { createLogger } from "./observe/log.ts";
import { answerMalformed } from "./routes/errors.ts";
import { createHttpServer } from "./routes/limits.ts";

/** A graceful stop waits this long for running answers, then for their settlements. */
const STOP_MS = 20_000;
/** The share of all connections that one address may have. */
const SHARE_OF_ONE = 0.1;
/** Time for the last bytes after that, and for the last spans. */
const FLUSH_MS = 2_000;

ignoreLostOutput();
let config: Config;
try {
  config = readConfig(process.env);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(2);
}

const logger = createLogger(config.LOG_LEVEL, config);

async function main(): Promise<void> {
  const sendSpans = await startTracing("gateway", process.env, logger);
  await migrate(config.DATABASE_URL, logger);
  const pool = openDatabase(config.DATABASE_URL, logger);
  const gateway = await startGateway(config, pool, logger, fatal);
  const server = await listen(gateway);
  logger.info({ url: config.BASE_URL }, "the gateway is ready");
  keepCompiled();

  let stopping = false;
  const stop = async (signal: string) => {
    if (stopping) return;
    stopping = true;
    gateway.phase.accepting = false;
    const delay = config.STOP_DELAY_SECONDS;
    logger.info({ signal, delay }, "stopping: running answers are finished first");
    await new Promise((resolve) => setTimeout(resolve, delay * 1000));
    const closed = new Promise((resolve) => server.close(resolve));
    await gateway.stop(STOP_MS);
    // Every job is over; what remains is the last bytes to slow readers.
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, FLUSH_MS))]);
    server.closeAllConnections();
    await Promise.race([sendSpans(), new Promise((resolve) => setTimeout(resolve, FLUSH_MS))]);
    await pool.end();
    logger.info("stopped");
    process.exit(0);
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      stop(signal).catch((error) => {
        logger.fatal({ err: error }, "the stop failed");
        process.exit(1);
      });
    });
  }
}

function listen(gateway: Gateway): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createHttpServer(createApp(gateway), config.MAX_CONNECTIONS);
    // Behind a proxy all connections are the proxy's.
    if (config.TRUST_PROXY === 0) limitConnectionsEach(server, Math.ceil(config.MAX_CONNECTIONS * SHARE_OF_ONE));
    server.once("error", reject);
    server.listen(config.API_PORT, config.API_HOST, () => resolve(server));
    server.on("drop", () => logger.warn({ limit: config.MAX_CONNECTIONS }, "too many connections: one was closed"));
    answerMalformed(server, config.DOCS_URL, logger);
  });
}

/** Ends the process, which its supervisor starts again. Requests that failed with it are answered first. */
function fatal(error: unknown, message: string): void {
  logger.fatal({ err: error }, message);
  setTimeout(() => process.exit(1), FLUSH_MS);
}

main().catch((error) => {
  logger.fatal({ err: error }, error instanceof Error ? error.message : "the gateway could not start");
  process.exit(1);
});
