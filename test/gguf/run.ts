/**
 * `LLAMA_SERVER=/path/to/llama-server npm run test:gguf`: serves a tiny GGUF model with random weights through the whole system.
 * Says so and ends with 0 where `LLAMA_SERVER` names no binary.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const server = process.env["LLAMA_SERVER"];

if (server === undefined || server === "") {
  console.error("not run: set LLAMA_SERVER to the path of llama.cpp's llama-server (see docs/workers.md)");
} else if (!existsSync(server)) {
  console.error(`LLAMA_SERVER is ${server}, and there is no such file: set it to the path of llama.cpp's llama-server`);
  process.exitCode = 1;
} else {
  const options = ["run", "--config", "test/gguf/vitest.config.ts", ...process.argv.slice(2)];
  const vitest = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", ...options], {
    cwd: root,
    stdio: "inherit",
  });
  const [code] = await once(vitest, "exit");
  process.exitCode = code ?? 1;
}
