import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Not among the suites of `npm test`: it needs the `llama-server` that LLAMA_SERVER names. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL("../../", import.meta.url)),
    include: ["test/gguf/**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  },
});
