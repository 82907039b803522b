/** The transaction pipeline against a real node and a real database: whatever the node does, an operation happens once. */
import { afterAll, afterEach, beforeAll } from "vitest";
import { batches } from "./pipeline/batches.ts";
import { fees } from "./pipeline/fees.ts";
import { mining } from "./pipeline/mining.ts";
import { processes } from "./pipeline/processes.ts";
import { reorganisations } from "./pipeline/reorganisations.ts";
import { World } from "./pipeline/world.ts";

const world = new World();

beforeAll(() => world.open());
afterEach(() => world.endPipelines());
afterAll(() => world.close());

batches(world);
mining(world);
fees(world);
processes(world);
reorganisations(world);
