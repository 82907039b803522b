/**
 * `npm run test:gguf`: installs llama.cpp if it is not there, then serves a tiny GGUF model through the whole system. Skips loudly, with exit code 0, where
 * the package cannot be had; `REQUIRE_LLAMA=1` makes that a failure.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { installLlama } from "../../worker/backends/llama/install.ts";
import { findLibrary } from "../../worker/backends/llama/library.ts";
import { ConfigError } from "../../worker/errors.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

try {
  if (findLibrary() === null) await installLlama(null);
} catch (error) {
  if (!(error instanceof ConfigError) || process.env["REQUIRE_LLAMA"]) throw error;
  console.error(`\n*** SKIPPED: the GGUF tests did not run. ${error.message} ***\n`);
  process.exit(0);
}
const vitest = spawn(
  process.execPath,
  ["node_modules/vitest/vitest.mjs", "run", "--config", "test/gguf/vitest.config.ts", ...process.argv.slice(2)],
  { cwd: root, stdio: "inherit" },
);
const [code] = await once(vitest, "exit");
process.exitCode = code ?? 1;
