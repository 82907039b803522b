import { existsSync } from "node:fs";
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import { isDamage, isLocked, unusable } from "./damage.ts";
import { formerRecords } from "./import.ts";
import { COMPLETION, range, storePath } from "./layout.ts";

/**
 * How many answers lie in the data folder of a worker that does not run, including those of an earlier version that no start has taken
 * over yet; null while that cannot be said: a process has the store open, or it is damaged and the next start repairs it. An answer
 * is erased once the chain has shown the end of its job for WORKER_KEEP_SETTLED_SECONDS: what is there is not settled, or was not yet when
 * the worker stopped. Rejects with a ConfigError if the store cannot be read.
 */
export async function countStored(folder: string): Promise<number | null> {
  const jobs = new Set(await formerRecords(folder));
  const path = storePath(folder);
  // LevelDB names the newest state of a database in this file.
  if (!existsSync(join(path, "CURRENT"))) return jobs.size;
  const db = new ClassicLevel<string, string>(path, { createIfMissing: false });
  try {
    await db.open();
    for await (const key of db.keys(range(COMPLETION))) jobs.add(key.slice(COMPLETION.length));
    return jobs.size;
  } catch (error) {
    if (isLocked(error) || isDamage(error)) return null;
    throw unusable(path, error);
  } finally {
    await db.close();
  }
}
