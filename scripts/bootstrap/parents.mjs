import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Parent and command name of a process, or null when it cannot be read. */
function describe(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const end = stat.lastIndexOf(")");
    return { parent: Number(stat.slice(end + 2).split(" ")[1]), name: stat.slice(stat.indexOf("(") + 1, end) };
  } catch {
    // Not Linux, or already gone: ps knows, or nobody does.
    const [parent, name] = spawnSync("ps", ["-o", "ppid=,comm=", "-p", String(pid)], { encoding: "utf8" })
      .stdout?.trim()
      .split(/\s+/) ?? [];
    return parent ? { parent: Number(parent), name: name?.split("/").at(-1) ?? "" } : null;
  }
}

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/**
 * Calls `gone` once when the process that started us has died. Under npm that is npm itself, which may stand one
 * shell above us: `npm start` killed with -9 must not leave the stack running for nobody.
 */
export function watchParents(gone) {
  const watched = [process.ppid];
  if (process.env.npm_lifecycle_event) {
    const shell = describe(process.ppid);
    if (shell && /^(sh|dash|bash|ash|zsh)$/.test(shell.name) && shell.parent > 1) watched.push(shell.parent);
  }
  const first = process.ppid;
  // A container's first process is parent and init at once: nothing to watch.
  if (first <= 1) return () => {};
  const timer = setInterval(() => {
    if (process.ppid === first && watched.every(alive)) return;
    clearInterval(timer);
    gone();
  }, 500);
  timer.unref();
  return () => clearInterval(timer);
}
