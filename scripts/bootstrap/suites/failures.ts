import { relative } from "node:path";
import { ROOT } from "../../local-stack/files.ts";

/** A check that failed: its name, and what it said. */
export type Failure = { title: string; message: string };

/** What is read of Vitest's JSON report. */
export type VitestReport = {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { status: string; fullName: string; failureMessages: string[] | null }[];
  }[];
};

/** Enough for an assertion with its difference; a log is not repeated here. */
const LINES = 14;

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are made of control characters
const COLOURS = /\u001b\[[0-9;]*m/g;

export const plainText = (text: string): string => text.replace(COLOURS, "");

const head = (text: string): string => plainText(text).trim().split("\n").slice(0, LINES).join("\n");

export const tail = (text: string): string => plainText(text).trim().split("\n").slice(-LINES).join("\n");

/** Failed tests, and files that failed outside of a test: a hook, an import. */
export function vitestFailures(report: VitestReport): Failure[] {
  return report.testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(ROOT, name);
    const failed = assertionResults.filter((test) => test.status === "failed");
    if (status === "failed" && failed.length === 0) {
      return [{ title: `${file}: outside of its tests`, message: head(message) }];
    }
    return failed.map((test) => ({
      title: `${file}: ${test.fullName}`,
      message: head((test.failureMessages ?? []).join("\n")),
    }));
  });
}

/** Errors that no test caught, which Vitest's report does not have; null if there was none. */
export function uncaughtErrors(output: string): Failure | null {
  const plain = plainText(output);
  const from = plain.search(/^Vitest caught \d+ unhandled error/m);
  return from < 0 ? null : { title: "an error that no test caught", message: head(plain.slice(from)) };
}

/** Files with a failure, from the project's root. */
export function failedFiles(report: VitestReport): string[] {
  return report.testResults.filter(({ status }) => status === "failed").map(({ name }) => relative(ROOT, name));
}

/** Mocha lists what failed after its sum: `1) contract`, the test below it, then the error up to an empty line and the stack. */
export function mochaFailures(plain: string): Failure[] {
  const from = plain.search(/^ *\d+ failing/m);
  if (from < 0) return [];
  const blocks = plain.slice(from).split(/^ *\d+\) /m);
  return blocks.slice(1).map((block) => {
    const [name = "", ...rest] = block.split(/:\n/);
    return { title: name.replace(/\s*\n\s*/g, " ").trim(), message: head(rest.join(":\n")) };
  });
}
