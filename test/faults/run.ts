import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { scenario } from "../scenarios/scenario.ts";
import { NODE_PROFILES } from "../support/node-profiles.ts";
import { Patience } from "../support/patience.ts";
import { Random } from "../support/random.ts";
import { FAULTS, type Fault, GATEWAY_KILLS, ROLL_BACKS } from "./faults.ts";
import { Load } from "./load.ts";
import { judge, type Lossy, type Verdict } from "./verdict.ts";
import { openWorld, type World } from "./world.ts";

type RunOptions = {
  /** Repeats a run's choices: which faults in which order, how long each lasts, what clients ask. */
  seed: number;
  concurrency: number;
  /** Requests a second of all clients; without it each sends the next one when its last has ended. */
  rate?: number;
  /** Only kinds whose name this regular expression finds. */
  kinds?: string;
  /** Milliseconds for all of it; what is not judged by then is a problem of its own. */
  within?: number;
  /** The parts reach the chain through a node that becomes another one: with each fault, or each minute where minutes are counted. */
  nodes?: boolean;
  /** Folder in which the logs of all parts are kept. */
  keep?: string;
  note: (line: string) => void;
} & Length;

/** Ends when so many faults have struck and so many requests were answered, or after so many minutes. */
type Length = { faults: number; requests: number } | { minutes: number };

/** More than a part has to be ready again: its own failure names it, with its log. */
const STRIKE_MS = 300_000;
const LAST_ANSWERS_MS = 120_000;
/** For one request, on average. */
const REQUEST_MS = 2_000;
/** A reorganisation takes ten blocks back at most; what the killed node forgets is all within its fault. */
const FORGOTTEN_MS = 5_000;
/** An answer whose lock was taken back under way ends within the completion window. */
const UNDER_WAY_MS = 30_000;
/** A reply leaves some milliseconds before its settlement is recorded. Clients here share a processor with the whole system: they note it late. */
const UNRECORDED_MS = 2_000;
/** More than clients without a rate make on two cores. */
const MOST_A_SECOND = 50;

type RunResult = Verdict & {
  seed: number;
  /** How long the load lasted. */
  seconds: number;
  struck: Record<string, number>;
  /** As which nodes the chain answered. */
  nodes: string[];
};

const NODE_MS = 60_000;

/** A real system under load, one accident after the other; then the verdict. */
export async function run(options: RunOptions): Promise<RunResult> {
  const { seed, note } = options;
  const random = new Random(seed);
  const least = "minutes" in options ? 0 : options.requests;
  const most = "minutes" in options ? options.minutes * 60 * (options.rate ?? MOST_A_SECOND) : options.requests;
  note(
    `seed ${seed}: ${"minutes" in options ? `${options.minutes} minutes` : `${options.faults} faults, ${least} requests`}`,
  );
  const patience = new Patience(options.within ?? Number.POSITIVE_INFINITY, note);
  const kept = options.keep === undefined ? {} : { keep: options.keep };
  const world = await openWorld({ credits: Math.max(10_000, most * 8), ...kept, nodes: options.nodes ?? false, note });
  const nodes = new Nodes(world);
  try {
    note("the system is up");
    const begun = Date.now();
    const load = new Load(world, random.fork(), options);
    if ("minutes" in options) nodes.changeEach(NODE_MS);
    const { struck, lossy, problems } = await strike(world, options, random, load, patience, nodes);
    nodes.stop();
    const lacking = async () => {
      const answered = load.requests.filter(({ outcome }) => outcome === "answered").length;
      return answered < least ? `${answered} of ${least} were answered` : null;
    };
    const unanswered = await patience.until("the answers", lacking, least * REQUEST_MS);
    const seconds = Math.round((Date.now() - begun) / 1000);
    if (unanswered !== null) problems.push(`clients were not answered: ${unanswered}`);
    note(`${load.requests.length} requests made; waiting for the last answers`);
    const stopped = patience.within("the last answers", load.stop(), LAST_ANSWERS_MS);
    await stopped.catch((error) => problems.push(String(error)));
    const verdict = await judge(world, load, lossy, patience);
    verdict.problems.unshift(...problems);
    for (const problem of verdict.problems) note(`PROBLEM: ${problem}`);
    return { seed, seconds, struck, nodes: nodes.seen, ...verdict };
  } finally {
    nodes.stop();
    note("stopping the system");
    await world.stop();
  }
}

/** The nodes as which the chain answers, one after the other. */
class Nodes {
  readonly #world: World;
  readonly #names = Object.keys(NODE_PROFILES) as (keyof typeof NODE_PROFILES)[];
  readonly #seen = new Set<string>();
  #turn = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  get seen(): string[] {
    return [...this.#seen];
  }

  /** Whether the time changes it. */
  get isTimed(): boolean {
    return this.#timer !== undefined;
  }

  change(): void {
    const { node, note } = this.#world;
    if (node === null) return;
    const name = this.#names[this.#turn++ % this.#names.length] as keyof typeof NODE_PROFILES;
    node.profile = NODE_PROFILES[name];
    this.#seen.add(name);
    note(`the node is one like ${name}`);
  }

  changeEach(ms: number): void {
    this.change();
    this.#timer = setInterval(() => this.change(), ms);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** One accident after the other, every kind once before any comes again. Kills come first: a short run has them all. */
async function strike(
  world: World,
  options: RunOptions,
  random: Random,
  load: Load,
  patience: Patience,
  nodes: Nodes,
): Promise<{ struck: Record<string, number>; lossy: Lossy[]; problems: string[] }> {
  const struck: Record<string, number> = {};
  const lossy: Lossy[] = [];
  const kinds = FAULTS.filter(({ name }) => new RegExp(options.kinds ?? "").test(name));
  const isKill = ({ name }: Fault) => name.startsWith("kill");
  let order: Fault[] = [];
  const faults = "minutes" in options ? Number.POSITIVE_INFINITY : options.faults;
  const end = "minutes" in options ? Date.now() + options.minutes * 60_000 : Number.POSITIVE_INFINITY;
  for (let n = 0; n < faults && Date.now() < end; n++) {
    if (order.length === 0) order = random.shuffle(kinds);
    if (n === 0) order.sort((a, b) => Number(isKill(a)) - Number(isKill(b)));
    const fault = order.pop() as Fault;
    if (!nodes.isTimed) nodes.change();
    options.note(`fault ${n + 1}: ${fault.name} (${load.requests.length} requests so far)`);
    let begun = Date.now();
    try {
      await patience.within("the start of what had ended by itself", world.revived(), STRIKE_MS);
      begun = Date.now();
      await patience.within(fault.name, fault.strike(world, random), STRIKE_MS);
      const { lastWords } = world.second;
      if (lastWords !== null) {
        options.note(`the second gateway ended by itself and is started again: ${lastWords}`);
        await world.second.start();
      }
    } catch (error) {
      options.note(`${fault.name}: ${error}`);
      // The system did not come back from it: there is nothing more to strike, but much to judge.
      return { struck, lossy, problems: [`fault ${n + 1}, ${fault.name}: ${error}`] };
    }
    const ended = Date.now();
    if (ROLL_BACKS.has(fault.name)) lossy.push({ from: begun - FORGOTTEN_MS, until: ended + UNDER_WAY_MS });
    const killed = world.gateways[GATEWAY_KILLS.get(fault.name) ?? -1];
    if (killed !== undefined) lossy.push({ from: begun - UNRECORDED_MS, until: ended, gateway: killed });
    struck[fault.name] = (struck[fault.name] ?? 0) + 1;
    await sleep(random.int(200, 2_000));
  }
  return { struck, lossy, problems: [] };
}

/**
 * Random accidents on a real system under load, then a verdict from the chain alone. The seed repeats a run's choices. `minutes` counts time
 * instead of faults and requests, `rate` sets the requests a second of all clients, `kinds` is a regular expression of their names,
 * `nodes=yes` puts nodes of other kinds between the parts and the chain, another one with each fault or minute, `keep` is a folder for all logs.
 */
const accidents = (
  name: string,
  does: string,
  changed: { minutes?: number; rate?: number; concurrency?: number; kinds?: string; nodes?: "yes" } = {},
) =>
  scenario({
    name,
    does,
    options: {
      ...{
        seed: 0,
        faults: 200,
        requests: 5_000,
        concurrency: 12,
        rate: 0,
        minutes: 0,
        kinds: "",
        nodes: "",
        keep: "",
      },
      ...changed,
    },
    run: ({ seed, faults, requests, concurrency, rate, minutes, kinds, nodes, keep }, note) =>
      run({
        ...(minutes ? { minutes } : { faults, requests }),
        ...(rate ? { rate } : {}),
        ...(keep ? { keep } : {}),
        seed: seed || randomInt(2 ** 31),
        concurrency,
        kinds,
        nodes: nodes === "yes",
        note,
      }),
  });

export const faults = accidents("faults", "random accidents, one after the other");
export const chaos = accidents("chaos", "ten minutes of `kill -9` at 20 requests a second", {
  minutes: 10,
  rate: 20,
  concurrency: 40,
  kinds: "kill",
});
export const nodes = accidents("nodes", "an hour behind nodes of six kinds, another one each minute", {
  minutes: 60,
  nodes: "yes",
  rate: 6,
});
