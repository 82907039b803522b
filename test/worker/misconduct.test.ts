/** Workers that cheat or break, seen from the gateway's side: named, refused, the client unharmed, the incident on record. */
import { afterAll, beforeAll } from "vitest";
import { amongOthers } from "./misconduct/among-others.ts";
import { completions } from "./misconduct/completions.ts";
import { streams } from "./misconduct/streams.ts";
import { tokens } from "./misconduct/tokens.ts";
import { World } from "./misconduct/world.ts";

const world = new World();

beforeAll(() => world.open(), 180_000);
afterAll(() => world.close());

completions(world);
tokens(world);
streams(world);
amongOthers(world);
