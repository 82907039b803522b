/**
 * `npm run bench [-- --sections cost,client,overhead,single,gateways,throughput,queue,lists,page,webhooks,memory --seconds 60 --requests 400 --clients 64 --blocks instant,0.25,1
 *                 --against FOLDER,FOLDER --rounds 4 --minutes 10 --jobs 1000000 --visits 7 --deliveries 20000 --webhooks 50 --silent 5 --rate 20 --out FOLDER --profile FOLDER]`
 *
 * The whole system on this machine in front of a model server that answers at once, beside a peer gateway in the same run.
 * `--against` names other checkouts, installed and compiled: `cost` and `overhead` run them in turns with this one.
 * Prints tables and writes them as Markdown and JSON. docs/performance.md explains the method and shows a run.
 */
import { basename, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Hex } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { z } from "zod";
import { clientCost } from "./client.ts";
import { cost, type NamedSystem } from "./cost.ts";
import { lists } from "./lists.ts";
import type { Target } from "./load.ts";
import { page } from "./page.ts";
import { queue } from "./queue.ts";
import { markdown, progress, type Section, writeReport } from "./report.ts";
import { nextBlock, overhead, single } from "./requests.ts";
import {
  MODEL,
  type System,
  type SystemOptions,
  startPortkey,
  startSystem,
  startSystemOf,
  startUpstream,
  withGateway,
} from "./system.ts";
import { indexCaughtUp, memory, throughput } from "./throughput.ts";
import { webhooks } from "./webhooks.ts";

const number = z.coerce.number().positive();
const names = z.string().transform((list) => list.split(","));
const ALL = "cost,client,overhead,single,gateways,throughput,queue,lists,page,webhooks,memory";
const schema = z.object({
  sections: names.default(ALL.split(",")),
  /** A minute; 20 s for webhooks. */
  seconds: number.optional(),
  requests: number.default(400),
  clients: number.default(64),
  blocks: names.default(["instant", "0.25", "1"]),
  jobs: number.default(1_000_000),
  visits: number.default(7),
  against: names.default([]),
  rounds: number.default(4),
  minutes: number.default(10),
  deliveries: number.default(20_000),
  webhooks: number.default(50),
  silent: z.coerce.number().nonnegative().default(5),
  rate: number.default(20),
  profile: z.string().optional(),
  out: z.string().default(".data/bench"),
});
const options = Object.fromEntries(Object.keys(schema.shape).map((name) => [name, { type: "string" as const }]));
const values = schema.parse(parseArgs({ options }).values);
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

async function withSystem(
  blocks: string,
  run: (system: System) => Promise<void>,
  more: Partial<SystemOptions> = {},
): Promise<void> {
  progress(`starting the system, ${named(blocks)}`);
  const system = await startSystem({ ...optionsFor(blocks, Math.min(clients, 64)), ...more });
  try {
    await run(system);
  } finally {
    await system.stop();
  }
}

const optionsFor = (blocks: string, accounts: number): SystemOptions => ({
  upstream: upstream.url,
  ...(blocks === "instant" ? {} : { blockTime: Number(blocks) }),
  accounts,
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
        const other = await startSystemOf(folder, optionsFor(blocks, Math.min(clients, 64)));
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

/** What a job costs with two gateways, each with a signer of its own, beside one. */
async function besideSecondGateway(one: System, key: Hex): Promise<void> {
  const two = await withGateway(one, key);
  try {
    const systems = [
      { name: "two gateways", system: two },
      { name: "one", system: one },
      // As many for each gateway: a gateway does much once for all jobs of a block.
      { name: "one, half of the clients", system: one, clients: Math.ceil(clients / 2) },
    ];
    const { requests, rounds } = values;
    done(await cost(systems, null, { concurrency: clients, requests: requests * 4, rounds, blocks: named("0.25") }));
  } finally {
    await two.stop();
  }
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
  if (wanted.has("client")) {
    const { requests, rounds } = values;
    await withSystem("instant", async (system) => done(await clientCost(system, { requests, rounds })), {
      accounts: 2,
    });
  }
  if (wanted.has("gateways")) {
    const key = generatePrivateKey();
    await withSystem("0.25", (one) => besideSecondGateway(one, key), { accounts: clients, gatewayKeys: [key] });
  }
  if (wanted.has("queue")) {
    for await (const section of queue({ upstream: upstream.url, seconds: values.seconds ?? 15 })) done(section);
  }
  // On a chain of its own: what a loop of requests leaves to be settled would be part of the next one's time.
  if (wanted.has("single")) {
    await withSystem("instant", async (system) => done(await single(system.target)));
  }
  // One account, so that its jobs are a known share of all.
  if (wanted.has("lists"))
    await withSystem("0.25", async (system) => done(await lists(system, values.jobs)), { accounts: 1 });
  if (wanted.has("page"))
    await withSystem("instant", async (system) => done(await page(system, values.visits)), { accounts: 1 });
  if (wanted.has("webhooks")) {
    for (const section of await webhooks({ ...values, seconds: values.seconds ?? 20 })) done(section);
  }
  if (wanted.has("memory")) {
    await withSystem("0.25", async (system) => done(await memory(system, values.minutes)));
  }
  console.log(`Written to ${values.out}/bench.md and bench.json.`);
} finally {
  upstream.stop();
  portkey?.stop();
}
