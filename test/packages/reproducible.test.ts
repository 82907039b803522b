/** Whoever packs the same sources gets the same bytes: so a published package can be compared with its repository. */
import { createHash } from "node:crypto";
import { cpSync, readFileSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { execa } from "execa";
import { afterAll, expect, it } from "vitest";
import { ROOT, temporaryFolder } from "../support/processes.ts";
import { packOnce } from "./support/install.ts";

const place = temporaryFolder();
afterAll(() => place.remove());

/** It has all that a package can have: bundles, types, a command and a page. */
const PACKAGE = "verify";
const SOURCES = ["LICENSE", PACKAGE, "protocol", "scripts", "shared", "package.json", "tsconfig.base.json"];

const digest = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex");

it("a package has the same bytes in any folder, at any time, under any umask", async () => {
  const elsewhere = join(place.path, "in/another/place");
  for (const source of SOURCES) cpSync(join(ROOT, source), join(elsewhere, source), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(elsewhere, "node_modules"));
  const script = join(elsewhere, "scripts", "build", "pack.ts");
  await execa("sh", ["-c", 'umask 077; exec "$0" "$1" "$2"', process.execPath, script, PACKAGE], {
    cwd: "/",
    env: { DATA_DIR: "" },
  });
  const { file } = await packOnce(PACKAGE);
  expect(digest(join(elsewhere, ".data", "packages", basename(file)))).toBe(digest(file));
});
