/** How events are delivered, one idea a file, on one stack. */
import { afterAll, beforeAll } from "vitest";
import { attempts } from "./delivery/attempts.ts";
import { log } from "./delivery/log.ts";
import { receivers } from "./delivery/receivers.ts";
import { stopping } from "./delivery/stopping.ts";
import { World } from "./delivery/world.ts";

const world = new World();

beforeAll(() => world.open());
afterAll(() => world.close());

attempts(world);
receivers(world);
log(world);
// Last: it stops the gateway.
stopping(world);
