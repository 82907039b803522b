/**
 * `npm test [-- [--once] [suite...]]`: builds the web application, then runs the suites some at a time (LANES), each within its time budget, and goes on
 * after a failure. What failed is run once more at the end, alone, unless `--once` is given (again.ts).
 * The last line is the sum, alone: `N passed, N failed`. Exit code 1 when anything failed.
 */
import { lookAgain } from "./again.ts";
import { killRunning } from "./program.ts";
import { type Result, runSuite } from "./suite.ts";
import { summarize } from "./summary.ts";
import { BUILD, LANES, SUITES, type Suite } from "./table.ts";

let interrupted = false;
const isInterrupted = (): boolean => interrupted;

function choose(names: string[]): readonly Suite[] {
  const unknown = names.filter((name) => !SUITES.some((suite) => suite.name === name));
  if (unknown.length === 0 && names.length === 0) return SUITES;
  if (unknown.length === 0) {
    return SUITES.filter((suite) => suite === BUILD || names.includes(suite.name));
  }
  console.error(`There is no suite ${unknown.join(", ")}; there are: ${SUITES.map((suite) => suite.name).join(", ")}.`);
  process.exit(2);
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    console.error(`\n${signal}: tests stopped.`);
    interrupted = true;
    killRunning();
  });
}

/** Takes suites off the list until there are none. */
async function runLane(waiting: Suite[], results: Result[]): Promise<void> {
  for (let suite = waiting.shift(); suite !== undefined && !interrupted; suite = waiting.shift()) {
    results.push(await runSuite(suite, isInterrupted));
  }
}

const args = process.argv.slice(2);
const waiting = [...choose(args.filter((arg) => arg !== "--once"))];
// Others read what it makes.
const results: Result[] = [await runSuite(waiting.shift() as Suite, isInterrupted)];
await Promise.all(Array.from({ length: LANES }, () => runLane(waiting, results)));
if (!args.includes("--once")) await lookAgain(results, isInterrupted);
if (interrupted) process.exit(130);
process.exitCode = summarize(results);
