import { readdir, readFile, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Hex } from "viem";
import type { Logger } from "../log.ts";
import { type CompletionRecord, recordSchema } from "./record.ts";

/** What an earlier version of the worker kept in files. Times are Unix seconds. */
export type Former = { taken: { jobId: Hex; at: number }[]; records: CompletionRecord[] };

const JOB_ID = /^0x[0-9a-f]{32}$/;
const FOLDERS = ["taken", "completions"] as const;

/**
 * Reads the files in which an earlier version remembered its jobs; null if there are none:
 *
 *   taken/<job id>              empty, changed when the job was taken
 *   completions/<job id>.json   a CompletionRecord
 *
 * A record that cannot be read was cut short before its signature left: it is left out with a warning, and its job stays taken.
 */
export async function readFormer(folder: string, log: Logger): Promise<Former | null> {
  const [takenFiles, recordFiles] = await Promise.all(FOLDERS.map((name) => filesOf(join(folder, name))));
  if (takenFiles === null && recordFiles === null) return null;
  const former: Former = { taken: [], records: [] };
  for (const path of takenFiles ?? []) {
    const jobId = path.slice(-34);
    if (JOB_ID.test(jobId))
      former.taken.push({ jobId: jobId as Hex, at: Math.floor((await stat(path)).mtimeMs / 1000) });
  }
  for (const path of recordFiles ?? []) {
    try {
      former.records.push(recordSchema.parse(JSON.parse(await readFile(path, "utf8"))));
    } catch (error) {
      log.warn({ path, err: error }, "dropping a completion of an earlier version that cannot be read");
    }
  }
  return former;
}

/** Ids of the jobs whose answers an earlier version left in files. */
export async function formerRecords(folder: string): Promise<string[]> {
  const files = await filesOf(join(folder, "completions"));
  return (files ?? []).map((path) => basename(path, ".json"));
}

/** Removes those files, once everything in them is safe elsewhere. */
export async function removeFormer(folder: string): Promise<void> {
  for (const name of FOLDERS) await rm(join(folder, name), { recursive: true, force: true });
}

async function filesOf(folder: string): Promise<string[] | null> {
  try {
    return (await readdir(folder)).map((name) => join(folder, name));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}
