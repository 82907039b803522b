import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { holdLock } from "./install-lock.mjs";
import { isInstalled, stampInstalled } from "./install-state.mjs";
import { prepareNative } from "./native.mjs";
import { npmInstall } from "./npm-install.mjs";

/** Installs the dependencies when node_modules is not what the lock file asks for; safe when several start at once. */
export async function ensureInstalled(root, node, env) {
  if (isInstalled(root)) return;
  mkdirSync(join(root, ".data"), { recursive: true });
  const release = await holdLock(join(root, ".data", "install.lock"));
  try {
    // Another start may have done it while we waited.
    if (isInstalled(root)) return;
    const started = Date.now();
    console.log("Installing dependencies; the first time takes about a minute.");
    npmInstall(root, node, env);
    prepareNative(root);
    stampInstalled(root);
    console.log(`Installed in ${((Date.now() - started) / 1000).toFixed(0)} s.`);
  } finally {
    release();
  }
}
