/** Slow blocks whose locks a sequencer promises, beside a block a transaction: section `preconfirmed`. */
import { setTimeout as sleep } from "node:timers/promises";
import { load, type Sample } from "./load.ts";
import { p50, p99, progress, type Section } from "./report.ts";
import { type System, type SystemOptions, startSystem } from "./system.ts";

const BLOCK_SECONDS = 2;
const CLIENTS = [1, 8];

/**
 * Measures the time to the first byte with blocks of two seconds, with a promise and without, beside instant blocks. One system runs at a time:
 * beside others it would rest while they have their turns, and its own settlements would be mined before its next requests.
 */
export async function preconfirmed(options: SystemOptions, requests: number): Promise<Section> {
  const slow = { ...options, blockTime: BLOCK_SECONDS };
  const kinds: [name: string, options: SystemOptions][] = [
    ["a block a transaction", options],
    [`${BLOCK_SECONDS} s blocks, promised`, { ...slow, preconfirmed: true }],
    [`${BLOCK_SECONDS} s blocks`, slow],
  ];
  const rows: Section["rows"] = [];
  for (const [name, given] of kinds) {
    progress(`starting the system, ${name}`);
    const system = await startSystem(given);
    try {
      for (const concurrency of CLIENTS) {
        progress(`${name}: ${requests} rounds of ${concurrency} clients`);
        rows.push({ chain: name, clients: concurrency, ...(await firstBytes(system, concurrency, requests)) });
      }
    } finally {
      await system.stop();
    }
  }
  return { title: "First byte on a promised lock, streamed", rows };
}

/** Clients that ask together, at any moment between two blocks, so many times. */
async function firstBytes({ target }: System, concurrency: number, rounds: number) {
  const samples: Sample[] = [];
  for (let round = 0; round < rounds; round++) {
    await sleep(Math.random() * BLOCK_SECONDS * 1_000);
    samples.push(...(await load(target, { concurrency, stream: true, requests: concurrency })));
  }
  const answered = samples.filter(({ status }) => status === 200);
  return {
    answered: answered.length,
    failed: samples.length - answered.length,
    "first byte p50, ms": p50(answered.map(({ first }) => first)),
    "first byte p99, ms": p99(answered.map(({ first }) => first)),
    "lock p50, ms": p50(answered.map(({ chain }) => chain)),
  };
}
