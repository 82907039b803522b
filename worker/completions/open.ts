import { setTimeout } from "node:timers/promises";
import { ClassicLevel } from "classic-level";
import { isLocked } from "./damage.ts";

export type Db = ClassicLevel<string, string>;

/** `status` of a worker that does not run holds the lock for a moment, to count. */
const LOCK_WAIT_MS = 3_000;
const LOOK_MS = 100;

/** Opens the LevelDB at `path`, or makes it; waits a little for whoever has it open. Rejects with LevelDB's error. */
export async function openDb(path: string): Promise<Db> {
  for (const end = Date.now() + LOCK_WAIT_MS; ; ) {
    const db = new ClassicLevel<string, string>(path);
    try {
      await db.open();
      return db;
    } catch (error) {
      if (!isLocked(error) || Date.now() >= end) throw error;
      await setTimeout(LOOK_MS);
    }
  }
}
