import { setTimeout as sleep } from "node:timers/promises";
import { FAULTS, ROLL_BACKS } from "./faults.ts";
import { Load } from "./load.ts";
import { Random } from "./random.ts";
import { judge, type Verdict } from "./verdict.ts";
import { openWorld } from "./world.ts";

export type RunOptions = {
  /** Repeats a run's choices: which faults in which order, how long each lasts, what clients ask. */
  seed: number;
  /** Ends when this many faults have struck … */
  faults: number;
  /** … and this many requests were made. */
  requests: number;
  concurrency: number;
  note: (line: string) => void;
};

export type RunResult = Verdict & { seed: number; struck: Record<string, number> };

/** A real system under load, one accident after the other; then the verdict. */
export async function run(options: RunOptions): Promise<RunResult> {
  const { seed, note } = options;
  const random = new Random(seed);
  note(`seed ${seed}: ${options.faults} faults, ${options.requests} requests`);
  const world = await openWorld({ credits: Math.max(10_000, options.requests * 8), note });
  try {
    const load = new Load(world, random.fork(), options.concurrency);
    const struck: Record<string, number> = {};
    let order: (typeof FAULTS)[number][] = [];
    for (let n = 0; n < options.faults; n++) {
      // Every kind once before any comes again.
      if (order.length === 0) order = random.shuffle(FAULTS);
      const fault = order.pop() as (typeof FAULTS)[number];
      note(`${n + 1}/${options.faults} ${fault.name} (${load.requests.length} requests so far)`);
      await fault.strike(world, random);
      const { lastWords } = world.second;
      if (lastWords !== null) {
        note(`the second gateway ended by itself and is started again: ${lastWords}`);
        await world.second.start();
      }
      struck[fault.name] = (struck[fault.name] ?? 0) + 1;
      await sleep(random.int(200, 2_000));
    }
    while (load.requests.length < options.requests) await sleep(500);
    await load.stop();
    note(`${load.requests.length} requests made; waiting for every job to end`);
    const rolledBack = [...ROLL_BACKS].some((name) => struck[name] !== undefined);
    return { seed, struck, ...(await judge(world, load, rolledBack)) };
  } finally {
    await world.stop();
  }
}
