import { defineConfig } from "vitest/config";
import { VITEST_SUITES } from "./scripts/bootstrap/suites/table.ts";

export default defineConfig({
  test: {
    // Suites with a stack of their own share two cores with it: files run one after the other.
    fileParallelism: false,
    projects: VITEST_SUITES.map(({ name, folders }) => ({
      test: {
        name,
        include: folders.map((folder) => `${folder}/**/*.test.ts`),
        // One for all: a test that waits for processes ends when they are ready, and a machine that is held up is no failure.
        testTimeout: 120_000,
        // The first start of a stack deploys the contracts and fills the index.
        hookTimeout: 180_000,
      },
    })),
  },
});
