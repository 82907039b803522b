/** A new state for each test: each kind of world is deployed once and then restored from a snapshot. */
import { freshly } from "./chain.ts";
import { deployHostileWorld } from "./hostile.ts";
import { deployBare, deployWorld, type World } from "./world.ts";

// `freshly` recognises a fixture by its function, so these have names and no arguments.
async function bare() {
  return await deployBare();
}
async function world() {
  return await deployWorld();
}
async function worldWithoutReserve() {
  return await deployWorld({}, 0);
}
async function hostileWorld() {
  return await deployHostileWorld();
}
async function hostileWorldWithoutReserve() {
  return await deployHostileWorld(0);
}

export const freshBare = () => freshly(bare);
export const freshWorld = () => freshly(world);
export const freshHostileWorld = () => freshly(hostileWorld);
/** Without a reserve: what an operator owes, the treasury pays. */
export const freshWorldWithoutReserve = () => freshly(worldWithoutReserve);
export const freshHostileWorldWithoutReserve = () => freshly(hostileWorldWithoutReserve);

/** The treasury has enough for every compensation of a test: 1,000 credits. */
export async function rich<W extends World>(fresh: Promise<W>): Promise<W> {
  const world = await fresh;
  await world.token.mint(world.treasury, 10_000_000n);
  return world;
}
