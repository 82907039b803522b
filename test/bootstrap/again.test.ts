import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { lookAgain } from "../../scripts/bootstrap/suites/again.ts";
import { type Result, runSuite } from "../../scripts/bootstrap/suites/suite.ts";
import { summarize } from "../../scripts/bootstrap/suites/summary.ts";
import type { Step, Suite } from "../../scripts/bootstrap/suites/table.ts";
import { ROOT } from "../../scripts/local-stack/files.ts";

const going = (): boolean => false;

/**
 * A suite of three files with two tests each, run by a program that reports as Vitest does. `bad[n]` names the files whose first
 * test fails in run n; further runs have no failure. `says`: what it prints in its first run.
 */
function suite(bad: string[][], says = ""): { suite: Suite; runs: () => string[][] } {
  const folder = mkdtempSync(join(tmpdir(), "again-"));
  const program = join(folder, "program.mjs");
  writeFileSync(join(folder, "runs.json"), "[]");
  writeFileSync(
    program,
    `import { readFileSync, writeFileSync } from "node:fs";
     const runs = JSON.parse(readFileSync(${JSON.stringify(join(folder, "runs.json"))}, "utf8"));
     const bad = ${JSON.stringify(bad)}[runs.length] ?? [];
     if (runs.length === 0) console.log(${JSON.stringify(says)});
     const args = process.argv.slice(2);
     const asked = args.filter((arg) => !arg.startsWith("--"));
     runs.push(asked);
     writeFileSync(${JSON.stringify(join(folder, "runs.json"))}, JSON.stringify(runs));
     const testResults = ["a", "b", "c"].filter((file) => asked.length === 0 || asked.includes(file)).map((file) => {
       const one = (fullName, failed) =>
         ({ fullName, status: failed ? "failed" : "passed", failureMessages: failed ? ["of run " + runs.length] : [] });
       const failed = bad.includes(file);
       const assertionResults = [one("first", failed), one("second", false)];
       return { name: ${JSON.stringify(ROOT)} + "/" + file, status: failed ? "failed" : "passed", message: "", assertionResults };
     });
     const all = testResults.flatMap((file) => file.assertionResults);
     const of = (status) => all.filter((test) => test.status === status).length;
     const report = args.find((arg) => arg.startsWith("--outputFile.json=")).split("=")[1];
     writeFileSync(report, JSON.stringify({ numPassedTests: of("passed"), numFailedTests: of("failed"), numPendingTests: 0, numTodoTests: 0, testResults }));
     process.exitCode = of("failed") > 0 ? 1 : 0;`,
  );
  const steps: Step[] = [{ title: "program", args: [program], count: "vitest" }];
  return {
    suite: { name: "sample", seconds: 10, folders: [], steps },
    runs: () => JSON.parse(readFileSync(join(folder, "runs.json"), "utf8")),
  };
}

/** Runs it as `npm test` does; returns what was counted, the exit code and what was printed. */
async function whole(sample: Suite): Promise<{ result: Result; code: number; printed: string }> {
  const printed: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line) => void printed.push(String(line)));
  try {
    const result = await runSuite(sample, going);
    await lookAgain([result], going);
    return { result, code: summarize([result]), printed: printed.join("\n") };
  } finally {
    log.mockRestore();
  }
}

describe("what failed in npm test", () => {
  it("is run once more, alone, and told as unsteady when it passes then", async () => {
    const { suite: sample, runs } = suite([["b"]]);
    const { result, code, printed } = await whole(sample);
    expect(runs()).toEqual([[], ["b"]]);
    expect(result).toMatchObject({ passed: 6, failed: 0, failures: [] });
    expect(code).toBe(0);
    expect(printed).toContain("unsteady (failed at first, passed when run once more): sample > b: first\n  of run 1");
    expect(printed).toMatch(/sample .*6 passed, 0 failed.*UNSTEADY: 1 failed at first/);
    expect(printed.endsWith("\n6 passed, 0 failed")).toBe(true);
  });

  it("has failed when it fails again, with its second failure; the other one is unsteady", async () => {
    const { result, code, printed } = await whole(suite([["a", "b"], ["b"]]).suite);
    expect(result).toMatchObject({ passed: 5, failed: 1 });
    expect(result.failures).toEqual([{ title: "b: first", message: "of run 2" }]);
    expect(result.unsteady).toEqual([{ title: "a: first", message: "of run 1" }]);
    expect(code).toBe(1);
    expect(printed).toMatch(/sample .*program failed/);
  });

  it("is all run again where an error was caught by no test: whose it was, nobody knows", async () => {
    const { suite: sample, runs } = suite(
      [["b"]],
      "Vitest caught 1 unhandled error during the test run.\nError: left behind",
    );
    const { result, code, printed } = await whole(sample);
    expect(runs()).toEqual([[], []]);
    expect(result).toMatchObject({ passed: 6, failed: 0 });
    expect(result.unsteady.map(({ title }) => title)).toEqual(["b: first", "an error that no test caught"]);
    expect(code).toBe(0);
    expect(printed).toContain("Error: left behind");
  });

  it("is not run again when it is too much for an accident", async () => {
    const many = suite([["a", "b", "c"]]);
    const { suite: sample, runs } = many;
    const results = [await runSuite(sample, going), await runSuite(suite([["a", "b"]]).suite, going)];
    await lookAgain(results, going);
    expect(runs()).toEqual([[]]);
    expect(results.map(({ failed }) => failed)).toEqual([3, 2]);
  });

  it("is not run again where the same must come out: compilers and linters", async () => {
    const steps: Step[] = [{ title: "lint", args: ["-e", "process.exit(1)"], count: "exit code" }];
    const { result, code, printed } = await whole({ name: "sample", seconds: 10, folders: [], steps });
    expect([result.failed, code]).toEqual([1, 1]);
    expect(printed).not.toContain("once more");
  });
});
