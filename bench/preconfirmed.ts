/** Slow blocks whose locks a sequencer promises, beside a block a transaction: section `preconfirmed`. */
import { setTimeout as sleep } from "node:timers/promises";
import { load, type Sample } from "./load.ts";
import { p50, p99, progress, type Section } from "./report.ts";
import { type System, type SystemOptions, startSystem } from "./system.ts";

const BLOCK_SECONDS = 2;
const CLIENTS = [1, 8];

/**
 * Measures the time to the first byte with blocks of two seconds, with a promise and without, beside instant blocks. All three take turns.
 */
export async function preconfirmed(options: SystemOptions, requests: number): Promise<Section> {
  const slow = { ...options, blockTime: BLOCK_SECONDS };
  const kinds: [name: string, options: SystemOptions][] = [
    ["a block a transaction", options],
    [`${BLOCK_SECONDS} s blocks, promised`, { ...slow, preconfirmed: true }],
    [`${BLOCK_SECONDS} s blocks`, slow],
  ];
  const systems: { name: string; system: System }[] = [];
  try {
    for (const [name, given] of kinds) {
      progress(`starting the system, ${name}`);
      systems.push({ name, system: await startSystem(given) });
    }
    const rows: Section["rows"] = [];
    for (const concurrency of CLIENTS) {
      const samples = systems.map((): Sample[] => []);
      for (let round = 0; round < requests; round++) {
        for (const [index, { system }] of systems.entries()) {
          // At any moment between two blocks.
          await sleep(Math.random() * BLOCK_SECONDS * 1_000);
          samples[index]?.push(...(await load(system.target, { concurrency, stream: true, requests: concurrency })));
        }
        if (round % 10 === 9) progress(`${concurrency} clients: ${round + 1} of ${requests} rounds`);
      }
      for (const [index, { name }] of systems.entries()) {
        const ok = (samples[index] as Sample[]).filter(({ status }) => status === 200);
        rows.push({
          chain: name,
          clients: concurrency,
          answered: ok.length,
          failed: (samples[index] as Sample[]).length - ok.length,
          "first byte p50, ms": p50(ok.map(({ first }) => first)),
          "first byte p99, ms": p99(ok.map(({ first }) => first)),
          "lock p50, ms": p50(ok.map(({ chain }) => chain)),
        });
      }
    }
    return { title: "First byte on a promised lock, streamed", rows };
  } finally {
    for (const { system } of systems) await system.stop();
  }
}
