/**
 * `npm run bench [-- options]`, which `--help` lists: the whole system on this machine in front of a model server that answers at once, beside a
 * peer gateway in the same run. Prints tables and writes them as Markdown and JSON. docs/performance.md explains the method and shows a run.
 */
import { basename, resolve } from "node:path";
import { Command, InvalidArgumentError } from "@commander-js/extra-typings";
import { cost, type NamedSystem } from "./cost.ts";
import type { Target } from "./load.ts";
import { preconfirmed } from "./preconfirmed.ts";
import { queue } from "./queue.ts";
import { markdown, progress, type Section, writeReport } from "./report.ts";
import { nextBlock, overhead } from "./requests.ts";
import {
  MODEL,
  type System,
  type SystemOptions,
  startPortkey,
  startSystem,
  startSystemOf,
  startUpstream,
} from "./system.ts";
import { indexCaughtUp, memory, throughput } from "./throughput.ts";
import { webhooks } from "./webhooks.ts";

const SECTIONS = ["cost", "overhead", "throughput", "queue", "preconfirmed", "webhooks", "memory"];
const BLOCKS = ["instant", "0.25", "1"];

function positive(text: string): number {
  if (Number(text) > 0) return Number(text);
  throw new InvalidArgumentError("It must be a number above 0.");
}
const listOf = (known: readonly string[]) => (text: string) => {
  const names = text.split(",");
  if (names.every((name) => known.includes(name))) return names;
  throw new InvalidArgumentError(`Choose from ${known.join(",")}.`);
};

const values = new Command("npm run bench --")
  .description(
    "Measures the whole system on this machine, beside a peer gateway. docs/performance.md explains the method.",
  )
  .option("--sections <LIST>", "what to measure", listOf(SECTIONS), SECTIONS)
  .option("--blocks <LIST>", "seconds between blocks; instant: a block a transaction", listOf(BLOCKS), BLOCKS)
  .option(
    "--against <FOLDERS>",
    "other checkouts, installed and compiled: cost and overhead run them in turns with this one",
    (text) => text.split(","),
    [],
  )
  .option("--clients <N>", "clients at once", positive, 64)
  .option("--requests <N>", "requests of a round of cost, and of overhead", positive, 400)
  .option("--rounds <N>", "rounds of cost", positive, 4)
  .option("--seconds <N>", "length of throughput (default: 60), queue (15) and webhooks (20)", positive)
  .option("--minutes <N>", "length of memory", positive, 10)
  .option("--out <FOLDER>", "folder of bench.md and bench.json", ".data/bench")
  .option("--profile <FOLDER>", "folder for CPU profiles of gateway, workers and indexer")
  .allowExcessArguments(false)
  .showHelpAfterError("`npm run bench -- --help` lists the options.")
  .parse()
  .opts();
const wanted = new Set(values.sections);
const { seconds = 60, clients } = values;
const startedAt = new Date();
const sections: Section[] = [];

function done(section: Section): void {
  sections.push(section);
  writeReport(values.out, sections, startedAt);
  console.log(markdown([section], startedAt).split("\n").slice(4).join("\n"));
}

const upstream = await startUpstream();
const portkey = await startPortkey();

async function withSystem(blocks: string, run: (system: System) => Promise<void>): Promise<void> {
  progress(`starting the system, ${named(blocks)}`);
  const system = await startSystem(optionsFor(blocks));
  try {
    await run(system);
  } finally {
    await system.stop();
  }
}

const optionsFor = (blocks: string): SystemOptions => ({
  upstream: upstream.url,
  ...(blocks === "instant" ? {} : { blockTime: Number(blocks) }),
  accounts: Math.min(clients, 64),
  credits: 200_000,
  profile: values.profile,
});

/** All checkouts run at once: an idle one costs little, and whose turn it is meets the same moment of the machine. */
async function withSystems(blocks: string, run: (systems: NamedSystem[]) => Promise<void>): Promise<void> {
  await withSystem(blocks, async (system) => {
    const systems: NamedSystem[] = [{ name: "this checkout", system }];
    try {
      for (const folder of values.against) {
        progress(`starting the system of ${folder}`);
        const other = await startSystemOf(folder, optionsFor(blocks));
        systems.push({ name: basename(resolve(folder)), system: other });
      }
      await run(systems);
    } finally {
      for (const { system: other } of systems.slice(1)) await other.stop();
    }
  });
}

async function costOf(blocks: string, systems: NamedSystem[]): Promise<void> {
  const concurrency = blocks === "instant" ? Math.min(16, clients) : clients;
  const requests = blocks === "instant" ? values.requests : values.requests * 4;
  const options = { concurrency, requests, rounds: values.rounds, blocks: named(blocks) };
  done(await cost(systems, portkey && peer && { target: peer, process: portkey }, options));
}

async function timesOf(blocks: string, systems: NamedSystem[]): Promise<void> {
  const [{ system }] = systems as [NamedSystem];
  const direct: Target = { name: "the upstream itself", url: upstream.url, headers: () => ({}), model: MODEL };
  // With one client a request takes a block: a minute of them is enough.
  const requests = blocks === "instant" ? values.requests : Math.min(values.requests, 40);
  progress(`time to first byte, ${named(blocks)}`);
  const own = systems.map(({ name, system: { target } }) => ({ ...target, name }));
  const targets = [direct, ...(peer && blocks === "instant" ? [peer] : []), ...own];
  const quiet = async () => void (await Promise.all(systems.map(({ system: { stack } }) => indexCaughtUp(stack))));
  done(await overhead(targets, { requests, blocks: named(blocks), quiet }));
  if (blocks !== "instant") done(await nextBlock(system, Number(blocks)));
}

const named = (blocks: string): string => (blocks === "instant" ? "a block a transaction" : `${blocks} s blocks`);

const peer: Target | null = portkey && {
  name: "peer gateway (forwards only)",
  url: portkey.url,
  model: MODEL,
  headers: () => ({
    "x-portkey-provider": "openai",
    "x-portkey-custom-host": `${upstream.url}/v1`,
    authorization: "Bearer none",
  }),
};

try {
  for (const blocks of values.blocks) {
    if (wanted.has("cost") && blocks !== "1") await withSystems(blocks, (systems) => costOf(blocks, systems));
    if (wanted.has("overhead")) await withSystems(blocks, (systems) => timesOf(blocks, systems));
    if (!wanted.has("throughput")) continue;
    await withSystem(blocks, async (system) => {
      done(await throughput(system, { concurrency: clients, seconds, blocks: named(blocks) }));
    });
  }
  if (wanted.has("queue")) {
    for await (const section of queue({ upstream: upstream.url, seconds: values.seconds ?? 15 })) done(section);
  }
  if (wanted.has("preconfirmed")) {
    const options = { ...optionsFor("instant"), accounts: 8, workers: { count: 1, concurrency: 64, queue: 64 } };
    done(await preconfirmed(options, Math.min(values.requests, 40)));
  }
  if (wanted.has("webhooks")) {
    for (const section of await webhooks(values.seconds ?? 20)) done(section);
  }
  if (wanted.has("memory")) {
    await withSystem("0.25", async (system) => done(await memory(system, values.minutes)));
  }
  console.log(`Written to ${values.out}/bench.md and bench.json.`);
} finally {
  upstream.stop();
  portkey?.stop();
}
