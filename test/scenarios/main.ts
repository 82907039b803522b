/**
 * `npm run scenario -- <name> [options]`: breaks a whole system under load, and judges what came of it. Without a name it lists all scenarios.
 * Exit status 0 when the verdict holds, 1 when it does not, 2 without the name of a scenario.
 */
import { parseArgs } from "node:util";
import { DRILLS } from "../drills/drills.ts";
import { attackers } from "../faults/attackers.ts";
import { chaos, faults, nodes } from "../faults/run.ts";
import { hosts } from "../hosts/hosts.ts";
import { pool } from "../worker/pool/pool.ts";
import { reportOf, type Scenario } from "./scenario.ts";

const SCENARIOS: readonly Scenario[] = [faults, chaos, nodes, attackers, pool, hosts, ...DRILLS];

const [name, ...args] = process.argv.slice(2);
const scenario = SCENARIOS.find((one) => one.name === name);
if (scenario === undefined) {
  console.error("usage: npm run scenario -- <name> [options]\n");
  for (const { name, does, options } of SCENARIOS) {
    const shown = Object.entries(options).map(([option, value]) => `--${option} ${value || "…"}`);
    console.error(`  ${name.padEnd(14)} ${does}\n${" ".repeat(17)}${shown.join(" ")}`);
  }
  process.exit(2);
}
const defaults = Object.entries(scenario.options);
const options = Object.fromEntries(defaults.map(([option]) => [option, { type: "string" as const }]));
const { values } = parseArgs({ args, options });
const given = defaults.map(([option, value]) => [
  option,
  typeof value === "number" ? Number(values[option] ?? value) : (values[option] ?? value),
]);
const note = (line: string): void => console.error(`${new Date().toISOString().slice(11, 19)}  ${line}`);
const outcome = await scenario.run(Object.fromEntries(given), note);
console.log(reportOf(scenario.name, outcome));
process.exit(outcome.problems.length === 0 ? 0 : 1);
