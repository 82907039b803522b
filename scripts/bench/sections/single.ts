import { setTimeout as sleep } from "node:timers/promises";
import { load, type Sample, type Target } from "../load.ts";
import type { Section } from "../report.ts";
import { p50, p99, shown } from "../statistics.ts";

const REQUESTS = 200;
const WARM_UP = 200;
/** Time between two requests, in which the one before is settled and indexed. */
const PAUSE_MS = 150;

/** One request at a time on an idle service with a block a transaction: what nobody shares a transaction with takes, stage by stage. */
export async function single(target: Target, progress: (line: string) => void): Promise<Section> {
  const rows: string[][] = [];
  const json: object[] = [];
  for (const stream of [false, true]) await load(target, { concurrency: 4, stream, requests: WARM_UP });
  for (const stream of [false, true]) {
    const reply = stream ? "streamed" : "plain";
    const samples: Sample[] = [];
    for (let n = 0; n < REQUESTS; n++) {
      await sleep(PAUSE_MS);
      samples.push(...(await load(target, { concurrency: 1, stream, requests: 1 })));
      if (n % 50 === 49) progress(`${reply}: ${n + 1} of ${REQUESTS} single requests`);
    }
    const ok = samples.filter(({ status }) => status === 200);
    const add = (what: string, values: number[]): void => {
      rows.push([reply, what, shown(p50(values)), shown(p99(values))]);
      json.push({ stream, what, requests: values.length, p50: p50(values), p99: p99(values) });
    };
    add(
      "first byte",
      times(ok, ({ first }) => first),
    );
    add(
      "first byte without the chain",
      times(ok, ({ first, chain }) => first - chain),
    );
    for (const stage of Object.keys(ok[0]?.stages ?? {}))
      add(
        `of it ${stage}`,
        times(ok, ({ stages }) => stages[stage]),
      );
    if (ok.length < samples.length) rows.push([reply, `${samples.length - ok.length} failed`, "", ""]);
  }
  return {
    title: "One request at a time, a block a transaction",
    columns: ["reply", "", "p50 ms", "p99 ms"],
    rows,
    json,
  };
}

const times = (samples: readonly Sample[], of: (sample: Sample) => number | undefined): number[] =>
  samples.map(of).filter((ms) => ms !== undefined);
