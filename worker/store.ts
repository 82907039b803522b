/**
 * Stores what a worker must not forget: which jobs it took, the answers that it is not paid for yet, and the keys of gateways it has met.
 */
import { existsSync } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { ClassicLevel } from "classic-level";
import type { Address, Hex } from "viem";
import { z } from "zod";
import { assignmentSchema, completionSchema, finishReasonSchema } from "../protocol/dispatch.ts";
import { Cipher } from "../shared/cipher.ts";
import { WriteLane } from "../shared/write-lane.ts";
import { COMMAND, ConfigError, type Logger } from "./console.ts";

const hex = z.custom<Hex>((v) => typeof v === "string" && /^0x[0-9a-f]+$/.test(v), "not hex");
const address = z.custom<Address>((v) => typeof v === "string" && /^0x[0-9a-fA-F]{40}$/.test(v), "not an address");

/** The assignment of a job that was taken, signed by both sides: with it anyone can record the acknowledgement on chain. */
const agreementSchema = z.object({
  assignment: assignmentSchema,
  /** The gateway's signing key. */
  gateway: address,
  byGateway: hex,
  /** This worker's Acknowledgement. */
  byWorker: hex,
});
export type Agreement = z.infer<typeof agreementSchema>;

/** A finished job as it lies on disk until the chain has it. */
const recordSchema = z.object({
  agreement: agreementSchema,
  text: z.string(),
  completion: completionSchema,
  signature: hex,
  finishReason: finishReasonSchema,
  /** When the worker finished, chain time in Unix seconds: up to a block later than the signed time, which is that of a block. */
  finishedAt: z.number(),
});
type CompletionRecord = z.infer<typeof recordSchema>;
/** As it is written, with the agreement as `papers`: `text` is the encrypted answer, in base64. Version 1 has it as it is. */
const storedSchema = recordSchema
  .omit({ agreement: true })
  .extend({ papers: agreementSchema, version: z.union([z.literal(1), z.literal(2)]) });
/** The same without the answer: what is kept in memory. */
export type CompletionHead = Omit<CompletionRecord, "text">;

/** Encrypts answers with a key derived from the worker's own. */
export const answerCipher = (privateKey: Hex): Cipher => new Cipher(privateKey.slice(2), "stored answers");

type Tools = { cipher: Cipher; log: Logger };
type Known = { taken: string[]; completed: string[]; repairedAt: number };
type Db = ClassicLevel<string, string>;
/** A change of one key: `value` null erases it. `durable`: on the disk before the writer goes on. */
type Change = { key: string; value: string | null; durable: boolean };

const TAKEN = "taken/";
const COMPLETION = "completion/";
const GATEWAY = "gateway/";
const REPAIRED = "repaired";
const storePath = (folder: string): string => join(folder, "jobs");
/** The keys that begin with `prefix`, which ends with a slash: "0" comes right after it. */
const range = (prefix: string) => ({ gte: prefix, lt: `${prefix.slice(0, -1)}0` });

/** `status` of a worker that does not run holds the lock for a moment, to count. */
const LOCK_WAIT_MS = 3_000;

/**
 * A LevelDB in the data folder, which one process at a time can open:
 *
 *   taken/<job id>       Unix seconds; the job was taken here and is never taken again. The operating system has it before the
 *                        acknowledgement leaves, so it outlives a kill.
 *   completion/<job id>  answer (encrypted), Completion and signatures as JSON; forced to the disk before the Completion's signature leaves
 *                        the process. Erased when the chain shows the end of the job.
 *   gateway/<escrow>/<key>  number of the operator that the gateway's key signs for at this escrow.
 *   repaired             Unix milliseconds; marks of jobs from before may be lost, so all of them count as taken.
 *
 * Writes that arrive during a write go out together as the next one: a crowd of jobs waits for the disk once.
 */
export class CompletionStore {
  readonly #db: Db;
  readonly #cipher: Cipher;
  readonly #log: Logger;
  readonly #lane: WriteLane<Change>;
  readonly #taken: Set<string>;
  readonly #completed: Set<string>;
  readonly #repairedAt: number;

  private constructor(db: Db, { cipher, log }: Tools, known: Known) {
    this.#db = db;
    this.#cipher = cipher;
    this.#log = log;
    this.#lane = new WriteLane((changes) => write(db, changes));
    this.#taken = new Set(known.taken);
    this.#completed = new Set(known.completed);
    this.#repairedAt = known.repairedAt;
  }

  /**
   * Opens or makes the store. Answers are private: no other user of the machine can read the folder, and without the worker's key the disk
   * shows none. Damage is repaired once.
   * Throws a ConfigError that says what to do when the store cannot be opened.
   */
  static async open(folder: string, tools: Tools): Promise<CompletionStore> {
    const { log } = tools;
    const path = storePath(folder);
    await mkdir(path, { recursive: true, mode: 0o700 });
    try {
      return await CompletionStore.#load(path, tools);
    } catch (error) {
      if (!isDamage(error)) throw unusable(path, error);
      log.warn(
        { path, err: error },
        "the worker's memory of its jobs is damaged: it is repaired, and jobs from before are not taken (again)",
      );
    }
    try {
      await ClassicLevel.repair(path);
      return await CompletionStore.#load(path, tools, Date.now());
    } catch (error) {
      throw unusable(path, error);
    }
  }

  static async #load(path: string, tools: Tools, repaired: number | null = null): Promise<CompletionStore> {
    const db = await openDb(path);
    try {
      if (repaired !== null) await write(db, [{ key: REPAIRED, value: String(repaired), durable: true }]);
      const repairedAt = Number((await db.get(REPAIRED)) ?? 0);
      const [taken, completed] = [await idsOf(db, TAKEN), await idsOf(db, COMPLETION)];
      return new CompletionStore(db, tools, { taken, completed, repairedAt });
    } catch (error) {
      await db.close();
      throw error;
    }
  }

  /** Marks a job as taken; false if it was before. */
  async take(jobId: Hex): Promise<boolean> {
    if (this.isTaken(jobId)) return false;
    this.#taken.add(jobId);
    try {
      const now = Math.floor(Date.now() / 1000);
      await this.#lane.add({ key: TAKEN + jobId, value: String(now), durable: false });
      return true;
    } catch (error) {
      this.#taken.delete(jobId);
      throw error;
    }
  }

  /** True if this worker took the job before, or may have taken it. */
  isTaken(jobId: Hex): boolean {
    return this.#taken.has(jobId) || createdAt(jobId) < this.#repairedAt;
  }

  /** Stores a job's Completion; it is on the disk when this returns. Throws if the job has another one: two cost the stake. */
  async save(record: CompletionRecord): Promise<void> {
    const { jobId } = record.completion;
    if (this.#completed.has(jobId)) {
      if (isDeepStrictEqual((await this.#stored(jobId))?.completion, record.completion)) return;
      throw new Error(`job ${jobId} has another completion already: a second one is never signed`);
    }
    this.#completed.add(jobId);
    try {
      await this.#lane.add({ key: COMPLETION + jobId, value: this.#sealed(record), durable: true });
    } catch (error) {
      this.#completed.delete(jobId);
      throw error;
    }
  }

  /** A stored job with its answer; null if there is none. */
  async read(jobId: Hex): Promise<CompletionRecord | null> {
    const stored = await this.#stored(jobId);
    if (stored === null) return null;
    const { version, text, papers: agreement, ...head } = stored;
    return {
      ...head,
      agreement,
      text: version === 1 ? text : this.#cipher.decrypt(Buffer.from(text, "base64"), jobId),
    };
  }

  async #stored(jobId: Hex): Promise<z.infer<typeof storedSchema> | null> {
    const text = await this.#db.get(COMPLETION + jobId);
    return text === undefined ? null : storedSchema.parse(JSON.parse(text));
  }

  #sealed(record: CompletionRecord): string {
    const text = this.#cipher.encrypt(record.text, record.completion.jobId).toString("base64");
    const { agreement: papers, ...head } = record;
    const stored: z.infer<typeof storedSchema> = { ...head, papers, version: 2, text };
    return JSON.stringify(stored);
  }

  /** All stored jobs. One that cannot be read is dropped: it stays taken. */
  async heads(): Promise<CompletionHead[]> {
    const heads: CompletionHead[] = [];
    for (const jobId of await idsOf(this.#db, COMPLETION)) {
      try {
        // The chain needs no answer: what another key encrypted is settled, too.
        const stored = await this.#stored(jobId);
        if (stored === null) continue;
        const { text: _, version: __, papers: agreement, ...head } = stored;
        heads.push({ ...head, agreement });
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

  /** Keys of gateways that were met at an escrow, in small letters, with the operators that they sign for. */
  async gateways(escrow: Address): Promise<Map<string, number>> {
    const prefix = `${GATEWAY}${escrow.toLowerCase()}/`;
    const found = await this.#db.iterator(range(prefix)).all();
    return new Map(found.map(([key, operator]) => [key.slice(prefix.length), Number(operator)]));
  }

  /** Remembers whom a gateway's key signs for. */
  async addGateway(escrow: Address, key: Address, operator: number): Promise<void> {
    const name = `${GATEWAY}${escrow}/${key}`.toLowerCase();
    await this.#lane.add({ key: name, value: String(operator), durable: false });
  }

  /** Forgets jobs that were taken more than `seconds` ago. The caller names a time after which the chain takes no Completion. */
  async sweep(seconds: number): Promise<void> {
    const before = Date.now() / 1000 - seconds;
    const old: string[] = [];
    for await (const [key, takenAt] of this.#db.iterator(range(TAKEN))) if (Number(takenAt) < before) old.push(key);
    await Promise.all(old.map((key) => this.#lane.add({ key, value: null, durable: false })));
    for (const key of old) this.#taken.delete(key.slice(TAKEN.length));
  }

  /** Lets go of the folder, after what is being written. */
  close(): Promise<void> {
    return this.#db.close();
  }
}

/** Opens the LevelDB at `path`, or makes it; waits a little if another process has it open. Rejects with LevelDB's error. */
async function openDb(path: string): Promise<Db> {
  for (const end = Date.now() + LOCK_WAIT_MS; ; ) {
    const db = new ClassicLevel<string, string>(path);
    try {
      await db.open();
      return db;
    } catch (error) {
      if (!isLocked(error) || Date.now() >= end) throw error;
      await setTimeout(100);
    }
  }
}

function write(db: Db, changes: readonly Change[]): Promise<void> {
  const operations = changes.map(({ key, value }) =>
    value === null ? ({ type: "del", key } as const) : ({ type: "put", key, value } as const),
  );
  return db.batch(operations, { sync: changes.some(({ durable }) => durable) });
}

async function idsOf(db: Db, prefix: string): Promise<Hex[]> {
  const keys = await db.keys(range(prefix)).all();
  return keys.map((key) => key.slice(prefix.length) as Hex);
}

/** Milliseconds in a job's id, a UUIDv7. */
const createdAt = (jobId: Hex): number => Number.parseInt(jobId.slice(2, 14), 16);

/** A number of answers; or null, and why it is not known now. */
export type Stored = { count: number; unknown: null } | { count: null; unknown: string };

/**
 * Counts the answers in the data folder of a worker that does not run. What is stored is not settled, or was not when the worker stopped.
 * Unknown while a process has the store open, while it is damaged, and to another user than the worker's.
 * Rejects with a ConfigError if the store cannot be read.
 */
export async function countStored(folder: string): Promise<Stored> {
  const path = storePath(folder);
  const owner = await otherOwner(path);
  if (owner !== null) {
    // Opening a LevelDB writes files into it, which the worker could not read at its next start.
    const unknown = `the data folder belongs to the user with the id ${owner}: ask as that user (sudo -u '#${owner}' …)`;
    return { count: null, unknown };
  }
  // LevelDB names the newest state of a database in this file.
  if (!existsSync(join(path, "CURRENT"))) return { count: 0, unknown: null };
  const db = new ClassicLevel<string, string>(path, { createIfMissing: false });
  try {
    await db.open();
    return { count: (await idsOf(db, COMPLETION)).length, unknown: null };
  } catch (error) {
    if (!isLocked(error) && !isDamage(error)) throw unusable(path, error);
    const unknown = `another process has the memory of its jobs open, or it is damaged; \`${COMMAND}\` says which`;
    return { count: null, unknown };
  } finally {
    await db.close();
  }
}

/** The user id of the store's owner, when that is not who runs this process; null also without a store, or without such ids. */
async function otherOwner(path: string): Promise<number | null> {
  const own = process.getuid?.();
  if (own === undefined) return null;
  try {
    const { uid } = await stat(path);
    return uid === own ? null : uid;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return null;
    if (!hasCode(error, "EACCES")) throw error;
    // A folder that this user may not look into is the worker's own.
    const { uid } = await stat(dirname(path));
    return uid === own ? null : uid;
  }
}

/** True if LevelDB found data that it cannot have written. */
const isDamage = (error: unknown): boolean => hasCode(error, "LEVEL_CORRUPTION");
/** True if another process has the store open. */
const isLocked = (error: unknown): boolean => hasCode(error, "LEVEL_LOCKED");

/** The error for the operator if a store cannot be opened. */
function unusable(path: string, error: unknown): ConfigError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const [why, remedy] = isLocked(error)
    ? ["another process has it open", "stop that one, or give this one another data folder"]
    : [
        String(cause),
        "see that the folder can be read and written and its disk has room; if it is damaged, move it away and wait three minutes " +
          "before the next start, so that no job is answered twice (answers in it that are not settled yet are lost)",
      ];
  return new ConfigError(`the worker's memory of its jobs, ${path}, cannot be opened: ${why}. What to do: ${remedy}`, {
    cause: error,
  });
}

/** True if the error, or one of its causes, has this code. */
function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && (("code" in error && error.code === code) || hasCode(error.cause, code));
}
