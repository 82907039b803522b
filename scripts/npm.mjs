/**
 * Loaded before the programs that `npm run` starts (`node --import ./scripts/npm.mjs`), so that they live with npm as they would without it.
 */
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";

/** A terminal sends Ctrl-C to npm and to the program, and npm passes its own on. Within this time it is the same Ctrl-C. */
const SAME_MS = 500;

if (isMainThread) {
  // A stack is eight processes of the same modules: what one has compiled, the next need not.
  process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL("../node_modules/.cache/compiled", import.meta.url));
  enableCompileCache(process.env.NODE_COMPILE_CACHE);

  const last = new Map();
  const emit = process.emit;
  process.emit = function (name, ...rest) {
    if (["SIGINT", "SIGTERM", "SIGHUP"].includes(name)) {
      const isRepeated = performance.now() - (last.get(name) ?? Number.NEGATIVE_INFINITY) < SAME_MS;
      if (isRepeated) return true;
      last.set(name, performance.now());
    }
    return emit.call(this, name, ...rest);
  };

  // A killed npm must not leave a stack running for nobody. The first process of a container has no parent to watch.
  const parent = process.ppid;
  if (parent > 1) {
    const watch = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(watch);
      process.kill(process.pid, "SIGTERM");
    }, 500);
    watch.unref();
  }
}
