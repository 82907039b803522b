/** What the index tells of a chain on which everything happened, one idea a file. events.test.ts reads the same story from the past. */
import { afterAll, beforeAll, describe } from "vitest";
import { accounts } from "./story/accounts.ts";
import { catalog } from "./story/catalog.ts";
import { disputes } from "./story/disputes.ts";
import { lists } from "./story/lists.ts";
import { type Live, openLive } from "./story/live.ts";

const live = {} as Live;

beforeAll(async () => {
  Object.assign(live, await openLive());
});
afterAll(async () => await live.stage?.close());

describe("catalog", () => catalog(live));
describe("disputes", () => disputes(live));
describe("accounts", () => accounts(live));
// Last: it adds a job to the story.
describe("lists", () => lists(live));
