/** Whoever packs the same sources gets the same bytes: so a published package can be compared with its repository. */
import { createHash } from "node:crypto";
import { cpSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { execa } from "execa";
import { afterAll, expect, it } from "vitest";
import { packages } from "../../scripts/build/pack.ts";
import { ROOT, temporaryFolder } from "../support/processes.ts";

const place = temporaryFolder();
afterAll(() => place.remove());

const ELSEWHERE = ["node_modules", ".data", ".git", "artifacts", "cache"];

/** Copies the sources to a folder, packs them from `cwd`, and returns the digest of each tarball. */
async function packIn(folder: string, { cwd, umask }: { cwd: string; umask: string }): Promise<Record<string, string>> {
  const root = join(place.path, folder);
  cpSync(ROOT, root, { recursive: true, filter: (path) => !ELSEWHERE.includes(basename(path)) });
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  await execa("sh", ["-c", `umask ${umask}; exec "$0" "$1/scripts/build/pack.ts"`, process.execPath, root], { cwd });
  const out = join(root, ".data", "packages");
  const tarballs = readdirSync(out).filter((name) => name.endsWith(".tgz"));
  const digest = (name: string) =>
    createHash("sha256")
      .update(readFileSync(join(out, name)))
      .digest("hex");
  return Object.fromEntries(tarballs.map((name) => [name, digest(name)]));
}

it("a package has the same bytes, wherever, whenever and under which umask it is packed", async () => {
  const first = await packIn("here", { cwd: place.path, umask: "022" });
  expect(Object.keys(first)).toHaveLength(packages().length);
  expect(await packIn("in/another/place", { cwd: "/", umask: "077" })).toEqual(first);
});
