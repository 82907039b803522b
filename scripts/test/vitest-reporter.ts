import { stripVTControlCharacters } from "node:util";
import type { Reporter, SerializedError, TestModule, TestProject, TestSpecification } from "vitest/node";
import { NO_REASON, type TestNote, writeReport } from "./report.ts";

/**
 * Prints the tests that passed only when they ran again, and writes the report that `npm test` reads. Stops what files share
 * (test/support/shared-fixtures.ts) after the last file of their project.
 */
export default class SumReporter implements Reporter {
  readonly #filesLeft = new Map<TestProject, number>();

  onTestRunStart(files: readonly TestSpecification[]): void {
    for (const { project } of files) this.#filesLeft.set(project, (this.#filesLeft.get(project) ?? 0) + 1);
  }

  onTestModuleEnd({ project }: TestModule): void {
    const left = (this.#filesLeft.get(project) ?? 0) - 1;
    this.#filesLeft.set(project, left);
    const { shared } = project.getProvidedContext();
    // If this request fails, the end of the run stops what is shared.
    if (left === 0) void fetch(shared, { method: "DELETE" }).catch(() => {});
  }

  onTestRunEnd(modules: readonly TestModule[], uncaught: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()].map((test) => ({ module, test })));
    const nameOf = (module: TestModule, name: string): string => `${module.relativeModuleId} > ${name}`;
    const withState = (state: string) => tests.filter(({ test }) => test.result().state === state);

    const described = ({ module, test }: (typeof tests)[number]): TestNote => ({
      title: nameOf(module, test.fullName),
      message: messageOf(test.result().errors ?? []),
    });
    const failures = withState("failed").map(described);
    // An error in a file's hooks or imports belongs to no test.
    for (const module of modules) {
      const suites = [module, ...module.children.allSuites()];
      const errors = suites.flatMap((suite) => suite.errors());
      if (errors.length > 0) failures.push({ title: nameOf(module, "outside its tests"), message: messageOf(errors) });
    }
    for (const error of uncaught) failures.push({ title: "an error that no test caught", message: messageOf([error]) });

    const flaky = tests.filter(({ test }) => test.diagnostic()?.flaky).map(described);
    for (const { title } of flaky) console.log(`flaky: ${title}`);
    writeReport("vitest", {
      passed: withState("passed").length,
      failed: failures.length,
      skipped: withState("skipped").map(({ module, test }) => {
        const result = test.result();
        return {
          title: nameOf(module, test.fullName),
          message: (result.state === "skipped" && result.note) || NO_REASON,
        };
      }),
      failures,
      flaky,
    });
  }
}

const messageOf = (errors: readonly SerializedError[]): string =>
  stripVTControlCharacters(errors.map(({ message, diff }) => [message, diff].filter(Boolean).join("\n")).join("\n"));
