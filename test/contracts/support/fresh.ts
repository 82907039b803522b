/** A new state for each test: each kind of world is deployed once and then restored from a snapshot. */
import { networkHelpers } from "./chain.ts";
import { deployHostileWorld } from "./hostile.ts";
import { deployBare, deployWorld } from "./world.ts";

// `loadFixture` recognises a fixture by its function, so these have names and no arguments.
async function bare() {
  return await deployBare();
}
async function world() {
  return await deployWorld();
}

export const freshBare = () => networkHelpers.loadFixture(bare);
export const freshWorld = () => networkHelpers.loadFixture(world);
export const freshHostileWorld = () => networkHelpers.loadFixture(deployHostileWorld);
