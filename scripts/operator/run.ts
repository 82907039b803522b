import { parseArgs } from "node:util";
import { firstLine } from "../verify/errors.ts";
import { findCommand, USAGE } from "./commands.ts";
import { Operator } from "./context.ts";
import { OperatorError } from "./errors.ts";

const TEXT = { type: "string" } as const;
const SWITCH = { type: "boolean" } as const;
const OPTIONS = {
  json: SWITCH,
  yes: SWITCH,
  all: SWITCH,
  help: { type: "boolean", short: "h" },
  parameters: TEXT,
  "owned-by": TEXT,
  tier: TEXT,
  "per-request": TEXT,
  "per-1k": TEXT,
  "context-window": TEXT,
  at: TEXT,
  "workers-file": TEXT,
  add: TEXT,
  remove: TEXT,
} as const;

/** Runs one command; returns what it prints. */
export async function runOperator(argv: string[], env: NodeJS.ProcessEnv): Promise<string> {
  const { values, positionals } = parse(argv);
  if (values.help || positionals.length === 0) return USAGE;
  const [group, name, ...args] = positionals;
  const command = findCommand(group, name);
  if (command === null) throw new OperatorError(`there is no command "${[group, name].join(" ").trim()}"\n\n${USAGE}`);
  checkUsage(command.usage, args, Object.keys(values));
  const operator = Operator.read({ ...values }, env);
  if (!command.database) await operator.checkChain();
  const { text, json } = await command.run(operator, args);
  return values.json
    ? JSON.stringify(json, (_, value) => (typeof value === "bigint" ? String(value) : value), 2)
    : text;
}

function parse(argv: string[]) {
  try {
    return parseArgs({ args: argv, allowPositionals: true, options: OPTIONS });
  } catch (error) {
    throw new OperatorError(`${firstLine(error)}\n\n${USAGE}`);
  }
}

/** What a command does not know is a mistake, not something to ignore. */
function checkUsage(usage: string, args: readonly string[], given: readonly string[]): void {
  const [, , ...rest] = usage.split(/ \[?--/)[0]?.split(" ") ?? [];
  const wanted = rest
    .join(" ")
    .replaceAll(/<[^>]*>/g, "x")
    .split(" ")
    .filter(Boolean).length;
  const unknown = given.filter((flag) => !["json", "yes", "help"].includes(flag) && !usage.includes(`--${flag}`));
  // "…" at the end: that argument, once or more often.
  const isWrong = usage.endsWith("…") ? args.length < wanted : args.length !== wanted;
  if (isWrong || unknown.length > 0) throw new OperatorError(`usage: npm run operator -- ${usage}`);
}
