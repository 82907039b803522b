/** Honest calls, signed and not sent. */
import { OTHER_HASH, sendVote, waitForVotes } from "../support/disputes.ts";
import type { Pending } from "../support/front-running.ts";
import { type CompleteOptions, completeArgs, completionOf, type Job } from "../support/jobs.ts";
import { signCompletion } from "../support/sign.ts";
import type { World } from "../support/world.ts";

/** A call of the escrow. */
export async function call(world: World, from: Pending["from"], data: string): Promise<Pending> {
  return { from, to: await world.escrow.getAddress(), data };
}

/** The fast path, by the job's gateway. */
export async function completing(world: World, job: Job, options: CompleteOptions = {}): Promise<Pending> {
  const args = await completeArgs(world, job, options);
  return await call(world, world.gateway, world.escrow.interface.encodeFunctionData("complete", [...args]));
}

/** The slow path, by the worker's owner. */
export async function proving(world: World, job: Job): Promise<Pending> {
  const { escrow, worker, workerOwner } = world;
  const completion = completionOf(job);
  const signature = await signCompletion(escrow, worker.key, completion);
  return await call(world, workerOwner, escrow.interface.encodeFunctionData("submitProof", [completion, signature]));
}

/** A dispute of the default job. */
export async function disputing(world: World, job: Job, by: Pending["from"]): Promise<Pending> {
  const { escrow, worker } = world;
  const completion = completionOf(job);
  const signature = await signCompletion(escrow, worker.key, completion);
  const data = escrow.interface.encodeFunctionData("openDispute", [OTHER_HASH, completion, signature]);
  return await call(world, by, data);
}

/** The deciding vote of an arbiter; the one before it is cast, as soon as votes count. */
export async function ruling(world: World, job: Job, ruling: number): Promise<Pending> {
  const { panel, arbiters } = world;
  const [first, second] = arbiters;
  if (first === undefined || second === undefined) throw new Error("no arbiters");
  await waitForVotes(world, job);
  await sendVote(world, job, ruling, first);
  return {
    from: second,
    to: await panel.getAddress(),
    data: panel.interface.encodeFunctionData("vote", [job.id, ruling]),
  };
}

/** Two Completions of the worker, shown by the client. */
export async function accusing(world: World, job: Job): Promise<Pending> {
  const { escrow, worker, client } = world;
  const [one, two] = [completionOf(job), completionOf(job, { proofHash: OTHER_HASH })];
  const args = [
    one,
    await signCompletion(escrow, worker.key, one),
    two,
    await signCompletion(escrow, worker.key, two),
  ] as const;
  return await call(world, client, escrow.interface.encodeFunctionData("proveEquivocation", [...args]));
}
