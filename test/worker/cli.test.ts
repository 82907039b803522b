/** An operator's way with a worker: from nothing to jobs, and out again with the stake. */
import { afterAll, beforeAll } from "vitest";
import { firstStart } from "./cli/first-start.ts";
import { leaving } from "./cli/leaving.ts";
import { terminal } from "./cli/terminal.ts";
import { World } from "./cli/world.ts";

const world = new World();

beforeAll(() => world.open(), 90_000);
afterAll(() => world.close());

firstStart(world);
leaving(world);
terminal(world);
