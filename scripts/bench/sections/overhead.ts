import { load, type Sample, type Target } from "../load.ts";
import type { Section } from "../report.ts";
import { p50, p99, shown } from "../statistics.ts";

const CONCURRENCY = [1, 16, 64];
/** Each server is asked in turn, in rounds, so that a busy moment of the machine meets all of them. */
const ROUNDS = 4;
/** Connections, compiled code and caches are warm in a service that runs: so many requests of each kind go to every server first. */
const WARM_UP = 400;

/** Time to first byte that each gateway adds to the upstream's own, in the same run; `quiet` waits for what earlier requests left to do. */
export async function overhead(
  targets: readonly Target[],
  requests: number,
  blocks: string,
  quiet: () => Promise<void>,
): Promise<Section> {
  const rows: string[][] = [];
  const json: object[] = [];
  for (const target of targets) {
    for (const stream of [false, true]) await load(target, { concurrency: 16, stream, requests: WARM_UP });
  }
  for (const stream of [false, true]) {
    for (const concurrency of CONCURRENCY) {
      await quiet();
      const measured = await inTurns(targets, concurrency, stream, Math.max(requests, concurrency * 8));
      const direct = measured[0] as Measured;
      for (const { target, samples } of measured) {
        const ok = samples.filter(({ status }) => status === 200);
        const first = ok.map((sample) => sample.first);
        const own = ok.map((sample) => sample.first - sample.chain);
        const base = direct.samples.map((sample) => sample.first);
        const result = {
          stream,
          concurrency,
          server: target.name,
          requests: samples.length,
          failed: samples.length - ok.length,
          first_p50: p50(first),
          first_p99: p99(first),
          added_p50: p50(first) - p50(base),
          added_p99: p99(first) - p99(base),
          added_without_chain_p50: p50(own) - p50(base),
        };
        json.push({ blocks, ...result });
        rows.push([
          stream ? "streamed" : "plain",
          String(concurrency),
          target.name,
          shown(result.first_p50),
          shown(result.first_p99),
          shown(result.added_p50),
          shown(result.added_p99),
          shown(result.added_without_chain_p50),
          `${samples.length}${result.failed ? ` (${result.failed} failed)` : ""}`,
        ]);
      }
    }
  }
  return {
    title: `Time to first byte, ms, ${blocks}`,
    columns: [
      "reply",
      "clients",
      "server",
      "p50",
      "p99",
      "added p50",
      "added p99",
      "added p50 without the chain",
      "requests",
    ],
    rows,
    json,
  };
}

type Measured = { target: Target; samples: Sample[] };

async function inTurns(
  targets: readonly Target[],
  concurrency: number,
  stream: boolean,
  requests: number,
): Promise<Measured[]> {
  const measured = targets.map((target): Measured => ({ target, samples: [] }));
  for (const { target } of measured) await load(target, { concurrency, stream, requests: concurrency * 2 });
  for (let round = 0; round < ROUNDS; round++) {
    for (const { target, samples } of measured) {
      samples.push(...(await load(target, { concurrency, stream, requests: Math.ceil(requests / ROUNDS) })));
    }
  }
  return measured;
}
