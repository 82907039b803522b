/**
 * `npm run scenario -- <name> [options]`: breaks a whole system under load, and judges what came of it. Without a name it lists all scenarios.
 * Exit status 0 when the verdict holds, 1 when it does not, 2 without the name of a scenario.
 */
import { Command } from "@commander-js/extra-typings";
import { DRILLS } from "../drills/drills.ts";
import { attackers } from "../faults/attackers.ts";
import { chaos, faults, nodes } from "../faults/run.ts";
import { hosts } from "../hosts/hosts.ts";
import { pool } from "../worker/pool/pool.ts";
import { reportOf, type Scenario } from "./scenario.ts";

const SCENARIOS: readonly Scenario[] = [faults, chaos, nodes, attackers, pool, hosts, ...DRILLS];

const note = (line: string): void => console.error(`${new Date().toISOString().slice(11, 19)}  ${line}`);

const program = new Command("npm run scenario --")
  .description("Breaks a whole system under load, and judges what came of it.")
  .helpCommand(false)
  .allowExcessArguments(false)
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .showHelpAfterError("`npm run scenario` lists the scenarios; --help behind a name shows its options.");
for (const { name, does, options, run } of SCENARIOS) {
  const command = program.command(name).description(does);
  for (const [option, value] of Object.entries(options)) {
    const read = (text: string) => (typeof value === "number" ? Number(text) : text);
    command.option(`--${option} <value>`, "", read, value);
  }
  command.action(async (given) => {
    const outcome = await run(given, note);
    console.log(reportOf(name, outcome));
    process.exit(outcome.problems.length === 0 ? 0 : 1);
  });
}
await program.parseAsync();
