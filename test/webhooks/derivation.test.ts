/** Which events the chain makes, whatever becomes of blocks, index and gateways. Real chain, index, database and HTTP. */
import { afterAll, beforeAll } from "vitest";
import { indexAndGateways } from "./derivation/index-and-gateways.ts";
import { reorganisations } from "./derivation/reorganisations.ts";
import { story } from "./derivation/story.ts";
import { World } from "./derivation/world.ts";

const world = new World();

beforeAll(() => world.open());
afterAll(() => world.close());

story(world);
reorganisations(world);
indexAndGateways(world);
