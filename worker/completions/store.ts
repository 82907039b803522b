import { mkdir, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Hex } from "viem";
import type { Logger } from "../log.ts";
import { type CompletionHead, type CompletionRecord, recordSchema } from "./record.ts";

/**
 * What a worker must not forget, in files:
 *
 *   taken/<job id>              empty; the job was taken here. Made once (O_EXCL), so that no job is ever taken twice, by whatever
 *                               process. Outlives a kill because it is written before the acknowledgement leaves.
 *   completions/<job id>.json   answer, Completion and signatures; made once and forced to the disk before the Completion's
 *                               signature leaves the process. Erased when the chain has the end of the job.
 */
export class CompletionStore {
  readonly #taken: string;
  readonly #completions: string;
  readonly #log: Logger;
  /** Names of the files in `taken`: the early answer to a repeated offer. What decides is the file. */
  readonly #known = new Set<string>();

  private constructor(folder: string, log: Logger) {
    this.#taken = join(folder, "taken");
    this.#completions = join(folder, "completions");
    this.#log = log;
  }

  /** Opens or makes the store. Answers are private: nobody else on the machine can read the folder. */
  static async open(folder: string, log: Logger): Promise<CompletionStore> {
    const store = new CompletionStore(folder, log);
    await mkdir(store.#taken, { recursive: true, mode: 0o700 });
    await mkdir(store.#completions, { recursive: true, mode: 0o700 });
    for (const name of await readdir(store.#taken)) store.#known.add(name);
    return store;
  }

  /** Marks a job as taken; false if it was before. */
  async take(jobId: Hex): Promise<boolean> {
    try {
      await (await open(join(this.#taken, jobId), "wx", 0o600)).close();
      this.#known.add(jobId);
      return true;
    } catch (error) {
      if (hasCode(error, "EEXIST")) return false;
      throw error;
    }
  }

  /** Whether this process knows that the job was taken here before; `take` says for sure. */
  isTaken(jobId: Hex): boolean {
    return this.#known.has(jobId);
  }

  /** Stores a Completion; it is on the disk when this returns. Throws if the job has one. */
  async save(record: CompletionRecord): Promise<void> {
    const file = await open(this.#file(record.completion.jobId), "wx", 0o600);
    try {
      await file.writeFile(JSON.stringify(record));
      await file.sync();
    } finally {
      await file.close();
    }
    await syncFolder(this.#completions);
  }

  /** A stored job with its answer; null if there is none. */
  async read(jobId: Hex): Promise<CompletionRecord | null> {
    let text: string;
    try {
      text = await readFile(this.#file(jobId), "utf8");
    } catch (error) {
      if (hasCode(error, "ENOENT")) return null;
      throw error;
    }
    return recordSchema.parse(JSON.parse(text));
  }

  /** All stored jobs. A file cut short by a crash is dropped: its signature never left, and the job stays taken. */
  async heads(): Promise<CompletionHead[]> {
    const heads: CompletionHead[] = [];
    for (const name of await readdir(this.#completions)) {
      const jobId = name.replace(/\.json$/, "") as Hex;
      try {
        const record = await this.read(jobId);
        if (record === null) continue;
        const { text: _, ...head } = record;
        heads.push(head);
      } catch (error) {
        this.#log.warn({ jobId, err: error }, "dropping a stored completion that was cut short");
        await this.erase(jobId);
      }
    }
    return heads;
  }

  /** Erases a job's answer and Completion. */
  async erase(jobId: Hex): Promise<void> {
    await rm(this.#file(jobId), { force: true });
  }

  /** Forgets that jobs were taken more than `seconds` ago: long past the time in which the chain would take a Completion. */
  async sweep(seconds: number): Promise<void> {
    const before = Date.now() - seconds * 1000;
    for (const name of await readdir(this.#taken)) {
      const path = join(this.#taken, name);
      if ((await stat(path)).mtimeMs >= before) continue;
      await rm(path, { force: true });
      this.#known.delete(name);
    }
  }

  #file(jobId: Hex): string {
    return join(this.#completions, `${jobId}.json`);
  }
}

/** A new file survives a power cut only when its folder is written too. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
