import { readText } from "../../local-stack/files.ts";
import type { Outcome } from "./program.ts";
import type { Counting } from "./table.ts";

export type Counts = { passed: number; failed: number; skipped: number };

type VitestReport = { numPassedTests: number; numFailedTests: number; numPendingTests: number; numTodoTests: number };

/** Passed and failed checks of a program that has ended. A failure that names no check still counts as one. */
export function count(how: Counting, outcome: Outcome, reportFile: string): Counts {
  const failedSomehow = outcome.code !== 0 || outcome.overTime;
  const counts = how === "vitest" ? vitest(reportFile) : how === "mocha" ? mocha(outcome.output) : none;
  if (how === "exit code") return failedSomehow ? { ...none, failed: 1 } : { ...none, passed: 1 };
  return failedSomehow && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}

const none: Counts = { passed: 0, failed: 0, skipped: 0 };

function vitest(reportFile: string): Counts {
  const text = readText(reportFile);
  // Killed before it could write one.
  if (text === null) return none;
  const report = JSON.parse(text) as VitestReport;
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/** Hardhat ends with a line such as `36 passing (35 mocha, 1 solidity)` for each result. */
function mocha(output: string): Counts {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are made of control characters
  const plain = output.replace(/\u001b\[[0-9;]*m/g, "");
  const last = (word: string): number =>
    Number([...plain.matchAll(new RegExp(`^(\\d+) ${word}`, "gm"))].at(-1)?.[1] ?? 0);
  return { passed: last("passing"), failed: last("failing"), skipped: last("skipped") + last("pending") };
}
