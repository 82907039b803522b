/** `npm start`: the whole service on this machine, until Ctrl-C. */
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { onStopSignal, stopWithNpm } from "../shared/signals.ts";
import { curlCommand } from "./dev/demo.ts";
import { messageOf, ROOT, StackError } from "./dev/files.ts";
import { findServed, inWords, listingsOf, type ModelOptions, poolOf } from "./dev/models.ts";
import { behindSequencer } from "./dev/sequencer.ts";
import { optionsFromEnv, type Starting, startStack } from "./dev/stack.ts";

const USAGE = `Usage: npm start [-- options]

  --backend URL      a model server with the OpenAI API, e.g. http://127.0.0.1:8000/v1; its key in WORKER_BACKEND_KEY
  --models LIST      its models to offer, as catalog-id=name-at-the-server,… (default: all)
  --help             this text

Without --backend, Ollama (port 11434), llama-server (8080), vLLM (8000) and LM Studio (1234) are looked for on this
machine. What a model server serves, it serves alone; the built-in generator answers for the rest with demo text.

Settings from the environment, each with its default:
  DATA_DIR           .data: keys, chain, database, logs
  API_PORT           4000: gateway, web application and guide
  CHAIN_PORT         8545
  INDEXER_PORT       4269
  POSTGRES_PORT      5429
  WORKER_PORT        9101 and up
  DATABASE_URL       a database of yours instead of the local one
  BLOCK_TIME         seconds between blocks; without it each transaction makes one
  PRECONFIRMED       no; "yes" begins jobs on a sequencer's promise of their lock, before its block: with BLOCK_TIME=2, for example
  LOOK_FOR_MODELS    yes; "no" looks for no model server`;

class UsageError extends Error {}

/** The options of the command line; null if it asks for help. Throws a UsageError. */
function readArguments(argv: readonly string[]): ModelOptions | null {
  const text = { type: "string" } as const;
  const options = { backend: text, models: text, help: { type: "boolean", short: "h" } } as const;
  try {
    const { help, ...asked } = parseArgs({ args: [...argv], options, strict: true }).values;
    if (asked.backend !== undefined && !/^https?:$/.test(URL.parse(asked.backend)?.protocol ?? ""))
      throw new Error(`--backend ${asked.backend} is no http(s) URL`);
    return help ? null : asked;
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

async function main(): Promise<number> {
  // Without the two dashes before it, npm keeps an option for itself.
  if (process.env["npm_config_backend"] || process.env["npm_config_models"])
    throw new UsageError("npm took the options for its own: write npm start -- --backend URL");
  const asked = readArguments(process.argv.slice(2));
  if (asked === null) {
    console.log(USAGE);
    return 0;
  }
  stopWithNpm();
  // The parts are several processes of the same modules: what one has compiled, the next need not.
  process.env["NODE_COMPILE_CACHE"] ??= join(ROOT, "node_modules/.cache/compiled");
  const fromEnv = optionsFromEnv(process.env);
  const served = await findServed(asked, process.env);
  const local = { ...fromEnv, workers: poolOf(fromEnv.workers, served), listings: listingsOf(served) };
  const isPreconfirmed = process.env["PRECONFIRMED"] === "yes";
  const { options } = isPreconfirmed ? await behindSequencer(local, local.blockTime ?? 1) : { options: local };
  const started = performance.now();
  const starting = startStack(options);
  console.log(`Starting; logs are in ${relative(process.cwd(), options.dataDir) || "."}/logs`);
  for (const line of inWords(served, process.env)) console.log(`  ${"models".padEnd(12)} ${line}`);
  const signalled = onSignals(starting);

  // Given up by a signal, the start fails as well; that is no news.
  const stack = await Promise.race([
    starting.ready.catch((error) => (signalled.asked() ? signalled.stopped : Promise.reject(error))),
    signalled.stopped,
  ]);
  if (stack === "signalled") return 0;
  console.log(`  everything   after ${((performance.now() - started) / 1000).toFixed(1)} s; stop with Ctrl-C`);
  const { base_url, app_url } = stack.info;
  console.log(`  web          ${base_url}/ (playground), ${app_url} (application), ${base_url}/docs (guide)`);
  const [first] = served[0]?.names.keys() ?? [];
  console.log(`ready  ${curlCommand(stack.info, first)}`);

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
    onStopSignal(end);
  });
  return { stopped, asked: () => asked };
}

try {
  process.exitCode = await main();
} catch (error) {
  const isUsage = error instanceof UsageError;
  console.error(isUsage ? `${error.message}\n\n${USAGE}` : error instanceof StackError ? `\n${error.message}` : error);
  process.exitCode = isUsage ? 2 : 1;
}
// Whatever timer or socket is left must not hold the terminal.
process.exit();
