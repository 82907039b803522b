/** Section `cost`: the processor time that a request takes in each process, of this checkout, of others and of the peer, in turns. */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { createPublicClient, http } from "viem";
import { load, type Plan, type Target } from "./load.ts";
import { progress, type Section, shown } from "./report.ts";
import { type Peer, processorMilliseconds, type System } from "./system.ts";
import { indexCaughtUp } from "./throughput.ts";

/** A running system, under the name that the tables have. `clients`: its own number, instead of the section's. */
export type NamedSystem = { name: string; system: System; clients?: number };

type CostOptions = { concurrency: number; requests: number; rounds: number; blocks: string };
type PeerTarget = { target: Target; process: Peer };

/** Requests that compile code and open connections before anything is counted; half of them plain, half streamed. */
const WARM_UP = 400;
const UNFINISHED = "state IN ('locking', 'pending', 'processing', 'settling')";

/** What was used so far: milliseconds of processor time by process, and counts of the database. */
type Usage = Record<string, number>;
type Round = { requests: number; used: Usage };

/**
 * Half of the requests are plain, half are streamed. A round ends when its last job is settled and indexed: what comes after the answer belongs to
 * the request as well.
 */
export async function cost(
  systems: readonly NamedSystem[],
  peer: PeerTarget | null,
  { concurrency, requests, rounds, blocks }: CostOptions,
): Promise<Section> {
  const measured = new Map<string, Round[]>();
  const count = async (name: string, usage: () => Promise<Usage>, run: () => Promise<number>) => {
    const before = await usage();
    const answered = await run();
    const after = await usage();
    const used = Object.fromEntries(Object.entries(after).map(([part, value]) => [part, value - (before[part] ?? 0)]));
    measured.set(name, [...(measured.get(name) ?? []), { requests: answered, used }]);
  };
  const plan = { concurrency, requests: Math.ceil(requests / 2) };
  for (const { system } of systems) await both(system.target, { concurrency, requests: WARM_UP / 2 });
  if (peer) await both(peer.target, { concurrency, requests: WARM_UP / 2 });
  for (let round = 1; round <= rounds; round++) {
    // Whoever comes after the peer uses 7 % less than whoever comes after another system: they change places.
    const turns = round % 2 === 1 ? systems : systems.toReversed();
    for (const { name, system, clients } of turns) {
      progress(`processor time, round ${round} of ${rounds}: ${name}`);
      const database = new pg.Client({ connectionString: system.stack.info.database_url as string });
      await database.connect();
      await settled(system, database);
      await count(
        name,
        () => usageOf(system, database),
        async () => {
          const answered = await both(system.target, { ...plan, concurrency: clients ?? concurrency });
          await settled(system, database);
          return answered;
        },
      );
      await database.end();
    }
    if (peer) {
      const usage = async () => ({ [PEER]: processorMilliseconds(peer.process.pid) });
      await count(PEER, usage, () => both(peer.target, plan));
    }
  }
  return table(measured, `Processor time a request, ms, ${blocks}, ${concurrency} clients`);
}

const PEER = "peer gateway";

async function both(target: Target, plan: Omit<Extract<Plan, { requests: number }>, "stream">): Promise<number> {
  let answered = 0;
  for (const stream of [false, true]) {
    const samples = await load(target, { ...plan, stream });
    answered += samples.filter(({ status }) => status === 200).length;
  }
  return answered;
}

/** Waits until no job is open and the index has the newest block. */
async function settled({ stack }: System, database: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await database.query(`SELECT 1 FROM gateway.job WHERE ${UNFINISHED} LIMIT 1`);
    if (rows.length === 0) break;
    await sleep(50);
  }
  await indexCaughtUp(stack);
}

async function usageOf({ stack }: System, database: pg.Client): Promise<Usage> {
  const usage: Usage = {};
  for (const { name, pid } of stack.processes()) {
    const part = name.replace(/-\d+$/, "s");
    usage[part] = (usage[part] ?? 0) + processorMilliseconds(pid);
  }
  const { rows } = await database.query(
    "SELECT xact_commit::int AS commits, (tup_inserted + tup_updated + tup_deleted)::int AS rows FROM pg_stat_database WHERE datname = current_database()",
  );
  const head = await createPublicClient({ transport: http(stack.info.rpc_url) }).getBlockNumber({ cacheTime: 0 });
  return { ...usage, [BLOCKS]: Number(head), [COMMITS]: rows[0].commits, [ROWS]: rows[0].rows };
}

/** Rows of the table that are no milliseconds. */
const [BLOCKS, COMMITS, ROWS] = ["blocks", "commits of the database", "rows written"] as const;
const COUNTS: readonly string[] = [BLOCKS, COMMITS, ROWS];

function table(measured: ReadonlyMap<string, readonly Round[]>, title: string): Section {
  const each = [...measured].map(([name, rounds]) => ({ name, rounds, parts: Object.keys(rounds[0]?.used ?? {}) }));
  const first = each[0] as (typeof each)[number];
  const per = (rounds: readonly Round[], parts: readonly string[]): number => {
    const used = rounds.reduce((sum, round) => sum + parts.reduce((all, part) => all + (round.used[part] ?? 0), 0), 0);
    return used / rounds.reduce((sum, { requests }) => sum + requests, 0);
  };
  const times = (parts: readonly string[]) => parts.filter((part) => !COUNTS.includes(part));
  const named = [
    ...first.parts.map((part): [string, string[] | null] => [part, [part]]),
    ["all processes", null] as [string, null],
  ];
  const rows = named.map(([name, parts]) => {
    const own = per(first.rounds, parts ?? times(first.parts));
    const cells = each.map(({ name: other, rounds, parts: its }) => {
      if (other === first.name) return shown(own, 2);
      if (parts !== null && !its.includes(name)) return "";
      const value = per(rounds, parts ?? times(its));
      return `${shown(value, 2)} (× ${shown(own / value, 2)})`;
    });
    return [name, ...cells];
  });
  const ratios = each.slice(1).map(({ name, rounds, parts }) => {
    const of = (index: number) =>
      per([first.rounds[index] as Round], times(first.parts)) / per([rounds[index] as Round], times(parts));
    const all = rounds.map((_, index) => of(index)).toSorted((a, b) => a - b);
    return `${name}: × ${shown(all[0] as number, 2)} to × ${shown(all.at(-1) as number, 2)}`;
  });
  rows.push(["all processes, by round", ratios.join("; "), ...each.slice(1).map(() => "")]);
  const json = each.map(({ name, rounds }) => ({ name, rounds }));
  return { title, columns: ["process", ...each.map(({ name }) => name)], rows, json };
}
