import type { Hex } from "viem";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { Ruling } from "../../../protocol/ruling.ts";
import type { World } from "./world.ts";

/** What the client says it received. */
export const OTHER_HASH = answerHash("something else");
/** Charge of the story's jobs in token units. */
const CHARGE_UNITS = 80_000n;

export type DisputeStory = Record<
  | "guilty"
  | "indebted"
  | "rejected"
  | "expired"
  | "contested"
  | "equivocatedOpen"
  | "equivocatedProven"
  | "equivocatedSettled",
  Hex
>;

/** Every way a dispute can begin and end, and equivocation from each state that it changes. */
export async function disputes(world: World): Promise<DisputeStory> {
  const { client, gateway, workerOwner } = world;
  const { Stablecoin, ProtocolTreasury } = world.deployment.contracts;
  const treasury = async () => await world.read<bigint>("Stablecoin", "balanceOf", ProtocolTreasury);
  const fill = (units: bigint) => world.send(world.owner, world.call("Stablecoin", "mint", ProtocolTreasury, units));
  // Five slashes of 500 SVC must leave the worker eligible.
  await world.send(workerOwner, world.call("WorkerRegistry", "addStake", world.worker.address, 3_000_000_000n));
  await fill(10n * CHARGE_UNITS);
  await world.send(client, world.call("InferenceEscrow", "setLimits", true, 4_000, false));

  const guilty = await world.settledJob();
  await world.dispute(guilty, OTHER_HASH, gateway);
  await world.vote(guilty, Ruling.Rejected, 2);
  await world.rule(guilty, Ruling.WorkerAtFault);

  // The treasury has nothing when the ruling comes, and pays when it has.
  const indebted = await world.settledJob();
  await world.dispute(indebted, OTHER_HASH, client);
  await world.send(
    world.owner,
    world.call("ProtocolTreasury", "pay", Stablecoin, world.owner.address, await treasury()),
  );
  await world.rule(indebted, Ruling.GatewayAtFault);
  await fill(CHARGE_UNITS / 2n);
  await world.send(client, world.call("InferenceEscrow", "collectDebt", indebted));
  await fill(10n * CHARGE_UNITS);
  await world.send(client, world.call("InferenceEscrow", "collectDebt", indebted));

  const rejected = await world.provenJob();
  await world.dispute(rejected, OTHER_HASH, client);
  await world.rule(rejected, Ruling.Rejected);

  const expired = await world.settledJob();
  await world.dispute(expired, OTHER_HASH, gateway);
  await world.wait(61);
  await world.send(client, world.call("InferenceEscrow", "expire", expired));

  const equivocatedOpen = await world.lockedJob();
  await world.send(gateway, await world.acknowledge(equivocatedOpen));
  await world.equivocate(equivocatedOpen);
  const equivocatedProven = await world.provenJob();
  await world.equivocate(equivocatedProven);
  const equivocatedSettled = await world.settledJob();
  await world.equivocate(equivocatedSettled);

  const contested = await world.settledJob();
  await world.dispute(contested, OTHER_HASH, gateway);
  await world.vote(contested, Ruling.GatewayAtFault, 0);
  return {
    guilty,
    indebted,
    rejected,
    expired,
    contested,
    equivocatedOpen,
    equivocatedProven,
    equivocatedSettled,
  };
}
