/**
 * `npm test [-- suite...]`: the tests, types and linters. Suites are "contracts", "types", "lint" and the folders of test/ that Vitest runs;
 * without a name all of them run. Vitest's run beside the others, for two cores. The last line is the sum, `N passed, N failed`.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { onStopSignal, stopWithNpm } from "../../shared/signals.ts";
import { type Report, readReports, type TestNote, writeReport } from "./report.ts";

/** @property minutes Time after which it hangs: machines are shared, and can be several times as slow as a quiet one. */
type Program = { name: string; command: string; args: string[]; minutes: number };

const LINES_SHOWN = 30;
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const npm = (name: string, script: string): Program => ({
  name,
  command: "npm",
  args: ["run", "--silent", script],
  minutes: 60,
});

/** Side by side, each in its order: the types of the contract tests come from the compiled contracts. */
const OTHERS: readonly (readonly Program[])[] = [
  [{ name: "contracts", command: "hardhat", args: ["test"], minutes: 60 }, npm("types", "typecheck")],
  [npm("lint", "lint")],
];

const asked = process.argv.slice(2);
/** An argument that names no other program is a folder of tests. */
const folders = asked.filter((name) => !OTHERS.flat().some((other) => other.name === name));

const reports = mkdtempSync(join(tmpdir(), "test-reports-"));
const stop = new AbortController();
onStopSignal(() => stop.abort());
stopWithNpm();

/** Runs a program, and shows its lines with its name before them. */
async function run({ name, command, args, minutes }: Program): Promise<void> {
  if (stop.signal.aborted) return;
  // Programs run side by side: each reports into a folder of its own.
  const own = join(reports, name);
  mkdirSync(own);
  const label = function* (line: string) {
    yield `${name.padEnd(9)} | ${line}`;
  };
  const result = await execa(command, args, {
    cwd: ROOT,
    env: { TEST_REPORTS: own, ...(process.stdout.isTTY ? { FORCE_COLOR: "1" } : { NO_COLOR: "1" }) },
    preferLocal: true,
    reject: false,
    all: true,
    stdin: "ignore",
    stdout: [label, "inherit", "pipe"],
    stderr: [label, "inherit", "pipe"],
    timeout: minutes * 60_000,
    cancelSignal: stop.signal,
    forceKillAfterDelay: 20_000,
  });
  const { passed, failed } = readReports(own);
  if (result.failed ? failed > 0 && !result.timedOut : passed + failed > 0) return;
  const nothing: Report = { passed: 0, failed: 0, skipped: [], failures: [], flaky: [] };
  if (!result.failed) return writeReport("end", { ...nothing, passed: 1 }, own);
  const last = (result.all ?? "").split("\n").slice(-LINES_SHOWN).join("\n");
  const how = result.timedOut ? `did not end within ${minutes} minutes` : `ended with exit code ${result.exitCode}`;
  writeReport("end", { ...nothing, failed: 1, failures: [{ title: `${name} ${how}`, message: last }] }, own);
}

async function runVitest(): Promise<void> {
  if (asked.length > 0 && folders.length === 0) return;
  // Every API serves it. Built here, it is not built in the first test that starts one.
  await run({ name: "build", command: process.execPath, args: ["scripts/build/web.ts"], minutes: 20 });
  // The contracts need one core from first to last. With an equal share they would end alone, beside an idle core.
  const args = ["-n", "5", "vitest", "run", ...folders.map((name) => `test/${name}/`)];
  await run({ name: "vitest", command: "nice", args, minutes: 60 });
}

async function runOthers(programs: readonly Program[]): Promise<void> {
  for (const program of programs) if (asked.length === 0 || asked.includes(program.name)) await run(program);
}

await Promise.all([runVitest(), ...OTHERS.map(runOthers)]);
const { passed, failed, skipped, failures, flaky } = readReports(reports);
rmSync(reports, { recursive: true });
if (stop.signal.aborted) {
  console.error("Stopped.");
  process.exit(130);
}
console.log("");
const shown = ({ title, message }: TestNote): string => `${title}\n${message.replace(/^/gm, "    ")}\n`;
for (const failure of failures) console.log(`failed: ${shown(failure)}`);
for (const failure of flaky) console.log(`flaky, passed when run once more: ${shown(failure)}`);
for (const { title, message } of skipped) console.log(`skipped: ${title}: ${message}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
