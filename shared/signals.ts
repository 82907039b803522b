/** The signals that stop a program which npm runs. */

/** A terminal sends Ctrl-C to npm and to the program, and npm passes its own on. Two within this time are one Ctrl-C. */
const SAME_MS = 500;

/** Calls the listener for each signal that asks this process to stop; for a Ctrl-C once, although npm passes it on as well. */
export function onStopSignal(
  listener: (signal: NodeJS.Signals) => void,
  names: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"],
): void {
  for (const name of names) {
    let last = Number.NEGATIVE_INFINITY;
    process.on(name, () => {
      if (performance.now() - last < SAME_MS) return;
      last = performance.now();
      listener(name);
    });
  }
}

/** If npm runs this process, sends it SIGTERM when npm is gone: a killed npm must not leave a stack running that nobody uses. */
export function stopWithNpm(): void {
  const parent = process.ppid;
  if (process.env["npm_command"] === undefined) return;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    process.kill(process.pid, "SIGTERM");
  }, 500);
  watch.unref();
}
