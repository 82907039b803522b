/** From what happens on chain to a signed request at an endpoint, one idea a file, on one stack. */
import { afterAll, beforeAll } from "vitest";
import { audience } from "./events/audience.ts";
import { credits } from "./events/credits.ts";
import { jobs } from "./events/jobs.ts";
import { routes } from "./events/routes.ts";
import { World } from "./events/world.ts";

const world = new World();

beforeAll(() => world.open());
afterAll(() => world.close());

// In this order: each knows what the ones before it left in the account.
routes(world);
jobs(world);
credits(world);
audience(world);
