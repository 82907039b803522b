/** What an operator does to the chain: shown first, sent only when told to, refused with the contract's own reason. */
import { afterAll, beforeAll } from "vitest";
import { catalog } from "./operator/catalog.ts";
import { commandLine } from "./operator/command-line.ts";
import { guardian } from "./operator/guardian.ts";
import { operators } from "./operator/operators.ts";
import { pool } from "./operator/pool.ts";
import { treasury } from "./operator/treasury.ts";
import { World } from "./operator/world.ts";

const world = new World();

beforeAll(() => world.open());
afterAll(() => world.close());

commandLine(world);
guardian(world);
operators(world);
treasury(world);
pool(world);
catalog(world);
