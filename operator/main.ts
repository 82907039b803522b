/**
 * The operator's commands: keys, gateways, catalog, governance, workers, treasury, pause and disputes.
 * Commands and environment: --help.
 */
import { parseArgs } from "node:util";
import { redactOutput, redactor, secretsOfDatabaseUrl, secretsOfUrl } from "../shared/redact.ts";
import { StackFileError } from "../shared/stack-file.ts";
import { firstLine, VerifyError } from "../verify/chain.ts";
import { ConfigError } from "../worker/console.ts";
import { type Command, readGiven } from "./command.ts";
import { DISPUTES } from "./disputes.ts";
import { ECONOMICS } from "./economics.ts";
import { MODELS, PROPOSALS, PROTOCOL, TREASURY } from "./governance.ts";
import { checkChain, OperatorError, openOperator, propose, submit, toJson } from "./operator.ts";
import { KEYS, OPERATORS, RESERVE, SIGNERS, WORKERS } from "./service.ts";

const GROUPS = [KEYS, OPERATORS, SIGNERS, RESERVE, MODELS, PROPOSALS, WORKERS, TREASURY, PROTOCOL, DISPUTES, ECONOMICS];
const COMMANDS: readonly Command[] = GROUPS.flat();

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

/** Every option that a usage names; one at the end of its usage has no value. */
const OPTIONS = Object.fromEntries(
  COMMANDS.flatMap(({ usage }) => [...usage.matchAll(/--([\w-]+)(?= ?([^\]\s]*))/g)]).map(
    ([, name = "", value]) => [name, { type: value ? ("string" as const) : ("boolean" as const) }] as const,
  ),
);
const COMMON = { json: { type: "boolean" }, yes: { type: "boolean" }, help: { type: "boolean", short: "h" } } as const;

export async function runOperator(argv: string[], env: NodeJS.ProcessEnv): Promise<string> {
  const { values, positionals } = parse(argv);
  const { json = false, yes = false, help = false, ...flags } = values;
  const [group, name, ...words] = positionals;
  if (help || group === undefined) return USAGE;
  const command = COMMANDS.find(({ usage }) => `${usage} `.startsWith(`${group} ${name} `));
  if (command === undefined) {
    throw new OperatorError(`there is no command "${[group, name].join(" ").trim()}"\n\n${USAGE}`);
  }
  const { action } = command;
  const given = readGiven(command, words, flags);
  const operator = openOperator(env, yes);
  if (!("database" in action)) await checkChain(operator);
  const output =
    "show" in action
      ? await action.show(operator, given)
      : "send" in action
        ? await submit(operator, await action.send(operator, given))
        : await propose(operator, await action.propose(operator, given));
  return json ? toJson(output.json, 2) : output.text;
}

function parse(argv: string[]) {
  try {
    return parseArgs({ args: argv, allowPositionals: true, options: { ...OPTIONS, ...COMMON } });
  } catch (error) {
    throw new OperatorError(`${firstLine(error)}\n\n${USAGE}`);
  }
}

if (import.meta.main) {
  // Errors that are not foreseen are shown as they are, and may quote URLs; results go to stdout as they are.
  const { RPC_URL, DATABASE_URL } = process.env;
  const secrets = [...secretsOfUrl(RPC_URL, "RPC_URL"), ...secretsOfDatabaseUrl(DATABASE_URL, "DATABASE_URL")];
  redactOutput(redactor(secrets), [process.stderr]);
  try {
    console.log(await runOperator(process.argv.slice(2), process.env));
  } catch (error) {
    const known = [OperatorError, VerifyError, ConfigError, StackFileError].some((type) => error instanceof type);
    console.error(known ? `operator: ${(error as Error).message}` : error);
    process.exitCode = known ? 2 : 1;
  }
}
