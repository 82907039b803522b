/** The folders of the gateway import downwards only, types included (docs/architecture.md). That no files import in a circle, the linter checks. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const API = join(import.meta.dirname, "../../../api");
/** From the top down. */
const ROOMS = ["routes", "disputes", "jobs", "workers", "chain", "db"];

it.each(ROOMS)("%s imports nothing from above", (room) => {
  const above = ROOMS.slice(0, ROOMS.indexOf(room));
  const found = globSync(`${room}/**/*.ts`, { cwd: API }).flatMap((file) => {
    const imports = readFileSync(join(API, file), "utf8").matchAll(/ from "(?:\.\.\/)+(\w+)\/[^"]+"/g);
    return [...imports].filter(([, from = ""]) => above.includes(from)).map(([line]) => file + line);
  });
  expect(found).toEqual([]);
});
