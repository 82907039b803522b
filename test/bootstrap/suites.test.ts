import { describe, expect, it, vi } from "vitest";
import { count } from "../../scripts/bootstrap/suites/count.ts";
import { runProgram } from "../../scripts/bootstrap/suites/program.ts";
import { LANES, SUITES } from "../../scripts/bootstrap/suites/table.ts";
import { plainEnv } from "../support/stack.ts";
import { isRunning } from "./support/programs.ts";

describe("the test runner", () => {
  it("kills a suite over its budget with all it started, and counts it as failed", async () => {
    const script =
      'const { spawn } = require("node:child_process");' +
      'const child = spawn("sleep", ["30"]); console.log("started " + child.pid); setTimeout(() => {}, 30000);';
    const outcome = await runProgram(["-e", script], plainEnv(), 1_000);
    expect(outcome.overTime).toBe(true);
    expect(isRunning(Number(outcome.output.match(/started (\d+)/)?.[1]))).toBe(false);
    expect(count("exit code", outcome, "")).toEqual({ passed: 0, failed: 1, skipped: 0 });
    expect(count("vitest", outcome, "no-such-report.json").failed).toBe(1);
  });

  it("shows and keeps whole lines of what a program writes", async () => {
    const script = 'process.stdout.write("a"); setTimeout(() => process.stdout.write("b\\nend"), 100);';
    const lines: string[] = [];
    const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => lines.push(String(text)) > 0);
    const outcome = await runProgram(["-e", script], plainEnv(), 10_000, "suite | ").finally(() => write.mockRestore());
    expect(outcome).toEqual({ code: 0, overTime: false, output: "ab\nend" });
    expect(lines).toEqual(["suite | ab\n", "suite | end\n"]);
  });

  it("reads Hardhat's sums, and counts a crash without any as a failure", () => {
    const output = "  35 passing (4s)\n  1 failing\n\n35 passing (30 mocha, 5 solidity)\n1 failing (1 mocha)\n";
    expect(count("mocha", { code: 1, overTime: false, output }, "")).toEqual({ passed: 35, failed: 1, skipped: 0 });
    expect(count("mocha", { code: 1, overTime: false, output: "Error: HHE27" }, "").failed).toBe(1);
  });

  it("ends within 15 minutes where suites take half of their budgets", () => {
    // As the runner does it: the first alone, then each free lane takes the next.
    const [first, ...others] = SUITES.map((suite) => suite.budget);
    const lanes = Array.from({ length: LANES }, () => first ?? 0);
    for (const budget of others) {
      const free = lanes.indexOf(Math.min(...lanes));
      lanes[free] = (lanes[free] ?? 0) + budget;
    }
    expect(Math.max(...lanes) / 2).toBeLessThanOrEqual(15 * 60);
  });
});
