/** The folders of the gateway import downwards only, types included (docs/architecture.md). That no files import in a circle, the linter checks. */
import { globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const API = join(import.meta.dirname, "../../../api");
/** From the top down. */
const ROOMS = [
  "routes",
  "docs",
  "disputes",
  "jobs",
  "workers",
  "chain",
  "account",
  "db",
  "schemas",
  "outbound",
  "observe",
];

it("names every folder of the gateway, in the order of the architecture's table", () => {
  const folders = readdirSync(API, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map(({ name }) => name).sort()).toEqual([...ROOMS].sort());
  const page = readFileSync(join(API, "../docs/architecture.md"), "utf8");
  const table = page.slice(page.indexOf("| folder |"), page.indexOf("A folder imports only"));
  expect([...table.matchAll(/^\| `(\w+)\/`/gm)].map(([, name]) => name)).toEqual(ROOMS);
});

it.each(ROOMS)("%s imports nothing from above", (room) => {
  const above = ROOMS.slice(0, ROOMS.indexOf(room));
  const found = globSync(`${room}/**/*.ts`, { cwd: API }).flatMap((file) => {
    const imports = readFileSync(join(API, file), "utf8").matchAll(/ from "(?:\.\.\/)+(\w+)\/[^"]+"/g);
    return [...imports].filter(([, from = ""]) => above.includes(from)).map(([line]) => file + line);
  });
  expect(found).toEqual([]);
});
