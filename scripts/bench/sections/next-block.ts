import { setTimeout as sleep } from "node:timers/promises";
import { load } from "../load.ts";
import type { Section } from "../report.ts";
import { p50, p99, shown } from "../statistics.ts";
import type { System } from "../system.ts";
import { watchHeads } from "./heads.ts";

const REQUESTS = 80;

/**
 * What a request takes beyond the wait for the next block, one client: the first byte's time minus that of the first block that the
 * node announced after the request was sent. Requests come at any moment of the interval.
 */
export async function nextBlock(
  system: System,
  blockSeconds: number,
  progress: (line: string) => void,
): Promise<Section> {
  const heads = await watchHeads(system.stack.info.rpc_url.replace(/^http/, "ws"));
  const beyond: number[] = [];
  let missed = 0;
  try {
    for (let n = 0; n < REQUESTS; n++) {
      await sleep(Math.random() * blockSeconds * 1_000);
      const sentAt = performance.now();
      const [sample] = await load(system.target, { concurrency: 1, stream: true, requests: 1 });
      if (sample?.status !== 200) continue;
      const block = heads.find((at) => at > sentAt);
      if (block === undefined) continue;
      const ms = sentAt + sample.first - block;
      beyond.push(ms);
      // It was sent so shortly before the block that its lock was mined in the one after it.
      if (ms > blockSeconds * 900) missed += 1;
      if (n % 20 === 19) progress(`${blockSeconds} s blocks: ${n + 1} of ${REQUESTS} single requests`);
    }
  } finally {
    heads.stop();
  }
  const inTime = beyond.filter((ms) => ms <= blockSeconds * 900);
  const result = { blockSeconds, requests: beyond.length, missed, p50: p50(inTime), p99: p99(inTime) };
  return {
    title: `First byte after the next block, ${blockSeconds} s blocks, one client, streamed`,
    columns: ["requests", "p50 ms", "p99 ms", "sent too shortly before a block, and mined in the one after it"],
    rows: [[String(result.requests), shown(result.p50), shown(result.p99), String(missed)]],
    json: [result],
  };
}
