/** The system under load: sections `throughput` and `memory`, and how far the index is behind the chain. */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { type Address, createPublicClient, http } from "viem";
import { getHead } from "../api/db/index-reads.ts";
import { inferenceEscrowAbi } from "../protocol/generated/abi.ts";
import type { Stack } from "../scripts/dev/stack.ts";
import { load } from "./load.ts";
import { p50, p99, progress, type Section } from "./report.ts";
import type { System } from "./system.ts";

/** Waits until the index has every block: a backlog of what came before would take processor time from what is measured next. */
export async function indexCaughtUp(stack: Stack): Promise<void> {
  const lag = await watchIndexLag(stack);
  await lag.none();
  await lag.stop();
}

/**
 * Watches how long a block takes from the node to the index; ends with all lags seen, ms. Looks every `everyMs`: each look costs node and
 * database a request, which a load should not have to share them with.
 */
async function watchIndexLag(stack: Stack, everyMs = 5) {
  const chain = createPublicClient({ transport: http(stack.info.rpc_url) });
  const database = new pg.Client({ connectionString: stack.info.database_url as string });
  await database.connect();
  const seen = new Map<number, number>();
  const lags: number[] = [];
  let newest = Number(await chain.getBlockNumber({ cacheTime: 0 }));
  let behind = Number.POSITIVE_INFINITY;
  let stopped = false;
  const run = async (): Promise<void> => {
    while (!stopped) {
      const head = Number(await chain.getBlockNumber({ cacheTime: 0 }));
      const now = performance.now();
      for (let block = newest + 1; block <= head; block++) seen.set(block, now);
      newest = Math.max(newest, head);
      const indexed = Number((await getHead(database))?.blockNumber ?? 0);
      behind = newest - indexed;
      for (const [block, at] of seen) {
        if (block > indexed) break;
        lags.push(performance.now() - at);
        seen.delete(block);
      }
      await sleep(everyMs);
    }
  };
  const running = run();
  return {
    /** Resolves once the newest block is in the index. */
    none: async (): Promise<void> => {
      while (behind > 0) await sleep(20);
    },
    stop: async (): Promise<number[]> => {
      stopped = true;
      await running;
      await database.end();
      return lags;
    },
  };
}

const SETTLE_WAIT_MS = 60_000;
/** One client, before the load: the index as it is when little happens. */
const IDLE_SECONDS = 8;
/** Sustained is what comes after connections are open and code is compiled. */
const WARM_UP_SECONDS = 5;

type ThroughputOptions = { concurrency: number; seconds: number; blocks: string };

/** Jobs settled a second over `seconds`, and what is left unsettled at the end: counted on the chain, not by the clients. */
export async function throughput(system: System, options: ThroughputOptions): Promise<Section> {
  const { concurrency, seconds, blocks } = options;
  // The events of a minute are more than the client takes in one answer otherwise.
  const transport = http(system.stack.info.rpc_url, { maxResponseBodySize: false });
  const chain = createPublicClient({ transport, pollingInterval: 100 });
  const escrow = { address: system.stack.info.contracts["InferenceEscrow"] as Address, abi: inferenceEscrowAbi };
  await indexCaughtUp(system.stack);
  const idleLag = await watchIndexLag(system.stack);
  await load(system.target, { concurrency: 1, stream: true, seconds: IDLE_SECONDS });
  const idleLags = await idleLag.stop();
  await load(system.target, { concurrency, stream: true, seconds: WARM_UP_SECONDS });
  const fromBlock = (await chain.getBlockNumber({ cacheTime: 0 })) + 1n;
  const events = (eventName: "JobLocked" | "JobSettled") =>
    chain.getContractEvents({ ...escrow, eventName, fromBlock });
  const lag = await watchIndexLag(system.stack, 25);
  const startedAt = performance.now();
  let answered = 0;
  const ticker = setInterval(
    () => progress(`${blocks}: ${answered} answered after ${Math.round((performance.now() - startedAt) / 1000)} s`),
    5_000,
  );
  const [memoryBefore, processorBefore] = [system.memory(), system.processor()];
  const samples = await load(system.target, { concurrency, stream: true, seconds }, () => answered++);
  const loadSeconds = (performance.now() - startedAt) / 1000;
  clearInterval(ticker);
  const processor = system.processor();
  const ok = samples.filter(({ status }) => status === 200);
  let settled = await events("JobSettled");
  const settledInTime = settled.length;
  const locked = await events("JobLocked");
  for (const deadline = Date.now() + SETTLE_WAIT_MS; settled.length < ok.length && Date.now() < deadline; ) {
    await sleep(500);
    settled = await events("JobSettled");
  }
  const lags = await lag.stop();
  const hashes = [...settled, ...(await events("JobLocked"))].map((event) => event.transactionHash);
  let gas = 0;
  for (const hash of new Set(hashes)) gas += Number((await chain.getTransactionReceipt({ hash })).gasUsed);
  const first = ok.map((sample) => sample.first);
  const transactions = new Set(settled.map((event) => event.transactionHash)).size;
  const result: Record<string, number> = {
    "settled jobs a second": settledInTime / loadSeconds,
    "over, s": loadSeconds,
    answered: ok.length,
    failed: samples.length - ok.length,
    locked: locked.length,
    // Jobs of the single client before the load can settle within it.
    "left unsettled": Math.max(0, ok.length - settled.length),
    "time to first byte p50, ms": p50(first),
    "time to first byte p99, ms": p99(first),
    "settled jobs a transaction": settled.length / Math.max(1, transactions),
    "gas a job, lock and settlement": Math.round(gas / Math.max(1, settled.length)),
    "block → row of the index with one client p50, ms": p50(idleLags),
    "block → row of the index with one client p99, ms": p99(idleLags),
    "block → row of the index p50, ms": p50(lags),
    "block → row of the index p99, ms": p99(lags),
  };
  for (const [name, ms] of Object.entries(processor)) {
    result[`processor time of ${name} a job, ms`] = (ms - (processorBefore[name] ?? 0)) / ok.length;
  }
  for (const [name, megabytes] of Object.entries(system.memory())) {
    result[`memory of ${name} before, MB`] = memoryBefore[name] ?? Number.NaN;
    result[`memory of ${name} after, MB`] = megabytes;
  }
  return {
    title: `Settled jobs a second, ${blocks}, ${concurrency} clients`,
    rows: Object.entries(result).map(([what, value]) => ({ what, value })),
  };
}

/** Clients: a steady load, well below what the machine can take. */
const STEADY_CLIENTS = 8;
const SAMPLE_MS = 5_000;
/** Share of the run in which caches fill and code is compiled: growth is counted after it. */
const WARM_UP_SHARE = 0.4;

/** Resident memory of each process under a steady load: after the warm-up, does any of them still grow? */
export async function memory(system: System, minutes: number): Promise<Section> {
  const startedAt = performance.now();
  const elapsed = () => (performance.now() - startedAt) / 60_000;
  const samples: { at: number; memory: Record<string, number> }[] = [];
  let answered = 0;
  const plan = { concurrency: STEADY_CLIENTS, stream: true, seconds: minutes * 60 };
  const loading = load(system.target, plan, () => answered++);
  while (elapsed() < minutes) {
    samples.push({ at: elapsed(), memory: system.memory() });
    if (samples.length % 12 === 0) progress(`memory: ${elapsed().toFixed(0)} of ${minutes} min, ${answered} answered`);
    await sleep(SAMPLE_MS);
  }
  const failed = (await loading).filter(({ status }) => status !== 200).length;
  const later = samples.filter(({ at }) => at >= minutes * WARM_UP_SHARE);
  const middle = Math.floor(later.length / 2);
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const rows = Object.keys(samples[0]?.memory ?? {}).map((process) => {
    const of = (some: typeof samples) => some.map((one) => one.memory[process] ?? Number.NaN);
    const [before, after] = [mean(of(later.slice(0, middle))), mean(of(later.slice(middle)))];
    return {
      process,
      "at the start": of(samples)[0],
      "mean of minutes 40-70 %": before,
      "mean of the last 30 %": after,
      difference: after - before,
    };
  });
  const title = `Memory over ${minutes} minutes, ${STEADY_CLIENTS} clients, ${answered} jobs (${failed} failed), MB resident`;
  return { title, rows };
}
