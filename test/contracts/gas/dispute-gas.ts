/** Gas of disputes and their ends, each call sent alone. */
import {
  disputedJob,
  disputedProvenJob,
  provenJob,
  Ruling,
  sendDispute,
  sendEquivocation,
  sendExpire,
  sendJoin,
  sendRuling,
  sendVote,
  settledJob,
  waitForVotes,
} from "../support/disputes.ts";
import type { World } from "../support/world.ts";
import { gasOf } from "./operations.ts";

/** The treasury holds what earlier jobs brought in. */
export async function gasOfDisputes(world: World): Promise<Record<string, number>> {
  await world.token.mint(world.treasury, 10_000_000n);
  const byOperator = await gasOf(sendDispute(world, await settledJob(world)));
  const ofProven = await gasOf(sendDispute(world, await provenJob(world)));
  const byWallet = await gasOf(sendDispute(world, await settledJob(world), { by: world.client }));
  const join = await gasOf(sendJoin(world, await disputedJob(world)));
  const gatewayAtFault = await gasOf(sendRuling(world, await disputedProvenJob(world), Ruling.GatewayAtFault));
  const rejected = await gasOf(sendRuling(world, await disputedJob(world, { by: world.client }), Ruling.Rejected));
  // The slashes come last: they leave the worker without the stake that a job needs.
  const [voted, silent, equivocated] = [await disputedJob(world), await disputedJob(world), await settledJob(world)];
  await waitForVotes(world, silent);
  const vote = await gasOf(sendVote(world, voted, Ruling.WorkerAtFault));
  const workerAtFault = await gasOf(sendVote(world, voted, Ruling.WorkerAtFault, world.arbiters[1]));
  const equivocation = await gasOf(sendEquivocation(world, equivocated));
  const expire = await gasOf(sendExpire(world, silent));
  return {
    "openDispute by the operator, settled job": byOperator,
    "openDispute by the operator, proven job": ofProven,
    "openDispute by the wallet": byWallet,
    joinDispute: join,
    "vote, first": vote,
    "vote that rules against the worker": workerAtFault,
    "vote that rules against the gateway, proven job": gatewayAtFault,
    "vote that rejects": rejected,
    "proveEquivocation of a settled job": equivocation,
    "expire, settled job": expire,
  };
}
