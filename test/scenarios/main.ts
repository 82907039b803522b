/**
 * `npm run scenario -- <name> [options]`: breaks a whole system under load, and judges what came of it. Without a name it lists all scenarios.
 * Exit status 0 when the verdict holds, 1 when it does not, 2 without the name of a scenario.
 */
import { parseArgs } from "node:util";
import { DRILLS } from "../drills/drills.ts";
import { attackers } from "../faults/attackers.ts";
import { chaos, faults } from "../faults/run.ts";
import { hosts } from "../hosts/hosts.ts";
import { pool } from "../worker/pool/pool.ts";
import { reportOf, type Scenario } from "./scenario.ts";

const SCENARIOS: readonly Scenario[] = [faults, chaos, attackers, pool, hosts, ...DRILLS];

function usage(): string {
  const option = ([name, value]: [string, string]): string => (value === "" ? ` --${name} …` : ` --${name} ${value}`);
  const lines = SCENARIOS.map(
    ({ name, does, options }) =>
      `  ${name.padEnd(12)} ${does}\n${" ".repeat(14)}${Object.entries(options).map(option).join("")}`,
  );
  return `usage: npm run scenario -- <name> [options]\n\n${lines.join("\n")}`;
}

const [name, ...args] = process.argv.slice(2);
const scenario = SCENARIOS.find((one) => one.name === name);
if (scenario === undefined) {
  console.error(usage());
  process.exit(2);
}
const options = Object.fromEntries(
  Object.keys(scenario.options).map((option) => [option, { type: "string" as const }]),
);
const given = { ...scenario.options, ...(parseArgs({ args, options }).values as Record<string, string>) };
const outcome = await scenario.run(given, (line) =>
  console.error(`${new Date().toISOString().slice(11, 19)}  ${line}`),
);
console.log(reportOf(scenario, outcome));
process.exit(outcome.problems.length === 0 ? 0 : 1);
