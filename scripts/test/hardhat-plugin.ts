import { overrideTask } from "hardhat/config";
import type { HardhatPlugin } from "hardhat/types/plugins";
import type { TaskOverrideActionFunction } from "hardhat/types/tasks";
import Mocha from "mocha";
import { NO_REASON, type TestNote, writeReport } from "./report.ts";

/** Shows what mocha's own reporter shows, and writes the report that `npm test` reads. */
class SpecReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const failures: TestNote[] = [];
    const skipped: TestNote[] = [];
    runner.on("pending", (test) => skipped.push({ title: test.fullTitle(), message: NO_REASON }));
    runner.on("fail", (test, error: Error) => failures.push({ title: test.fullTitle(), message: error.message }));
    runner.once("end", () => {
      const { passes: passed } = this.stats;
      writeReport("mocha", { passed, failed: failures.length, skipped, failures, flaky: [] });
    });
  }
}

const mochaReported: TaskOverrideActionFunction = async (args, { config }, runSuper) => {
  // The configuration file may only name a reporter.
  config.test.mocha.reporter = SpecReporter;
  return await runSuper(args);
};

type Summary = { passed: number; failed: number; skipped: number; failureOutput?: string };
type Outcome = { success: boolean; value?: { summary: Summary }; error?: { summary: Summary } };

/** Runs the Solidity tests, and writes the report that `npm test` reads. */
const solidityReported: TaskOverrideActionFunction = async (args, _, runSuper) => {
  const outcome = (await runSuper(args)) as Outcome;
  const { passed, failed, skipped: count, failureOutput = "" } = (outcome.value ?? outcome.error)?.summary ?? NOTHING;
  const failures = failed > 0 ? [{ title: "Solidity tests", message: failureOutput }] : [];
  const skipped = count > 0 ? [{ title: `${count} Solidity tests`, message: NO_REASON }] : [];
  writeReport("solidity", { passed, failed, skipped, failures, flaky: [] });
  return outcome;
};
const NOTHING: Summary = { passed: 0, failed: 0, skipped: 0 };

export const reportPlugin: HardhatPlugin = {
  id: "test-report",
  tasks: [
    overrideTask(["test", "mocha"])
      .setAction(async () => ({ default: mochaReported }))
      .build(),
    overrideTask(["test", "solidity"])
      .setAction(async () => ({ default: solidityReported }))
      .build(),
  ],
};
