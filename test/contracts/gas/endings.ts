/** Gas of the calls that end jobs without the fast path, in batches of distinct clients and workers. */
import { jobId } from "../support/actors.ts";
import { items } from "../support/batch.ts";
import { mineAt, now } from "../support/chain.ts";
import { type Job, LOCK_TOKENS } from "../support/jobs.ts";
import { MODEL, type World } from "../support/world.ts";
import type { Pair } from "./crowd.ts";
import { send } from "./measure.ts";

type Item = (world: World, job: Job, pair: Pair) => string | Promise<string>;

const acknowledge: Item = (world, job, { worker }) => items(world).acknowledge(job, { worker });
const submitProof: Item = (world, job, { worker }) => items(world).submitProof(job, { worker });

/** What comes before each measured call, after the lock, and how many seconds to wait for it. */
export const endings = {
  submitProof: { before: [acknowledge], wait: 0, item: submitProof },
  finalize: { before: [acknowledge, submitProof], wait: 3_700, item: (world, job) => items(world).finalize(job) },
  fail: { before: [acknowledge], wait: 0, item: (world, job) => items(world).fail(job, 1) },
  refund: { before: [], wait: 150, item: (world, job) => items(world).refund(job) },
} as const satisfies Record<string, { before: readonly Item[]; wait: number; item: Item }>;
export type Ending = keyof typeof endings;

/** Gas an item of a batch of `pairs.length`. */
export async function gasPerEnding(world: World, pairs: Pair[], ending: Ending): Promise<number> {
  const { before, wait, item } = endings[ending];
  const ids = pairs.map(() => jobId());
  const args = (i: number) =>
    [pairs[i]?.client.address ?? "", MODEL, ids[i] ?? "", LOCK_TOKENS, 80, 2 ** 40 - 1] as const;
  await send(
    world,
    pairs.map((_, i) => world.escrow.interface.encodeFunctionData("lock", [...args(i)])),
  );
  const lockedAt = await now();
  const encode = (make: Item) =>
    Promise.all(pairs.map((pair, i) => make(world, { id: ids[i] as Job["id"], lockedAt }, pair)));
  for (const step of before) await send(world, await encode(step));
  if (wait > 0) await mineAt((await now()) + wait);
  const gas = await send(world, await encode(item));
  const first = (await world.escrow.jobOf(ids[0] ?? "")).status;
  if (first <= 2n) throw new Error(`${ending} left the job in state ${first}`);
  return Math.round(gas / pairs.length);
}
