import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import type { Hex } from "viem";
import { WriteLane } from "../../protocol/write-lane.ts";
import { ConfigError } from "../errors.ts";
import type { Logger } from "../log.ts";
import { type CompletionHead, type CompletionRecord, recordSchema } from "./record.ts";

/** A change of one key: `value` null erases it. `durable`: on the disk before the writer goes on, not only with the system. */
type Change = { key: string; value: string | null; durable: boolean };

const TAKEN = "taken/";
const COMPLETION = "completion/";

/**
 * What a worker must not forget, in a LevelDB of its folder, which one process at a time can open:
 *
 *   taken/<job id>       Unix seconds; the job was taken here, so that no job is ever taken twice. Outlives a kill because the
 *                        system has it before the acknowledgement leaves.
 *   completion/<job id>  answer, Completion and signatures as JSON; forced to the disk before the Completion's signature leaves
 *                        the process. Erased when the chain has the end of the job.
 *
 * What comes while a write is under way goes out together as the next one: a crowd of jobs waits for the disk once.
 */
export class CompletionStore {
  readonly #db: ClassicLevel<string, string>;
  readonly #log: Logger;
  readonly #lane: WriteLane<Change>;
  /** Job ids under `taken/`. */
  readonly #known = new Set<string>();

  private constructor(db: ClassicLevel<string, string>, log: Logger) {
    this.#db = db;
    this.#log = log;
    this.#lane = new WriteLane((changes) => this.#write(changes));
  }

  /** Opens or makes the store. Answers are private: nobody else on the machine can read the folder. */
  static async open(folder: string, log: Logger): Promise<CompletionStore> {
    const path = join(folder, "jobs");
    await mkdir(path, { recursive: true, mode: 0o700 });
    const db = new ClassicLevel<string, string>(path);
    try {
      await db.open();
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      const why = hasCode(cause, "LEVEL_LOCKED") ? "another process has it open" : String(cause);
      throw new ConfigError(`the worker's memory of its jobs, ${path}, cannot be opened: ${why}`, { cause: error });
    }
    const store = new CompletionStore(db, log);
    for await (const key of db.keys(range(TAKEN))) store.#known.add(key.slice(TAKEN.length));
    return store;
  }

  /** Marks a job as taken; false if it was before. */
  async take(jobId: Hex): Promise<boolean> {
    if (this.#known.has(jobId)) return false;
    this.#known.add(jobId);
    try {
      const seconds = Math.floor(Date.now() / 1000);
      await this.#lane.add({ key: TAKEN + jobId, value: String(seconds), durable: false });
      return true;
    } catch (error) {
      this.#known.delete(jobId);
      throw error;
    }
  }

  /** Whether the job was taken here before. */
  isTaken(jobId: Hex): boolean {
    return this.#known.has(jobId);
  }

  /** Stores a job's Completion; it is on the disk when this returns. */
  save(record: CompletionRecord): Promise<void> {
    const { jobId } = record.completion;
    return this.#lane.add({ key: COMPLETION + jobId, value: JSON.stringify(record), durable: true });
  }

  /** A stored job with its answer; null if there is none. */
  async read(jobId: Hex): Promise<CompletionRecord | null> {
    const text = await this.#db.get(COMPLETION + jobId);
    return text === undefined ? null : recordSchema.parse(JSON.parse(text));
  }

  /** All stored jobs. One that cannot be read is dropped: it stays taken. */
  async heads(): Promise<CompletionHead[]> {
    const heads: CompletionHead[] = [];
    for await (const key of this.#db.keys(range(COMPLETION))) {
      const jobId = key.slice(COMPLETION.length) as Hex;
      try {
        const record = await this.read(jobId);
        if (record === null) continue;
        const { text: _, ...head } = record;
        heads.push(head);
      } catch (error) {
        this.#log.warn({ jobId, err: error }, "dropping a stored completion that cannot be read");
        await this.erase(jobId);
      }
    }
    return heads;
  }

  /** Erases a job's answer and Completion. */
  erase(jobId: Hex): Promise<void> {
    return this.#lane.add({ key: COMPLETION + jobId, value: null, durable: false });
  }

  /** Forgets that jobs were taken more than `seconds` ago: long past the time in which the chain would take a Completion. */
  async sweep(seconds: number): Promise<void> {
    const before = Date.now() / 1000 - seconds;
    const old: string[] = [];
    for await (const [key, takenAt] of this.#db.iterator(range(TAKEN))) if (Number(takenAt) < before) old.push(key);
    await Promise.all(old.map((key) => this.#lane.add({ key, value: null, durable: false })));
    for (const key of old) this.#known.delete(key.slice(TAKEN.length));
  }

  /** Lets go of the folder, after what is being written. */
  close(): Promise<void> {
    return this.#db.close();
  }

  #write(changes: readonly Change[]): Promise<void> {
    const operations = changes.map(({ key, value }) =>
      value === null ? ({ type: "del", key } as const) : ({ type: "put", key, value } as const),
    );
    return this.#db.batch(operations, { sync: changes.some(({ durable }) => durable) });
  }
}

/** The keys that begin with `prefix`, which ends with a slash: "0" comes right after it. */
const range = (prefix: string) => ({ gte: prefix, lt: `${prefix.slice(0, -1)}0` });

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
