import { spawn } from "node:child_process";
import { constants } from "node:os";
import { watchParent } from "./parent.mjs";

const followParent = new URL("./follow-parent.mjs", import.meta.url).href;

/**
 * Runs a program to its end and returns its exit code. It gets a process group of its own, so that Ctrl-C in a
 * terminal (which signals everybody) reaches it once, through us. If we, or the npm above us, are killed outright,
 * the closed channel tells it to stop in order (follow-parent.mjs).
 */
export function runChild(node, args, { cwd, env }) {
  const child = spawn(node, ["--import", followParent, ...args], {
    cwd,
    env,
    detached: true,
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });

  const handlers = ["SIGINT", "SIGTERM", "SIGHUP"].map((signal) => {
    let last = 0;
    const forward = () => {
      // The terminal signals us and npm, and npm passes its own on to us: one Ctrl-C arrives two times.
      if (Date.now() - last < 500) return;
      last = Date.now();
      child.kill(signal);
    };
    process.on(signal, forward);
    return () => process.off(signal, forward);
  });
  const unwatch = watchParent(() => child.kill("SIGTERM"));

  return new Promise((resolve, reject) => {
    const done = () => {
      unwatch();
      for (const off of handlers) off();
    };
    child.once("error", (error) => {
      done();
      reject(new Error(`${node} could not be started: ${error.message}`));
    });
    child.once("exit", (code, signal) => {
      done();
      resolve(code ?? 128 + (constants.signals[signal] ?? 0));
    });
  });
}
