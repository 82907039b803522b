import { mkdir } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { ClassicLevel } from "classic-level";
import type { Hex } from "viem";
import { WriteLane } from "../../protocol/write-lane.ts";
import type { Logger } from "../log.ts";
import { isDamage, unusable } from "./damage.ts";
import { readFormer, removeFormer } from "./import.ts";
import { COMPLETION, REPAIRED, range, storePath, TAKEN } from "./layout.ts";
import { type Db, openDb } from "./open.ts";
import { type CompletionHead, type CompletionRecord, recordSchema } from "./record.ts";

/** A change of one key: `value` null erases it. `durable`: on the disk before the writer goes on, not only with the system. */
type Change = { key: string; value: string | null; durable: boolean };

/**
 * What a worker must not forget, in a LevelDB of its folder, which one process at a time can open:
 *
 *   taken/<job id>       Unix seconds; the job was taken here, so that no job is ever taken twice. Outlives a kill because the
 *                        system has it before the acknowledgement leaves.
 *   completion/<job id>  answer, Completion and signatures as JSON; forced to the disk before the Completion's signature leaves
 *                        the process. Erased when the chain has the end of the job.
 *   repaired             Unix milliseconds; marks of jobs from before may be lost, so all of them count as taken.
 *
 * What comes while a write is under way goes out together as the next one: a crowd of jobs waits for the disk once.
 */
export class CompletionStore {
  readonly #db: Db;
  readonly #log: Logger;
  readonly #lane: WriteLane<Change>;
  /** Job ids under `taken/`. */
  readonly #known = new Set<string>();
  /** Job ids under `completion/`. */
  readonly #completed = new Set<string>();
  #repairedAt = 0;

  private constructor(db: Db, log: Logger) {
    this.#db = db;
    this.#log = log;
    this.#lane = new WriteLane((changes) => this.#write(changes));
  }

  /**
   * Opens or makes the store, taking over what an earlier version kept in files. Answers are private: nobody else on the machine
   * can read the folder. What the disk has damaged is repaired once.
   */
  static async open(folder: string, log: Logger): Promise<CompletionStore> {
    const path = storePath(folder);
    await mkdir(path, { recursive: true, mode: 0o700 });
    try {
      return await CompletionStore.#open(path, folder, log);
    } catch (error) {
      if (!isDamage(error)) throw unusable(path, error);
      log.warn(
        { path, err: error },
        "the worker's memory of its jobs is damaged: it is repaired, and jobs from before are not taken (again)",
      );
    }
    try {
      await ClassicLevel.repair(path);
      const store = await CompletionStore.#open(path, folder, log);
      store.#repairedAt = Date.now();
      await store.#lane.add({ key: REPAIRED, value: String(store.#repairedAt), durable: true });
      return store;
    } catch (error) {
      throw unusable(path, error);
    }
  }

  static async #open(path: string, folder: string, log: Logger): Promise<CompletionStore> {
    const db = await openDb(path);
    const store = new CompletionStore(db, log);
    try {
      store.#repairedAt = Number((await db.get(REPAIRED)) ?? 0);
      for await (const key of db.keys(range(TAKEN))) store.#known.add(key.slice(TAKEN.length));
      await store.#takeOver(folder);
      for await (const key of db.keys(range(COMPLETION))) store.#completed.add(key.slice(COMPLETION.length));
      return store;
    } catch (error) {
      await db.close();
      throw error;
    }
  }

  /** Marks a job as taken; false if it was before. */
  async take(jobId: Hex): Promise<boolean> {
    if (this.isTaken(jobId)) return false;
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

  /** Whether the job was taken here before, or may have been. */
  isTaken(jobId: Hex): boolean {
    return this.#known.has(jobId) || createdAt(jobId) < this.#repairedAt;
  }

  /** Stores a job's Completion; it is on the disk when this returns. Throws if the job has another one: two cost the stake. */
  async save(record: CompletionRecord): Promise<void> {
    const { jobId } = record.completion;
    if (this.#completed.has(jobId)) {
      if (isDeepStrictEqual((await this.read(jobId))?.completion, record.completion)) return;
      throw new Error(`job ${jobId} has another completion already: a second one is never signed`);
    }
    this.#completed.add(jobId);
    try {
      await this.#lane.add({ key: COMPLETION + jobId, value: JSON.stringify(record), durable: true });
    } catch (error) {
      this.#completed.delete(jobId);
      throw error;
    }
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
  async erase(jobId: Hex): Promise<void> {
    await this.#lane.add({ key: COMPLETION + jobId, value: null, durable: false });
    this.#completed.delete(jobId);
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

  /** Imports the files of an earlier version and removes them. Broken off, it is done again: what is here already stays. */
  async #takeOver(folder: string): Promise<void> {
    const former = await readFormer(folder, this.#log);
    if (former === null) return;
    const changes: Change[] = former.taken
      .filter(({ jobId }) => !this.#known.has(jobId))
      .map(({ jobId, at }) => ({ key: TAKEN + jobId, value: String(at), durable: true }));
    for (const record of former.records) {
      const key = COMPLETION + record.completion.jobId;
      if (!(await this.#db.has(key))) changes.push({ key, value: JSON.stringify(record), durable: true });
    }
    if (changes.length > 0) await this.#write(changes);
    for (const { jobId } of former.taken) this.#known.add(jobId);
    await removeFormer(folder);
    const [taken, completions] = [former.taken.length, former.records.length];
    this.#log.info({ taken, completions }, "took over the jobs that an earlier version kept in files");
  }

  #write(changes: readonly Change[]): Promise<void> {
    const operations = changes.map(({ key, value }) =>
      value === null ? ({ type: "del", key } as const) : ({ type: "put", key, value } as const),
    );
    return this.#db.batch(operations, { sync: changes.some(({ durable }) => durable) });
  }
}

/** Milliseconds in a job's id, a UUIDv7. */
const createdAt = (jobId: Hex): number => Number.parseInt(jobId.slice(2, 14), 16);
