import { spawn } from "node:child_process";
import { constants } from "node:os";
import { watchParent } from "./parent.mjs";

const followParent = new URL("./follow-parent.mjs", import.meta.url).href;

/** The terminal signals us and npm, and npm passes its own on to us: within this time the same signal is the same Ctrl-C. */
const SAME_MS = 500;

/** The program that runs now, if one does. */
let running = null;
/** The first signal that asked us to end; no program is started after it. */
let asked = null;
let listening = false;

/**
 * Runs a program to its end and returns its exit code. It gets a process group of its own, so that Ctrl-C in a
 * terminal (which signals everybody) reaches it once, through us. If we, or the npm above us, are killed outright,
 * the closed channel tells it to stop in order (follow-parent.mjs).
 *
 * Signals are listened to from the first program until we end: one that comes late, or between two programs, must not
 * end us in the place of the program's own exit code. After a signal the next program is not run; its exit code is
 * then that of one which the signal has ended.
 */
export function runChild(node, args, { cwd, env }) {
  if (!listening) listen();
  if (asked !== null) return Promise.resolve(endedBy(asked));
  const child = spawn(node, ["--import", followParent, ...args], {
    cwd,
    env,
    detached: true,
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
  running = child;

  return new Promise((resolve, reject) => {
    child.once("error", (error) => {
      running = null;
      reject(new Error(`${node} could not be started: ${error.message}`));
    });
    child.once("exit", (code, signal) => {
      running = null;
      resolve(code ?? endedBy(signal));
    });
  });
}

function listen() {
  listening = true;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
    process.on(
      signal,
      oncePer(SAME_MS, () => pass(signal)),
    );
  watchParent(() => pass("SIGTERM"));
}

function pass(signal) {
  asked ??= signal;
  running?.kill(signal);
}

/** Calls `action` unless it was called less than so many milliseconds ago. */
export function oncePer(milliseconds, action, now = Date.now) {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    if (now() - last < milliseconds) return;
    last = now();
    action();
  };
}

/** The exit code that shells give a program which a signal has ended. */
const endedBy = (signal) => 128 + (constants.signals[signal] ?? 0);
