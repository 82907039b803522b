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
        testTimeout: 30_000,
        // The first start of a stack deploys the contracts and fills the index.
        hookTimeout: 180_000,
      },
    })),
  },
});
