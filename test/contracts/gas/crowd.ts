/** Many clients and workers, each with storage of its own: a batch of one wallet's jobs would look cheaper than it is. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { buyCredits, deployWorld, registerWorker, type Worker, type World } from "../support/world.ts";

const CROWD = 64;
export type Pair = { client: HardhatEthersSigner; worker: Worker };

/** 64 clients with credits and 64 workers whose payout address, like the treasury's, holds tokens already. */
export async function deployCrowd(): Promise<World & { pairs: Pair[] }> {
  const world = await deployWorld();
  const pairs: Pair[] = [];
  for (let i = 0; i < CROWD; i++) {
    const client = world.others[i];
    if (client === undefined) throw new Error("too few accounts");
    await buyCredits(world, client, 1_000);
    pairs.push({ client, worker: await registerWorker(world, `worker ${i}`) });
  }
  // A first payment writes a zero balance to non-zero (+17,100 gas) once per payee, not once per job.
  for (const { worker } of pairs) await world.token.mint(worker.payout, 1);
  await world.token.mint(await world.treasury.getAddress(), 1);
  return { ...world, pairs };
}
