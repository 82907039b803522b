import { setTimeout as sleep } from "node:timers/promises";
import { load } from "../load.ts";
import type { Section } from "../report.ts";
import { shown } from "../statistics.ts";
import type { System } from "../system.ts";

/** Clients: a steady load, well below what the machine can take. */
const CLIENTS = 8;
const SAMPLE_MS = 5_000;
/** Share of the run in which caches fill and code is compiled: growth is counted after it. */
const WARM_UP = 0.4;

type Sample = { at: number; memory: Record<string, number> };

/** Resident memory of each process under a steady load: after the warm-up, does any of them still grow? */
export async function memory(system: System, minutes: number, progress: (line: string) => void): Promise<Section> {
  const startedAt = performance.now();
  const elapsed = () => (performance.now() - startedAt) / 60_000;
  const samples: Sample[] = [];
  let answered = 0;
  const loading = load(system.target, { concurrency: CLIENTS, stream: true, seconds: minutes * 60 }, () => answered++);
  while (elapsed() < minutes) {
    samples.push({ at: elapsed(), memory: system.memory() });
    if (samples.length % 12 === 0) progress(`memory: ${elapsed().toFixed(0)} of ${minutes} min, ${answered} answered`);
    await sleep(SAMPLE_MS);
  }
  const failed = (await loading).filter(({ status }) => status !== 200).length;
  const later = samples.filter(({ at }) => at >= minutes * WARM_UP);
  const middle = Math.floor(later.length / 2);
  const json = Object.keys(samples[0]?.memory ?? {}).map((part) => {
    const of = (some: Sample[]) => some.map(({ memory }) => memory[part] ?? Number.NaN);
    const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const [before, after] = [mean(of(later.slice(0, middle))), mean(of(later.slice(middle)))];
    return { part, first: of(samples)[0], before, after, last: of(samples).at(-1), growth: after - before };
  });
  return {
    title: `Memory over ${minutes} minutes, ${CLIENTS} clients, ${answered} jobs (${failed} failed), MB resident`,
    columns: ["process", "at the start", "mean of minutes 40-70 %", "mean of the last 30 %", "difference"],
    rows: json.map(({ part, first, before, after, growth }) => [
      part,
      shown(first ?? Number.NaN, 0),
      shown(before, 0),
      shown(after, 0),
      shown(growth),
    ]),
    json,
  };
}
