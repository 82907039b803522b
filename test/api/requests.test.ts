/** What clients can ask and how they are answered, one idea a file, on one stack. */
import { afterAll, beforeAll, describe } from "vitest";
import { authentication } from "./requests/authentication.ts";
import { bodies } from "./requests/bodies.ts";
import { contract } from "./requests/contract.ts";
import { documentation } from "./requests/documentation.ts";
import { fuzzing } from "./requests/fuzzing.ts";
import { hostile } from "./requests/hostile.ts";
import { lists } from "./requests/lists.ts";
import { logs } from "./requests/logs.ts";
import { malformed } from "./requests/malformed.ts";
import { methods } from "./requests/methods.ts";
import { missing } from "./requests/missing.ts";
import { refusals } from "./requests/refusals.ts";
import { steps } from "./requests/steps.ts";
import { store } from "./requests/store.ts";
import { validation } from "./requests/validation.ts";
import { openWorld, type World } from "./requests/world.ts";

const world = {} as World;

beforeAll(async () => {
  Object.assign(world, await openWorld());
});
afterAll(async () => {
  await world.pool?.end();
  await world.stack?.remove();
});

// In this order: the first ones find an account that never had a job, the last one reads what all of them left in the logs.
describe("authentication", () => authentication(world));
describe("validation", () => validation(world));
describe("bodies", () => bodies(world));
describe("malformed requests", () => malformed(world));
describe("refusals", () => refusals(world));
describe("methods and headers", () => methods(world));
describe("documentation", () => documentation(world));
describe("missing things", () => missing(world));
describe("lists", () => lists(world));
describe("the store", () => store(world));
describe("steps", () => steps(world));
describe("the contract", () => contract(world));
describe("hostile clients", () => hostile(world));
describe("20,000 hostile requests", () => fuzzing(world));
describe("logs", () => logs(world));
