/** What workers and gateways do in the wild: whoever is silent pays for it, never the client. Windows are shortened. */
import { afterAll, beforeAll } from "vitest";
import { replacedWorkers } from "./failures/replaced-workers.ts";
import { silentGateways } from "./failures/silent-gateways.ts";
import { silentWorkers } from "./failures/silent-workers.ts";
import { World } from "./failures/world.ts";

const world = new World();

beforeAll(() => world.open());
afterAll(() => world.close());

silentWorkers(world);
replacedWorkers(world);
silentGateways(world);
