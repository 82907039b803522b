/** Gas of a whole job, from the receipts of the transactions a gateway sends for it. */
import { type ContractTransactionResponse, ZeroHash } from "ethers";
import { jobId } from "../support/actors.ts";
import { now } from "../support/chain.ts";
import { acknowledgement, completeArgs, type Job, LOCK_TOKENS } from "../support/jobs.ts";
import type { World } from "../support/world.ts";
import { MODEL } from "../support/world.ts";
import type { Pair } from "./crowd.ts";

/** The gateway that sends an acknowledgement itself needs no signature of its own. */
const NOT_NEEDED = { r: ZeroHash, vs: ZeroHash };

export type Flow = "fused" | "acknowledged" | "shared";
export type JobGas = { lock: number; acknowledge: number; complete: number; total: number };

/**
 * Gas a job in batches of `pairs.length`: 80 credits locked, 60 charged, 20 returned, both transfers pushed.
 * `fused`: lock, complete. `acknowledged`: three batches. `shared`: acknowledge and complete in one batch.
 */
export async function gasPerJob(world: World, pairs: Pair[], flow: Flow): Promise<JobGas> {
  const { escrow } = world;
  const code = escrow.interface;
  const ids = pairs.map(() => jobId());
  const lock = await send(
    world,
    pairs.map(({ client }, i) =>
      code.encodeFunctionData("lock", [client.address, MODEL, ids[i] ?? "", LOCK_TOKENS, 80, 2 ** 40 - 1]),
    ),
  );
  const jobs: Job[] = [];
  const lockedAt = await now();
  for (const id of ids) jobs.push({ id, lockedAt });
  const acknowledges: string[] = [];
  const completes: string[] = [];
  for (const [i, { client, worker }] of pairs.entries()) {
    const job = jobs[i] as Job;
    const [assignment, , byWorker] = await acknowledgement(world, job, { worker });
    acknowledges.push(code.encodeFunctionData("acknowledge", [assignment, NOT_NEEDED, byWorker]));
    completes.push(
      code.encodeFunctionData("complete", [...(await completeArgs(world, job, { worker, wallet: client.address }))]),
    );
  }
  const acknowledge = flow === "acknowledged" ? await send(world, acknowledges) : 0;
  const complete = await send(world, flow === "shared" ? [...acknowledges, ...completes] : completes);
  for (const job of jobs)
    if ((await escrow.jobOf(job.id)).status !== 4n) throw new Error(`job ${job.id} is not settled`);
  const per = (gas: number) => Math.round(gas / pairs.length);
  return {
    lock: per(lock),
    acknowledge: per(acknowledge),
    complete: per(complete),
    total: per(lock + acknowledge + complete),
  };
}

/** Sends items the way the gateway does: one alone as a plain call, several as a batch. */
export async function send(world: World, items: string[]): Promise<number> {
  const to = await world.escrow.getAddress();
  const data =
    items.length === 1 ? (items[0] as string) : world.escrow.interface.encodeFunctionData("execute", [items]);
  const transaction = (await world.gateway.sendTransaction({
    to,
    data,
    gasLimit: 16_000_000,
  })) as ContractTransactionResponse;
  const receipt = await transaction.wait();
  return Number(receipt?.gasUsed ?? 0n);
}
