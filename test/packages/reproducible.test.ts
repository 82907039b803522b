/** Whoever packs the same sources gets the same bytes: so a published package can be compared with its repository. */
import { createHash } from "node:crypto";
import { cpSync, readFileSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { execa } from "execa";
import { afterAll, expect, it } from "vitest";
import { packages } from "../../scripts/build/pack.ts";
import { ROOT, temporaryFolder } from "../support/processes.ts";
import { packOnce } from "./support/install.ts";

const place = temporaryFolder();
afterAll(() => place.remove());

const ELSEWHERE = ["node_modules", ".data", ".git", "artifacts", "cache"];

const digest = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex");

it("a package has the same bytes, wherever, whenever and under which umask it is packed", async () => {
  const elsewhere = join(place.path, "in/another/place");
  cpSync(ROOT, elsewhere, { recursive: true, filter: (path) => !ELSEWHERE.includes(basename(path)) });
  symlinkSync(join(ROOT, "node_modules"), join(elsewhere, "node_modules"));
  const script = join(elsewhere, "scripts", "build", "pack.ts");
  await execa("sh", ["-c", 'umask 077; exec "$0" "$1"', process.execPath, script], { cwd: "/" });
  for (const folder of packages()) {
    const { file } = await packOnce(folder);
    expect(digest(join(elsewhere, ".data", "packages", basename(file))), folder).toBe(digest(file));
  }
});
