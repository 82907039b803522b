/** A log on a full disk loses lines. Gateway, indexer and worker go on, and end when they are told to. */
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { expect, it } from "vitest";

/** Every write to it fails with ENOSPC. */
const FULL = "/dev/full";
const ROOT = new URL("../../../", import.meta.url);

it.for([
  ["the gateway's log", "createLogger('info', {}).info('line')", "api/observe/log.ts"],
  ["the worker's log", "createLogger('info').info('line')", "worker/console.ts"],
  ["the indexer's lines", "console.log('line'); console.error('line')", "indexer/launch/environment.ts"],
] as const)("%s", ([, write, module], { skip }) => {
  skip(!existsSync(FULL), `this system has no ${FULL}`);
  const script = `
    import { ignoreLostOutput } from "./shared/process.ts";
    import * as module from "./${module}";
    const { createLogger } = module;
    ignoreLostOutput();
    for (let n = 0; n < 3; n++) {
      ${write};
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    process.exit(7);`;
  const full = openSync(FULL, "w");
  try {
    const args = ["--input-type=module-typescript", "--eval", script];
    const { status, signal } = spawnSync(process.execPath, args, {
      cwd: ROOT,
      stdio: ["ignore", full, full],
      timeout: 30_000,
      killSignal: "SIGKILL",
    });
    expect({ status, signal }).toEqual({ status: 7, signal: null });
  } finally {
    closeSync(full);
  }
});
