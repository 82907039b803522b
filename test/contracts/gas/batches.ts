/** Gas of whole jobs and of their ends, in batches of distinct clients and workers. */
import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import type { ContractTransactionResponse } from "ethers";
import { getAddress, type Hex } from "viem";
import { jobId, signingKey } from "../support/actors.ts";
import { authorizationOf } from "../support/authorizations.ts";
import { items } from "../support/batch.ts";
import { mineAt, now } from "../support/chain.ts";
import { settledJob } from "../support/disputes.ts";
import { withShare } from "../support/earnings.ts";
import { acknowledgement, completeArgs, type Job, LOCK_TOKENS } from "../support/jobs.ts";
import { NO_SIGNATURE, signAuthorization } from "../support/sign.ts";
import { buyCredits, deployWorld, MODEL, registerWorker, type Worker, type World } from "../support/world.ts";

// Many clients and workers, each with storage of its own: a batch of one wallet's jobs would look cheaper than it is.

const CROWD = 64;

type Pair = { client: HardhatEthersSigner; worker: Worker };

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

/** The same where operators have half of the fee; the day of the next jobs has earned something already. */
export async function deployEarningCrowd(): Promise<World & { pairs: Pair[] }> {
  const world = await withShare(deployCrowd());
  await settledJob(world);
  return world;
}

// Gas of a whole job, from the receipts of the transactions a gateway sends for it.

export type Flow = "fused" | "authorized" | "acknowledged" | "shared";

type JobGas = { lock: number; acknowledge: number; complete: number; total: number };

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

// Gas of the calls that end jobs without the fast path, in batches of distinct clients and workers.

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
