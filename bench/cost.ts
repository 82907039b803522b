/** Section `cost`: the processor time that a request takes in each process, of this checkout, of others and of the peer, in turns. */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { createPublicClient, http } from "viem";
import { load, type Plan, type Target } from "./load.ts";
import { progress, type Section } from "./report.ts";
import { type Peer, processorMilliseconds, type System } from "./system.ts";
import { indexCaughtUp } from "./throughput.ts";

/** A running system, under the name that the tables have. */
export type NamedSystem = { name: string; system: System };

type CostOptions = { concurrency: number; requests: number; rounds: number; blocks: string };
type PeerTarget = { target: Target; process: Peer };

/** Requests that compile code and open connections before anything is counted; half of them plain, half streamed. */
const WARM_UP = 400;
const UNFINISHED = "state IN ('locking', 'pending', 'processing', 'settling')";

/** The use so far: milliseconds of processor time by process, and counts of the database. */
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
    const parts = Object.entries(after).map(([part, value]) => [part, value - (before[part] ?? 0)] as const);
    const all = sum(parts.flatMap(([part, value]) => (COUNTS.includes(part) ? [] : [value])));
    const used = { ...Object.fromEntries(parts), [ALL]: all };
    measured.set(name, [...(measured.get(name) ?? []), { requests: answered, used }]);
  };
  const plan = { concurrency, requests: Math.ceil(requests / 2) };
  for (const { system } of systems) await both(system.target, { concurrency, requests: WARM_UP / 2 });
  if (peer) await both(peer.target, { concurrency, requests: WARM_UP / 2 });
  for (let round = 1; round <= rounds; round++) {
    // The system that is measured after the peer uses 7 % less than one that is measured after another system: so they change places.
    const turns = round % 2 === 1 ? systems : systems.toReversed();
    for (const { name, system } of turns) {
      progress(`processor time, round ${round} of ${rounds}: ${name}`);
      const database = new pg.Client({ connectionString: system.stack.info.database_url as string });
      await database.connect();
      await settled(system, database);
      await count(
        name,
        () => usageOf(system, database),
        async () => {
          const answered = await both(system.target, plan);
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
const ALL = "all processes";

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}

/** Columns of another system: its mean, and the median of the rounds' ratios to it, since one busy moment of the machine spoils a mean. */
function table(measured: ReadonlyMap<string, readonly Round[]>, title: string): Section {
  const [[, first = []] = [], ...others] = measured;
  const per = (rounds: readonly Round[], part: string): number =>
    sum(rounds.map(({ used }) => used[part] ?? 0)) / sum(rounds.map(({ requests }) => requests));
  const ratios = (rounds: readonly Round[], part: string): number[] =>
    rounds.map((round, n) => per(first.slice(n, n + 1), part) / per([round], part));
  const [name = "", ...names] = measured.keys();
  const rows: Section["rows"] = Object.keys(first[0]?.used ?? {}).map((part) => {
    const cells = others.flatMap(([other, rounds]) => {
      const isMeasured = rounds[0]?.used[part] !== undefined;
      return [
        [other, isMeasured ? per(rounds, part) : undefined],
        [`× ${other}`, isMeasured ? median(ratios(rounds, part)) : undefined],
      ];
    });
    return { process: part, [name]: per(first, part), ...Object.fromEntries(cells) };
  });
  const byRound = others.map(([, rounds]) => {
    const all = ratios(rounds, ALL);
    return `${Math.min(...all).toFixed(2)} to ${Math.max(...all).toFixed(2)}`;
  });
  rows.push({
    process: `${ALL}, by round`,
    ...Object.fromEntries(names.map((other, n) => [`× ${other}`, byRound[n]])),
  });
  return { title, rows };
}
