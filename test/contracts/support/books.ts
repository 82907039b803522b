/** Who holds what, and what moved between two moments. */
import { expect } from "chai";
import type { World } from "./world.ts";

/** Credits of the client; token units of worker, treasury and escrow; stake units of the worker's stake. */
export type Books = {
  free: bigint;
  escrowed: bigint;
  worker: bigint;
  treasury: bigint;
  escrow: bigint;
  unitsOwed: bigint;
  stake: bigint;
};

/** Reads the books; the escrow must hold exactly what it owes (nobody sends it tokens unasked in these tests). */
export async function books(world: World): Promise<Books> {
  const { escrow, token, client, worker, treasury, registry } = world;
  const [{ free, escrowed }, owed, held] = [
    await escrow.accountOf(client.address),
    await escrow.liabilities(),
    await token.balanceOf(escrow),
  ];
  expect(held, "tokens held = credits owed × 10,000 + units owed").to.equal(owed.credits * 10_000n + owed.units);
  return {
    free,
    escrowed,
    worker: await token.balanceOf(worker.payout),
    treasury: await token.balanceOf(treasury),
    escrow: held,
    unitsOwed: owed.units,
    stake: (await registry.workerAt(worker.id)).stake,
  };
}

/** What moved; only what did is named. */
export function moved(before: Books, after: Books): Partial<Books> {
  const keys = Object.keys(before) as (keyof Books)[];
  const entries = keys.map((key) => [key, after[key] - before[key]] as const).filter(([, delta]) => delta !== 0n);
  return Object.fromEntries(entries);
}
