/** Every command of the operator: how it is called, found and run. */
import { parseArgs } from "node:util";
import { firstLine } from "../../verify/chain.ts";
import { DISPUTES, MODELS, PROPOSALS, PROTOCOL, TREASURY } from "./governance.ts";
import { KEYS } from "./keys.ts";
import { type Command, type Flags, Operator, OperatorError, type Output, toJson } from "./operator.ts";
import { OPERATORS, RESERVE, SIGNERS, WORKERS } from "./service.ts";

const COMMANDS: readonly Command[] = [
  KEYS,
  OPERATORS,
  SIGNERS,
  RESERVE,
  MODELS,
  PROPOSALS,
  WORKERS,
  TREASURY,
  PROTOCOL,
  DISPUTES,
].flat();

const width = Math.max(...COMMANDS.map(({ usage }) => Math.min(usage.length, 48)));

/** A long usage has its explanation on the next line. */
const line = ({ usage, does }: Command): string =>
  usage.length <= width ? `  ${usage.padEnd(width)}  ${does}` : `  ${usage}\n  ${" ".repeat(width)}  ${does}`;

const USAGE = `npm run operator -- <command> [--json] [--yes]

${COMMANDS.map(line).join("\n")}

Nothing is sent to the chain without --yes: what would be sent is simulated and shown. "vote:" makes a governance proposal, which
SVC holders vote on and anyone queues and executes (proposals …). Commands on keys take effect at once.

  --json   the result as JSON
  --yes    send the transaction

  OPERATOR_PRIVATE_KEY             signs: the guardian's, an arbiter's, an SVC holder's, an operator's admin's, a gateway's or a worker owner's
                                   key, as the command needs
  DATA_DIR                         a local stack's folder (default .data), or instead of it:
  DEPLOYMENT_FILE, RPC_URL, DATABASE_URL   as the gateway has them

Exit status: 0 done (or shown), 1 it failed, 2 it could not be understood or would revert.`;

const OWN_OPTIONS = ["json", "yes", "help"];
/** Every option that a usage names; `--all` alone has no value. */
const OPTIONS = Object.fromEntries([
  ...OWN_OPTIONS.map((name) => [name, { type: "boolean" as const, ...(name === "help" && { short: "h" }) }] as const),
  ...COMMANDS.flatMap(({ usage }) => [...usage.matchAll(/--([\w-]+)(?= ?([^\]\s]*))/g)]).map(
    ([, name = "", value]) => [name, { type: value ? ("string" as const) : ("boolean" as const) }] as const,
  ),
]);

/** Runs one command; returns what it prints. */
export async function runOperator(argv: string[], env: NodeJS.ProcessEnv): Promise<string> {
  const { values, positionals } = parse(argv);
  if (values["help"] || positionals.length === 0) return USAGE;
  const [group, name, ...args] = positionals;
  const command = COMMANDS.find(({ usage }) => usage.split(" ").slice(0, 2).join(" ") === `${group} ${name}`);
  if (command === undefined) {
    throw new OperatorError(`there is no command "${[group, name].join(" ").trim()}"\n\n${USAGE}`);
  }
  checkUsage(command.usage, args, Object.keys(values));
  const operator = new Operator(values, env);
  if (!("database" in command)) await operator.checkChain();
  const { text, json } = await run(command, operator, args);
  return values["json"] ? toJson(json, 2) : text;
}

async function run(command: Command, operator: Operator, args: readonly string[]): Promise<Output> {
  if ("show" in command) return await command.show(operator, args);
  if ("send" in command) return await operator.submit(await command.send(operator, args));
  return await operator.propose(await command.propose(operator, args));
}

function parse(argv: string[]): { values: Flags; positionals: string[] } {
  try {
    return parseArgs({ args: argv, allowPositionals: true, options: OPTIONS }) as never;
  } catch (error) {
    throw new OperatorError(`${firstLine(error)}\n\n${USAGE}`);
  }
}

/** What a command does not know is a mistake, not something to ignore. */
function checkUsage(usage: string, args: readonly string[], given: readonly string[]): void {
  const [positionals = ""] = usage.split(/ \[?--/);
  const wanted = positionals.replaceAll(/<[^>]*>/g, "x").split(" ").length - 2;
  const unknown = given.filter((flag) => !OWN_OPTIONS.includes(flag) && !usage.includes(`--${flag}`));
  // "…" at the end: that argument, once or more often.
  const isWrong = usage.endsWith("…") ? args.length < wanted : args.length !== wanted;
  if (isWrong || unknown.length > 0) throw new OperatorError(`usage: npm run operator -- ${usage}`);
}
