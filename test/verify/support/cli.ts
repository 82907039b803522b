/** The commands as a person runs them: a process, its output, its exit status. */
import { once } from "node:events";
import { readOptions, verify } from "../../../verify/command.ts";
import { start } from "../../worker/support/processes.ts";

type CommandResult = { code: number | null; output: string };

export async function run(script: string, args: string[], env: Record<string, string> = {}): Promise<CommandResult> {
  const running = start(process.execPath, [script, ...args], env);
  if (running.child.exitCode === null) await once(running.child, "close");
  return { code: running.child.exitCode, output: running.output() };
}

export const verifyJob = (args: string[], env: Record<string, string> = {}) => run("verify/main.ts", args, env);

/** What `--json` prints, and the exit status, without a process of its own: the arguments are read by the command's own code. */
export async function verifyJson(args: string[], env: Record<string, string> = {}) {
  const options = readOptions([...args, "--json"], env);
  if (options === null) throw new Error("asked for help");
  const { holds, json } = await verify(options);
  // biome-ignore lint/suspicious/noExplicitAny: the report of a job or of a range; the tests look at single fields
  return { code: holds ? 0 : 1, report: JSON.parse(JSON.stringify(json)) as any };
}

/** Ids of the checks that fail. */
export const failing = (checks: { id: string; holds: boolean }[]): string[] =>
  checks.filter(({ holds }) => !holds).map(({ id }) => id);
