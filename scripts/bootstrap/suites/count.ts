import { readText } from "../../local-stack/files.ts";
import {
  type Failure,
  failedFiles,
  mochaFailures,
  plainText,
  tail,
  uncaughtErrors,
  type VitestReport,
  vitestFailures,
} from "./failures.ts";
import type { Outcome } from "./program.ts";
import type { Counting } from "./table.ts";

export type Counts = { passed: number; failed: number; skipped: number };

/**
 * @property failures What failed and why; at least one where `failed` is not 0.
 * @property files The test files that failed, from the project's root; empty where the program does not name them.
 * @property others What was counted in all other files.
 */
export type Result = Counts & { failures: Failure[]; files: string[]; others: Counts };

/** Passed and failed checks of a program that has ended. A failure that names no check still counts as one. */
export function count(how: Counting, outcome: Outcome, reportFile: string): Result {
  const failedSomehow = outcome.code !== 0 || outcome.overTime;
  const result =
    how === "vitest" ? vitest(reportFile, outcome.output) : how === "mocha" ? mocha(outcome.output) : none();
  if (!failedSomehow) return how === "exit code" ? { ...none(), passed: 1 } : result;
  const failures = result.failures.length > 0 ? result.failures : [unnamed(outcome)];
  return { ...result, failed: Math.max(result.failed, 1), failures };
}

const NOTHING: Counts = { passed: 0, failed: 0, skipped: 0 };
const none = (): Result => ({ ...NOTHING, failures: [], files: [], others: NOTHING });

/** A program that failed without naming a check: its last words say more than its exit code. */
function unnamed(outcome: Outcome): Failure {
  const how = outcome.overTime ? "was killed at the end of its time" : `ended with exit code ${outcome.code}`;
  return { title: `the program ${how}; its last lines`, message: tail(outcome.output) };
}

function vitest(reportFile: string, output: string): Result {
  const text = readText(reportFile);
  // Killed before it could write one.
  if (text === null) return none();
  const report = JSON.parse(text) as VitestReport;
  const counted = tests(report);
  const uncaught = uncaughtErrors(output);
  if (uncaught === null) return counted;
  // The report says neither that there was one nor where: no file can be left out of a second run.
  const failures = [...counted.failures, uncaught];
  return { ...counted, failed: counted.failed + 1, failures, files: [], others: NOTHING };
}

function tests(report: VitestReport): Result {
  const inFailed = report.testResults
    .filter((file) => file.status === "failed")
    .flatMap((file) => file.assertionResults);
  const passedThere = inFailed.filter((test) => test.status === "passed").length;
  const failedThere = inFailed.filter((test) => test.status === "failed").length;
  const skipped = report.numPendingTests + report.numTodoTests;
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped,
    failures: vitestFailures(report),
    files: failedFiles(report),
    others: {
      passed: report.numPassedTests - passedThere,
      failed: report.numFailedTests - failedThere,
      skipped: skipped - (inFailed.length - passedThere - failedThere),
    },
  };
}

/** Hardhat ends with a line such as `36 passing (35 mocha, 1 solidity)` for each result. */
function mocha(output: string): Result {
  const plain = plainText(output);
  const last = (word: string): number =>
    Number([...plain.matchAll(new RegExp(`^(\\d+) ${word}`, "gm"))].at(-1)?.[1] ?? 0);
  return {
    ...none(),
    passed: last("passing"),
    failed: last("failing"),
    skipped: last("skipped") + last("pending"),
    failures: mochaFailures(plain),
  };
}
