/**
 * `npm run drill -- <name> [--rate 10 --before <commit> --only <parts of faults>]`
 *
 * What docs/operations has an operator do, done by a script on a real system under load: two gateways behind a load balancer, clients that
 * never stop asking. Prints each step with its time, requests and failures. Exit status 0 when the verdict of the fault suite holds.
 * `--rate` sets the requests a second of all clients; `--before` names the version before this one, `--only` the
 * faults of `alerts`.
 */
import { parseArgs } from "node:util";
import { alerts } from "./alerts.ts";
import { type Drill, run } from "./drill.ts";
import { exchange } from "./exchange.ts";
import { newIndex } from "./new-index.ts";
import { reorganise } from "./reorganise.ts";
import { restore } from "./restore.ts";
import { rotate } from "./rotate.ts";
import { stolen } from "./stolen.ts";

const DRILLS: readonly Drill[] = [exchange, rotate, restore, newIndex, reorganise, stolen, alerts];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rate: { type: "string", default: "10" },
    before: { type: "string", default: "HEAD~1" },
    only: { type: "string", default: "" },
  },
});
const drill = DRILLS.find(({ name }) => name === positionals[0]);
if (drill === undefined) {
  console.error("usage: npm run drill -- <name> [--rate 10 --before <commit> --only <parts of faults>]\n");
  for (const { name, does } of DRILLS) console.error(`  ${name.padEnd(16)} ${does}`);
  process.exit(2);
}
const note = (line: string): void => console.error(`${new Date().toISOString().slice(11, 19)}  ${line}`);
const { before, only } = values;
const { steps, failures, ...result } = await run(drill, { rate: Number(values.rate), before, only, note });
console.log(`\n| step | seconds | requests | failed |\n| --- | ---: | ---: | ---: |`);
for (const { what, seconds, requests, failed } of steps)
  console.log(`| ${what} | ${seconds.toFixed(1)} | ${requests} | ${failed} |`);
console.log(`\n${JSON.stringify(result, null, 2)}`);
for (const failure of failures) console.log(`failed: ${failure}`);
const { problems } = result;
console.log(problems.length === 0 ? `verdict: ${drill.name} holds` : `verdict: ${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
