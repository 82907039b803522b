import { existsSync } from "node:fs";
import { totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Each runs the tests of its folder in test/; `unit` those of the protocol too. They run in this order: what waits for real time runs
 * beside the compiler, which computes, and the short files come last, so that no long one is left alone.
 */
const SUITES = [
  "e2e",
  "faults",
  "indexer",
  "worker",
  "api",
  "client",
  "web",
  "packages",
  "bootstrap",
  "verify",
  "unit",
];

/** Vitest's own order of suites is that of their names; within a suite it begins with the longest file. */
class SuiteSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ project }: TestSpecification): number => SUITES.indexOf(project.name);
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}

/** Suites of real processes and browsers: a test that fails runs once more, and is then reported as flaky. */
const RETRIED = ["e2e", "faults", "web"];

/** Suites of many files: those that run one after another share a process, load each module once, and have one browser. */
const TOGETHER = ["unit", "api", "worker", "verify", "web"];

function project(name: string) {
  const setup = `test/${name}/global-setup.ts`;
  return {
    extends: true as const,
    test: {
      name,
      include: [`test/${name}/**/*.test.ts`, ...(name === "unit" ? ["test/protocol/**/*.test.ts"] : [])],
      globalSetup: existsSync(fileURLToPath(new URL(setup, import.meta.url))) ? [setup] : [],
      retry: RETRIED.includes(name) ? 1 : 0,
      isolate: !TOGETHER.includes(name),
    },
  };
}

export default defineConfig({
  test: {
    projects: SUITES.map(project),
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
