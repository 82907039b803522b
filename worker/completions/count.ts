import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ClassicLevel } from "classic-level";
import { isDamage, isLocked, unusable } from "./damage.ts";
import { formerRecords } from "./import.ts";
import { COMPLETION, range, storePath } from "./layout.ts";

/** A number of answers; or null, and why it is not known now. */
export type Stored = { count: number; unknown: null } | { count: null; unknown: string };

/**
 * How many answers lie in the data folder of a worker that does not run, including those of an earlier version that no start has taken
 * over yet. Not known while a process has the store open, when it is damaged and the next start repairs it, and to another user than the
 * worker's. An answer is erased once the chain has shown the end of its job for WORKER_KEEP_SETTLED_SECONDS: what is there is not settled,
 * or was not yet when the worker stopped. Rejects with a ConfigError if the store cannot be read.
 */
export async function countStored(folder: string): Promise<Stored> {
  const path = storePath(folder);
  const owner = await otherOwner(path);
  if (owner !== null) {
    // Who opens a LevelDB writes files into it: the worker could not read those of another user at its next start.
    const unknown = `the data folder belongs to the user with the id ${owner}: ask as that user (sudo -u '#${owner}' …)`;
    return { count: null, unknown };
  }
  const jobs = new Set(await formerRecords(folder));
  // LevelDB names the newest state of a database in this file.
  if (!existsSync(join(path, "CURRENT"))) return { count: jobs.size, unknown: null };
  const db = new ClassicLevel<string, string>(path, { createIfMissing: false });
  try {
    await db.open();
    for await (const key of db.keys(range(COMPLETION))) jobs.add(key.slice(COMPLETION.length));
    return { count: jobs.size, unknown: null };
  } catch (error) {
    if (isLocked(error) || isDamage(error)) {
      const unknown = "another process has the memory of its jobs open, or it is damaged; `npm run worker` says which";
      return { count: null, unknown };
    }
    throw unusable(path, error);
  } finally {
    await db.close();
  }
}

/** The user id of whoever made the store, when that is not who runs this process; null also where there is no store, or no such ids. */
async function otherOwner(path: string): Promise<number | null> {
  const own = process.getuid?.();
  if (own === undefined) return null;
  const uid = await ownerOf(path);
  return uid === own ? null : uid;
}

async function ownerOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).uid;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") return null;
    // A folder that this user may not look into is the worker's own.
    if (code === "EACCES") return (await stat(dirname(path))).uid;
    throw error;
  }
}
