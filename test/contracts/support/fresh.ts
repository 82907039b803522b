/** A new state for each test: each kind of world is deployed once and then restored from a snapshot. */
import { freshly } from "./chain.ts";
import { deployHostileWorld } from "./hostile.ts";
import { deployBare, deployWorld } from "./world.ts";

// `freshly` recognises a fixture by its function, so these have names and no arguments.
async function bare() {
  return await deployBare();
}
async function world() {
  return await deployWorld();
}

export const freshBare = () => freshly(bare);
export const freshWorld = () => freshly(world);
export const freshHostileWorld = () => freshly(deployHostileWorld);
