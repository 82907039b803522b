import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { count } from "../../scripts/bootstrap/suites/count.ts";
import { runProgram } from "../../scripts/bootstrap/suites/program.ts";
import { LANES, SUITES } from "../../scripts/bootstrap/suites/table.ts";
import { ROOT } from "../../scripts/local-stack/files.ts";
import { plainEnv } from "../support/stack.ts";
import { isRunning } from "./support/programs.ts";

describe("the test runner", () => {
  it("kills a suite over its budget with all it started, and counts it as failed", async () => {
    const script =
      'const { spawn } = require("node:child_process");' +
      'const child = spawn("sleep", ["30"]); console.log("started " + child.pid); setTimeout(() => {}, 30000);';
    const outcome = await runProgram(["-e", script], plainEnv(), 5_000);
    expect(outcome.overTime).toBe(true);
    const [, pid] = outcome.output.match(/started (\d+)/) ?? [];
    expect(pid).toBeDefined();
    await expect.poll(() => isRunning(Number(pid)), { timeout: 60_000 }).toBe(false);
    const counted = count("exit code", outcome, "");
    expect(counted).toMatchObject({ passed: 0, failed: 1, skipped: 0 });
    expect(counted.failures).toEqual([
      { title: "the program was killed at the end of its time; its last lines", message: outcome.output.trim() },
    ]);
    expect(count("vitest", outcome, "no-such-report.json").failed).toBe(1);
  });

  it("shows and keeps whole lines of what a program writes", async () => {
    const script = 'process.stdout.write("a"); setTimeout(() => process.stdout.write("b\\nend"), 100);';
    const lines: string[] = [];
    const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => lines.push(String(text)) > 0);
    const outcome = await runProgram(["-e", script], plainEnv(), 100_000, "suite | ").finally(() =>
      write.mockRestore(),
    );
    expect(outcome).toEqual({ code: 0, overTime: false, output: "ab\nend" });
    expect(lines).toEqual(["suite | ab\n", "suite | end\n"]);
  });

  it("reads Hardhat's sums and failures, and counts a crash without any as a failure", () => {
    const output = [
      "  35 passing (4s)",
      "  1 failing",
      "",
      "  1) Escrow",
      "       pays once:",
      "",
      "      AssertionError: expected 2 to equal 1",
      "      + expected - actual",
      "",
      "",
      "35 passing (30 mocha, 5 solidity)",
      "1 failing (1 mocha)",
      "",
    ].join("\n");
    const counted = count("mocha", { code: 1, overTime: false, output }, "");
    expect(counted).toMatchObject({ passed: 35, failed: 1, skipped: 0 });
    expect(counted.failures.map(({ title }) => title)).toEqual(["Escrow pays once"]);
    expect(counted.failures[0]?.message).toMatch(/^AssertionError: expected 2 to equal 1/);
    const crash = count("mocha", { code: 1, overTime: false, output: "Error: HHE27" }, "");
    expect(crash).toMatchObject({ failed: 1, failures: [{ message: "Error: HHE27" }] });
  });

  it("names the tests that failed, and the files that failed before any test", () => {
    const file = join(mkdtempSync(join(tmpdir(), "report-")), "report.json");
    const name = join(ROOT, "test/some.test.ts");
    const hook = { name, status: "failed", message: "hook timed out", assertionResults: [] };
    const test = { status: "failed", fullName: "a job is paid", failureMessages: ["expected 1 to be 2"] };
    const passed = { status: "passed", fullName: "a job is refunded", failureMessages: [] };
    const testResults = [hook, { ...hook, assertionResults: [passed, test] }];
    const sums = { numPassedTests: 1, numFailedTests: 1, numPendingTests: 3, numTodoTests: 0 };
    writeFileSync(file, JSON.stringify({ ...sums, testResults }));
    expect(count("vitest", { code: 1, overTime: false, output: "" }, file)).toEqual({
      passed: 1,
      failed: 1,
      skipped: 3,
      files: ["test/some.test.ts", "test/some.test.ts"],
      others: { passed: 0, failed: 0, skipped: 3 },
      failures: [
        { title: "test/some.test.ts: outside of its tests", message: "hook timed out" },
        { title: "test/some.test.ts: a job is paid", message: "expected 1 to be 2" },
      ],
    });
  });

  it("ends within 15 minutes where each suite takes what the table says", () => {
    // As the runner does it: the first alone, then each free lane takes the next.
    const [first, ...others] = SUITES.map((suite) => suite.seconds);
    const lanes = Array.from({ length: LANES }, () => first ?? 0);
    for (const seconds of others) {
      const free = lanes.indexOf(Math.min(...lanes));
      lanes[free] = (lanes[free] ?? 0) + seconds;
    }
    expect(Math.max(...lanes)).toBeLessThanOrEqual(15 * 60);
  });
});
