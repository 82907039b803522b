/** The operator's program: its commands take arguments by the parsers here, and show, send or propose what they make of them. */
import { Command, type CommandUnknownOpts, InvalidArgumentError } from "@commander-js/extra-typings";
import { type Address, getAddress, type Hex, isAddress, isHex } from "viem";
import { fromApiJobId } from "../protocol/job-id.ts";
import { compactSignature } from "../protocol/messages.ts";
import {
  type Call,
  checkChain,
  type Operator,
  type Output,
  openOperator,
  propose,
  submit,
  toJson,
} from "./operator.ts";

type Awaitable<T> = T | Promise<T>;
/** Makes the handler of a command from `make`, which gets the command's arguments and options after the operator. */
type Handler<Made> = <Given extends unknown[]>(
  make: (operator: Operator, ...given: Given) => Awaitable<Made>,
) => (...given: Given) => Promise<void>;

type Handlers = {
  /** Shows a result. */
  show: Handler<Output>;
  /** The same for a command that needs the database and no chain. */
  showFromDatabase: Handler<Output>;
  /** Sends a call. */
  send: Handler<Call>;
  /** Proposes a call to the vote. */
  propose: Handler<Call>;
};
/** Adds one group of commands to the program. */
export type Group = (program: CommandUnknownOpts, handlers: Handlers) => void;

/** The program with all its groups. `print` gets what a command has to say. */
export function operatorProgram(groups: readonly Group[], env: NodeJS.ProcessEnv, print: (text: string) => void) {
  const program = new Command("npm run operator --")
    .description("Keys, gateways, catalog, governance, workers, treasury, pause and disputes.")
    .option("--json", "print the result as JSON")
    .option("--yes", "send the transaction; without it the transaction is simulated and shown")
    .helpCommand(false)
    .allowExcessArguments(false)
    .exitOverride()
    .showHelpAfterError(
      "`--help` behind a command shows what it takes; `npm run operator -- --help` shows all commands.",
    )
    .configureHelp({
      showGlobalOptions: true,
      // All commands on one page, instead of the names of the groups.
      visibleCommands: ({ parent, commands }) => (parent ? [...commands] : commands.flatMap((group) => group.commands)),
      subcommandTerm: (command) => `${command.parent?.name()} ${command.name()} ${command.usage()}`,
    })
    .addHelpText("after", ENVIRONMENT);

  const handler =
    <Made>(toOutput: (operator: Operator, made: Made) => Awaitable<Output>, readsChain = true): Handler<Made> =>
    (make) =>
    async (...given) => {
      const { json, yes = false } = program.opts();
      const operator = openOperator(env, yes);
      if (readsChain) await checkChain(operator);
      const output = await toOutput(operator, await make(operator, ...given));
      print(json ? toJson(output.json, 2) : output.text);
    };
  const handlers = {
    show: handler<Output>((_, output) => output),
    showFromDatabase: handler<Output>((_, output) => output, false),
    send: handler(submit),
    propose: handler(propose),
  };
  for (const group of groups) group(program, handlers);
  return program;
}

const ENVIRONMENT = `
"vote:" makes a governance proposal, which SVC holders vote on and anyone queues and executes (proposals …). Commands on keys take effect at once.

Environment:
  OPERATOR_PRIVATE_KEY             signs: the guardian's, an arbiter's, an SVC holder's, an operator's admin's, a gateway's or a worker owner's
                                   key, as the command needs
  DATA_DIR                         a local stack's folder (default .data), or instead of it:
  DEPLOYMENT_FILE, RPC_URL, DATABASE_URL, ALLOW_ENDPOINT_NETWORKS   as the gateway has them

Exit status: 0 done (or shown), 1 it failed, 2 it could not be understood or would revert.`;

export const whole = (least: number, most: number) => (text: string) => {
  if (/^\d+$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
  throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
};

/** Percent of the fee, in the contract's twentieths: at most half. */
export function share(text: string): number {
  const twentieths = Number(text) / 5;
  if (/^\d+$/.test(text) && Number.isInteger(twentieths) && twentieths <= 10) return twentieths;
  throw new InvalidArgumentError("It must be a multiple of 5 from 0 to 50.");
}

/** Base units, which may exceed 2^53. */
export function units(text: string): bigint {
  if (/^\d{1,60}$/.test(text) && BigInt(text) > 0n) return BigInt(text);
  throw new InvalidArgumentError("It must be a whole number of base units above 0.");
}

export function address(text: string): Address {
  if (isAddress(text)) return getAddress(text);
  throw new InvalidArgumentError(`"${text}" is not an address (or its checksum is wrong).`);
}

/** As the API writes it, or the bare bytes of the chain. */
export function jobId(text: string): Hex {
  const id = text.toLowerCase();
  if (/^0x[0-9a-f]{32}$/.test(id)) return id as Hex;
  if (/^job_[0-9a-f]{32}$/.test(id)) return fromApiJobId(id) as Hex;
  throw new InvalidArgumentError(`"${text}" is not a job id: job_ and 32 hex digits.`);
}

export function jobIds(text: string, before: Hex[] | undefined): Hex[] {
  return [...(before ?? []), jobId(text)];
}

/** Seconds since 1970. */
export function time(text: string): number {
  if (/T.*(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text))) return Math.floor(Date.parse(text) / 1000);
  throw new InvalidArgumentError("It must be a time with its zone, e.g. 2030-01-31T12:00:00Z.");
}

/** A key and its consent, as `signers consent` prints them. */
export function consent(text: string) {
  const [key = "", signature] = text.split(":");
  if (isHex(signature) && signature.length === 132) return { key: address(key), consent: compactSignature(signature) };
  throw new InvalidArgumentError(
    `"${text}" must be <key>:<consent>, a consent of 65 bytes as \`signers consent\` prints it.`,
  );
}

/** Values with commas between them. */
export const list =
  <T>(read: (text: string) => T) =>
  (text: string): T[] =>
    text.split(",").filter(Boolean).map(read);
