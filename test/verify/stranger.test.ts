/**
 * Nobody of the service is asked: a client, a worker's owner, arbiters and strangers with an ABI, a node and their own keys.
 * The windows are those of a real deployment; the node's clock is moved.
 */
import { afterAll, beforeAll } from "vitest";
import { deadlines } from "./stranger/deadlines.ts";
import { retirement } from "./stranger/retirement.ts";
import { rulings } from "./stranger/rulings.ts";
import { World } from "./stranger/world.ts";

const world = new World();

beforeAll(() => world.open());
afterAll(() => world.close());

rulings(world);
// From here on the clock moves by days.
deadlines(world);
retirement(world);
