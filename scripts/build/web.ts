/** Builds the web application into `web/dist`, where the API serves it from, unless it is built from the present sources. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readText, withLock } from "../../shared/process.ts";
import { messageOf, ROOT } from "../dev/files.ts";

const PROGRAM = ["node_modules/vite/bin/vite.js", "build", "web", "--logLevel", "warn"];
const DIST = join(ROOT, "web", "dist");
const STAMP = join(DIST, ".built-from");

/** Sources it is made of, beside the packages: protocol, audit and the names of the pages are used in the browser too. */
const FOLDERS = ["web", "protocol", "verify", "shared"];

/** Builds the web application unless `web/dist` is made of the present sources. Returns what the progress line says. */
export async function buildWeb(run: (args: string[]) => Promise<void>): Promise<string> {
  return await withLock(join(ROOT, ".data", "web-build.lock"), async () => {
    const sources = fingerprint();
    if (readText(STAMP) === sources) return "application is built";
    await run(PROGRAM);
    writeFileSync(STAMP, sources);
    return "application built";
  });
}

function fingerprint(): string {
  const hash = createHash("sha256");
  for (const folder of FOLDERS) {
    const files = readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => !file.startsWith(DIST))
      .sort();
    for (const file of files) hash.update(`${file.slice(ROOT.length)}\0`).update(readFileSync(file));
  }
  return hash.update(readFileSync(join(ROOT, "package-lock.json"))).digest("hex");
}

if (import.meta.main) {
  const run = async (args: string[]): Promise<void> => {
    const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: "inherit" });
    if (status !== 0) throw new Error("The web application could not be built; see the message above.");
  };
  await buildWeb(run).then(console.log, (error) => {
    console.error(messageOf(error));
    process.exitCode = 1;
  });
}
