import { readFileSync, rmSync, writeFileSync } from "node:fs";

const WAIT_MS = 10 * 60_000;

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function tryTake(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
}

function holder(file) {
  try {
    return Number(readFileSync(file, "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return 0;
    throw error;
  }
}

/** Waits for the lock file and takes it; returns the function that gives it back. */
export async function holdLock(file) {
  const deadline = Date.now() + WAIT_MS;
  let told = false;
  while (!tryTake(file)) {
    const pid = holder(file);
    // Left by an install that was killed. (An empty file is one being written this moment.)
    if (pid > 0 && !alive(pid)) {
      rmSync(file, { force: true });
      continue;
    }
    if (!told) console.log(`Waiting for another installation of these dependencies (process ${pid}).`);
    told = true;
    if (Date.now() > deadline) {
      throw new Error(
        `The installation by process ${pid} has not ended for ten minutes. Stop it, delete ${file} and run again.`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  return () => rmSync(file, { force: true });
}
