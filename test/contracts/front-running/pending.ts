/** Honest calls, not sent yet. */
import { items } from "../support/batch.ts";
import { sendVote, waitForVotes } from "../support/disputes.ts";
import type { Pending } from "../support/front-running.ts";
import type { CompleteOptions, Job } from "../support/jobs.ts";
import type { World } from "../support/world.ts";

/** A call of the escrow. */
export async function call(world: World, from: Pending["from"], data: string | Promise<string>): Promise<Pending> {
  return { from, to: await world.escrow.getAddress(), data: await data };
}

/** The fast path, by the job's gateway. */
export const completing = (world: World, job: Job, options: CompleteOptions = {}) =>
  call(world, world.gateway, items(world).complete(job, options));

/** The slow path, by the worker's owner. */
export const proving = (world: World, job: Job) => call(world, world.workerOwner, items(world).submitProof(job));

/** A dispute of the default job. */
export const disputing = (world: World, job: Job, by: Pending["from"]) =>
  call(world, by, items(world).openDispute(job));

/** The deciding vote of an arbiter; the one before it is cast, as soon as votes count. */
export const ruling = (ruling: number) => async (world: World, job: Job) => {
  const { panel, arbiters } = world;
  const [first, second] = arbiters;
  if (first === undefined || second === undefined) throw new Error("no arbiters");
  await waitForVotes(world, job);
  await sendVote(world, job, ruling, first);
  const data = panel.interface.encodeFunctionData("vote", [job.id, ruling]);
  return { from: second, to: await panel.getAddress(), data };
};

/** Two Completions of the worker, shown by the client. */
export const accusing = (world: World, job: Job) => call(world, world.client, items(world).proveEquivocation(job));
