import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "./errors.ts";
import { readText } from "./files.ts";
import { type Identity, isAlive, signal, waitGone } from "./identity.ts";
import { removeDataDir } from "./postgres-home.ts";
import { reapLeftovers } from "./records.ts";

/** Ends and deletes every stack whose data folder lies in this folder: what tests leave behind when they are killed. */
export async function cleanFolder(folder: string): Promise<void> {
  for (const name of readdirSync(folder)) {
    const dataDir = join(folder, name);
    if (!existsSync(join(dataDir, "processes.json"))) continue;
    try {
      await stopStarter(dataDir);
      const left = await reapLeftovers(dataDir, (line) => console.error(`  ${line}`));
      if (left.length > 0) console.error(`  stopped what a test left running: ${left.join(", ")}`);
      removeDataDir(dataDir);
    } catch (error) {
      console.error(`  ${dataDir} could not be cleaned up: ${messageOf(error)}`);
    }
  }
}

/** Asks the process that runs the stack to stop, and makes it when it does not. */
async function stopStarter(dataDir: string): Promise<void> {
  const starter = JSON.parse(readText(join(dataDir, "starter.json")) ?? "null") as Identity | null;
  if (starter === null || starter.pid === process.pid || !isAlive(starter)) return;
  signal(starter.pid, "SIGTERM");
  if (!(await waitGone(starter, 20_000))) signal(starter.pid, "SIGKILL");
}
