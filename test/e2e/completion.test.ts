/** The main job of the system with stock clients, checked on the chain itself: one idea a file, on one stack. */
import { afterAll, beforeAll } from "vitest";
import { crowd } from "./completion/crowd.ts";
import { money } from "./completion/money.ts";
import { sdk } from "./completion/sdk.ts";
import { statement } from "./completion/statement.ts";
import { stream } from "./completion/stream.ts";
import { World } from "./completion/world.ts";

const world = new World();

beforeAll(() => world.open());
afterAll(() => world.close());

sdk(world);
statement(world);
stream(world);
money(world);
// Last: its list counts the jobs of all.
crowd(world);
