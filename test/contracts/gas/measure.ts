/** Gas of a whole job, from the receipts of the transactions a gateway sends for it. */
import type { ContractTransactionResponse } from "ethers";
import { getAddress, type Hex } from "viem";
import { jobId, signingKey } from "../support/actors.ts";
import { authorizationOf } from "../support/authorizations.ts";
import { now } from "../support/chain.ts";
import { acknowledgement, completeArgs, type Job, LOCK_TOKENS } from "../support/jobs.ts";
import { NO_SIGNATURE, signAuthorization } from "../support/sign.ts";
import { MODEL, type World } from "../support/world.ts";
import type { Pair } from "./crowd.ts";

export type Flow = "fused" | "authorized" | "acknowledged" | "shared";
export type JobGas = { lock: number; acknowledge: number; complete: number; total: number };

/**
 * Gas a job in batches of `pairs.length`: 80 credits locked, 60 charged, 20 returned, both transfers pushed.
 * `fused`: lock, complete. `authorized`: the same with a signature of the client's. `acknowledged`: three batches. `shared`: acknowledge
 * and complete in one batch.
 */
export async function gasPerJob(world: World, pairs: Pair[], flow: Flow): Promise<JobGas> {
  const { escrow } = world;
  const code = escrow.interface;
  const locks = flow === "authorized" ? await authorizedLocks(world, pairs) : plainLocks(world, pairs);
  const lock = await send(
    world,
    locks.map(({ item }) => item),
  );
  const jobs: Job[] = [];
  const lockedAt = await now();
  for (const { id } of locks) jobs.push({ id, lockedAt });
  const acknowledges: string[] = [];
  const completes: string[] = [];
  for (const [i, { client, worker }] of pairs.entries()) {
    const job = jobs[i] as Job;
    const [assignment, , byWorker] = await acknowledgement(world, job, { worker });
    acknowledges.push(code.encodeFunctionData("acknowledge", [assignment, NO_SIGNATURE, byWorker]));
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

type Lock = { id: Hex; item: string };

function plainLocks({ escrow }: World, pairs: Pair[]): Lock[] {
  return pairs.map(({ client }) => {
    const id = jobId();
    const args = [client.address, MODEL, id, LOCK_TOKENS, 80, 2 ** 40 - 1] as const;
    return { id, item: escrow.interface.encodeFunctionData("lock", [...args]) };
  });
}

/** Each client has a key of its own, set before. */
async function authorizedLocks(world: World, pairs: Pair[]): Promise<Lock[]> {
  const { escrow } = world;
  const key = (i: number) => signingKey(`authorizations ${i}`);
  for (const [i, { client }] of pairs.entries()) await escrow.connect(client).setAuthorizationKey(key(i).address);
  return await Promise.all(
    pairs.map(async ({ client }, i) => {
      const authorization = await authorizationOf(world, { wallet: getAddress(client.address) });
      const byKey = await signAuthorization(escrow, key(i), authorization);
      return {
        id: authorization.jobId,
        item: escrow.interface.encodeFunctionData("lockAuthorized", [authorization, byKey]),
      };
    }),
  );
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
