import { appendFileSync, closeSync, fstatSync, mkdirSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";

const LOOK_MS = 250;

/** Copies all that the parts log into a folder as they log it: a part's own log begins anew with each of its starts. */
export function keepLogs(logs: string, folder: string): () => void {
  mkdirSync(folder, { recursive: true });
  // By inode: a log is renamed when its part starts again.
  const copied = new Map<number, number>();
  const copy = (): void => {
    for (const file of readdirSync(logs)) {
      const handle = openSync(join(logs, file), "r");
      try {
        const { ino, size } = fstatSync(handle);
        const known = copied.get(ino) ?? 0;
        // A new file can get the inode of one that is gone.
        const from = size < known ? 0 : known;
        if (size === from) continue;
        const bytes = Buffer.alloc(size - from);
        readSync(handle, bytes, 0, bytes.length, from);
        appendFileSync(join(folder, file.replace(/\.1$/, "")), bytes);
        copied.set(ino, size);
      } finally {
        closeSync(handle);
      }
    }
  };
  const timer = setInterval(copy, LOOK_MS);
  return () => {
    clearInterval(timer);
    copy();
  };
}
