/**
 * The service on ten hosts, which are network namespaces of this machine: a TLS proxy with deploy/nginx, two gateways, an indexer, PostgreSQL
 * with a streaming replica, a chain node, and three workers in two other networks; clients are outside. One thing after the other breaks under
 * load, and the time that each takes to heal is measured. Needs root, iproute2, iptables, nginx, openssl and Debian's postgresql.
 */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Load } from "../faults/load.ts";
import { judge, type Lossy } from "../faults/verdict.ts";
import { type Note, type Outcome, scenario } from "../scenarios/scenario.ts";
import { Patience } from "../support/patience.ts";
import { DEBIAN_POSTGRES } from "../support/postgres-server.ts";
import { Random } from "../support/random.ts";
import { BREAKS, readyOf } from "./breaks.ts";
import { fault, remove } from "./network.ts";
import { GATEWAYS, type Hosts, openHosts } from "./world.ts";

const WITHIN_MS = 2_400_000;
const HEAL_MS = 120_000;
/** Healed is what goes well for so long. */
const WELL_MS = 3_000;
const LOSSY_MS = 3_000;

/** Waits until both gateways are ready, the index is whole and no request fails; returns how long it took. */
async function healed(world: Hosts, load: Load, over: number): Promise<number | null> {
  const begun = Date.now();
  const headers = { authorization: `Bearer ${world.clients[1]?.apiKey}` };
  const works = async (): Promise<boolean> => {
    const ready = await Promise.all(GATEWAYS.map(readyOf));
    const list = await fetch(`${world.gateways[0]}/v1/jobs`, { headers, signal: AbortSignal.timeout(2_000) });
    await list.body?.cancel();
    return ready.every(Boolean) && list.ok && !list.headers.has("indexed-until");
  };
  for (let since = begun; Date.now() < begun + HEAL_MS; await sleep(100)) {
    const isWell = await works().catch(() => false);
    const failed = load.requests.findLast(({ outcome }) => outcome !== "answered")?.at ?? 0;
    since = isWell ? Math.max(since, failed) : Date.now();
    const answered = load.requests.some(({ at, outcome }) => at > since && outcome === "answered");
    if (isWell && answered && Date.now() - since > WELL_MS) return since - over;
  }
  return null;
}

/** `only`: parts of the names of what breaks. `rate`: requests a second of all clients. */
export const hosts = scenario({
  name: "hosts",
  does: "ten hosts, broken one by one; needs root and Debian's postgresql",
  options: { only: "", rate: 8 },
  run: breakHosts,
});

async function breakHosts({ only, rate }: { only: string; rate: number }, note: Note): Promise<Outcome> {
  const lacking = existsSync(DEBIAN_POSTGRES) ? fault() : `${DEBIAN_POSTGRES} is missing: apt-get install postgresql`;
  if (lacking !== null) return { problems: [`this machine cannot run it: ${lacking}`] };
  // Also what a killed run has left.
  remove();
  process.once("exit", remove);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(130));
  const patience = new Patience(WITHIN_MS, note);
  const world = await openHosts(Math.ceil((rate * WITHIN_MS) / 1000) * 2, note);
  const load = new Load(world, new Random(1), { concurrency: 8, rate, patient: true });
  const rows: NonNullable<Outcome["rows"]>[number][] = [];
  const [problems, lossy]: [string[], Lossy[]] = [[], []];
  await sleep(5_000);
  const wanted = only.split(",");
  for (const one of BREAKS.filter(({ name }) => wanted.some((part) => name.includes(part)))) {
    const lacks = one.lacks?.() ?? null;
    if (lacks !== null) {
      note(`${one.name}: not done, ${lacks}`);
      continue;
    }
    const [begun, first] = [Date.now(), load.requests.length];
    note(`${one.name} …`);
    let over = 0;
    try {
      await patience.within(
        one.name,
        one.strike(world, () => (over = Date.now())),
        HEAL_MS,
      );
    } catch (error) {
      problems.push(`${one.name}: ${error}`);
      break;
    }
    over ||= Date.now();
    const lasted = over - begun;
    const ms = await healed(world, load, over);
    if (ms === null) problems.push(`${one.name}: not healed after ${HEAL_MS / 1000} s`);
    if (one.lossy) lossy.push({ from: begun - LOSSY_MS, until: Date.now() });
    const seen = load.requests.slice(first);
    const failed = seen.filter(({ outcome }) => outcome !== "answered").length;
    for (const [told, { length }] of Map.groupBy(seen, ({ outcome, status, code }) => `${outcome} ${status} ${code}`))
      if (!told.startsWith("answered")) note(`${length} × ${told}`);
    const row = {
      what: one.name,
      "for s": Math.round(lasted / 1000),
      answered: seen.length - failed,
      failed,
      "healed after s": ms === null ? "never" : Number((ms / 1000).toFixed(1)),
    };
    note(JSON.stringify(row));
    rows.push(row);
  }
  await load.stop();
  note(`${load.requests.length} requests made; the verdict follows`);
  const verdict = await judge(world, load, lossy, patience);
  await world.stop();
  return { ...verdict, problems: [...problems, ...verdict.problems], rows };
}
