/** Stake terms and stakes other than the default ones. */
import { mineAt, now } from "./chain.ts";
import { STAKE_UNIT, type World } from "./world.ts";

/** Announces stake terms and waits until they are in force. Amounts in millionths of an SVC. */
export async function stakeTermsInForce(world: World, minimum: bigint, slash: bigint): Promise<void> {
  await world.registry.scheduleStakeTerms(minimum, slash);
  await mineAt((await now()) + Number(await world.registry.unbondingPeriod()));
}

/** Adds to the first worker's stake. */
export async function topUp(world: World, amount: bigint): Promise<void> {
  if (amount === 0n) return;
  const { svc, registry, owner, worker } = world;
  await svc.connect(owner).approve(registry, amount * STAKE_UNIT);
  await registry.connect(owner).addStake(worker.key.address, amount);
}
