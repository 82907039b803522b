/**
 * `npm start`: the whole service on this machine, until Ctrl-C. Settings come from the environment (API_PORT,
 * CHAIN_PORT, INDEXER_PORT, WORKER_PORT, POSTGRES_PORT, DATA_DIR, DATABASE_URL, BLOCK_TIME); every one has a default.
 */
import { relative } from "node:path";
import { curlCommand } from "./dev/demo.ts";
import { StackError } from "./dev/files.ts";
import { optionsFromEnv, type Starting, startStack } from "./dev/stack.ts";

async function main(): Promise<number> {
  const options = optionsFromEnv(process.env);
  const started = performance.now();
  console.log(`Starting; logs are in ${relative(process.cwd(), options.dataDir) || "."}/logs`);
  const starting = startStack(options);
  const signalled = onSignals(starting);

  // Given up by a signal, the start fails as well; that is no news.
  const stack = await Promise.race([
    starting.ready.catch((error) => (signalled.asked() ? signalled.stopped : Promise.reject(error))),
    signalled.stopped,
  ]);
  if (stack === "signalled") return 0;
  console.log(`  everything   after ${((performance.now() - started) / 1000).toFixed(1)} s; stop with Ctrl-C`);
  console.log(`ready  ${curlCommand(stack.info)}`);

  const end = await Promise.race([stack.died, signalled.stopped]);
  if (end === "signalled") return 0;
  console.error(`\n${end.message}\nStopping the rest.`);
  await stack.stop();
  return 1;
}

/** Settles when everything has stopped after a signal. A second one ends it at once. */
function onSignals(starting: Starting): { stopped: Promise<"signalled">; asked: () => boolean } {
  let asked = false;
  const stopped = new Promise<"signalled">((resolve, reject) => {
    const end = (signal: NodeJS.Signals): void => {
      if (asked) {
        starting.killAll();
        process.exit(1);
      }
      asked = true;
      console.log(`\n${signal}: stopping in order (API, workers, indexer, database, chain); once more to end at once.`);
      starting.giveUp().then(() => resolve("signalled"), reject);
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, end);
  });
  return { stopped, asked: () => asked };
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof StackError ? `\n${error.message}` : error);
  process.exitCode = 1;
}
// Whatever timer or socket is left must not hold the terminal.
process.exit();
