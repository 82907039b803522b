/** Section `overhead`: time to the first byte of single requests and of a few clients. */
import { setTimeout as sleep } from "node:timers/promises";
import { load, type Plan, type Sample, type Target } from "./load.ts";
import { p50, p99, progress, type Section } from "./report.ts";
import type { System } from "./system.ts";

const CONCURRENCY = [1, 16, 64];
/** Each server is asked in turn, in rounds, so that a busy moment of the machine meets all of them. */
const ROUNDS = 4;
/** Connections, compiled code and caches are warm in a service that runs: so many requests of each kind go to every server first. */
const WARM_UP = 400;

/** `quiet` waits for what earlier requests left to do. */
type OverheadOptions = { requests: number; blocks: string; quiet: () => Promise<void> };

/** Time to first byte that each gateway adds to the upstream's own (the first of the targets), in the same run. */
export async function overhead(targets: readonly Target[], options: OverheadOptions): Promise<Section> {
  const { requests, blocks, quiet } = options;
  const rows: Section["rows"] = [];
  for (const target of targets) {
    for (const stream of [false, true]) await load(target, { concurrency: 16, stream, requests: WARM_UP });
  }
  for (const stream of [false, true]) {
    for (const concurrency of CONCURRENCY) {
      await quiet();
      const plan = { concurrency, stream, requests: Math.max(requests, concurrency * 8) };
      const measured = await inTurns(targets, plan);
      const base = measured[0]?.samples.map((sample) => sample.first) ?? [];
      for (const { target, samples } of measured) {
        const ok = samples.filter(({ status }) => status === 200);
        const first = ok.map((sample) => sample.first);
        const own = ok.map((sample) => sample.first - sample.chain);
        rows.push({
          reply: stream ? "streamed" : "plain",
          clients: concurrency,
          server: target.name,
          p50: p50(first),
          p99: p99(first),
          "added p50": p50(first) - p50(base),
          "added p99": p99(first) - p99(base),
          "added p50 without the chain": p50(own) - p50(base),
          requests: samples.length,
          failed: samples.length - ok.length,
        });
      }
    }
  }
  return { title: `Time to first byte, ms, ${blocks}`, rows };
}

async function inTurns(targets: readonly Target[], plan: Extract<Plan, { requests: number }>) {
  const measured = targets.map((target) => ({ target, samples: [] as Sample[] }));
  for (const { target } of measured) await load(target, { ...plan, requests: plan.concurrency * 2 });
  for (let round = 0; round < ROUNDS; round++) {
    for (const { target, samples } of measured) {
      samples.push(...(await load(target, { ...plan, requests: Math.ceil(plan.requests / ROUNDS) })));
    }
  }
  return measured;
}

const AFTER_BLOCK_REQUESTS = 80;

/**
 * Measures the time of a request beyond the wait for the next block, with one client: the first byte's time minus that of the first block
 * that the node announced after the request was sent. Requests come at any moment of the interval.
 */
export async function nextBlock(system: System, blockSeconds: number): Promise<Section> {
  const heads = await watchHeads(system.stack.info.rpc_url.replace(/^http/, "ws"));
  const beyond: number[] = [];
  try {
    for (let n = 0; n < AFTER_BLOCK_REQUESTS; n++) {
      await sleep(Math.random() * blockSeconds * 1_000);
      const sentAt = performance.now();
      const [sample] = await load(system.target, { concurrency: 1, stream: true, requests: 1 });
      const block = heads.moments.find((at) => at > sentAt);
      if (sample?.status !== 200 || block === undefined) continue;
      beyond.push(sentAt + sample.first - block);
      if (n % 20 === 19) progress(`${blockSeconds} s blocks: ${n + 1} of ${AFTER_BLOCK_REQUESTS} single requests`);
    }
  } finally {
    heads.stop();
  }
  // The others were sent so shortly before the block that their lock was mined in the one after it.
  const inTime = beyond.filter((ms) => ms <= blockSeconds * 900);
  const missed = beyond.length - inTime.length;
  return {
    title: `First byte after the next block, ${blockSeconds} s blocks, one client, streamed`,
    rows: [
      {
        requests: beyond.length,
        "p50 ms": p50(inTime),
        "p99 ms": p99(inTime),
        "sent too shortly before a block, and mined in the one after it": missed,
      },
    ],
  };
}

/** The moments (`performance.now()`) at which the node announces its blocks, from now on. */
async function watchHeads(wsUrl: string): Promise<{ moments: readonly number[]; stop: () => void }> {
  const socket = new WebSocket(wsUrl);
  const moments: number[] = [];
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("error", () => reject(new Error(`the node's WebSocket ${wsUrl} cannot be reached`)));
    socket.addEventListener("open", () => {
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["newHeads"] }));
    });
    socket.addEventListener("message", ({ data }) => {
      const at = performance.now();
      const { method } = JSON.parse(String(data)) as { method?: string };
      if (method === undefined) resolve();
      else moments.push(at);
    });
  });
  return { moments, stop: () => socket.close() };
}
