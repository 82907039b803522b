import { totalmem } from "node:os";
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Suites of real processes and browsers: a test that fails runs once more, and is then reported as flaky. */
const SYSTEMS = ["e2e", "faults", "web"];
const PARTS = ["client", "api", "webhooks", "worker", "indexer", "packages", "bootstrap", "verify", "protocol", "unit"];

/**
 * A suite is a folder of test/. What waits for real time runs first, beside the compiler, which computes; the short files come last, so that
 * no long one is left alone.
 */
const SUITES = [...SYSTEMS, ...PARTS];
const TEST = fileURLToPath(new URL("test", import.meta.url));

/** By suite; within one, Vitest's own order begins with the longest file. */
class SuiteSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => SUITES.indexOf(relative(TEST, moduleId).split(sep)[0] ?? "");
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}

const project = (name: string, suites: readonly string[], retry: number) => ({
  extends: true as const,
  test: {
    name,
    retry,
    include: suites.map((suite) => `test/${suite}/**/*.test.ts`),
    // Each project's own: what its files share ends with them.
    globalSetup: "test/support/global-setup.ts",
  },
});

export default defineConfig({
  test: {
    projects: [project("systems", SYSTEMS, 1), project("parts", PARTS, 0)],
    // The files of a project that run one after another share a process: it loads each module once.
    isolate: false,
    // Beside the contracts, four files with stacks keep two cores busy; each further one loads all modules again. Each takes up to 2 GB.
    maxWorkers: Number(process.env["VITEST_MAX_WORKERS"] ?? Math.max(2, Math.min(4, Math.round(totalmem() / 2.5e9)))),
    sequence: { sequencer: SuiteSequencer },
    reporters: [...configDefaults.reporters, "./scripts/test/vitest-reporter.ts"],
    // One limit for all: a test that waits for processes ends when they are ready, and a slow machine is no failure.
    testTimeout: 300_000,
    expect: { poll: { timeout: 30_000 } },
    // The first start of a stack deploys the contracts and fills the index.
    hookTimeout: 300_000,
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/compiled", import.meta.url)) },
  },
});
