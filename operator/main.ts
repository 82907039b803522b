/**
 * The operator's commands: keys, gateways, catalog, governance, workers, treasury, pause and disputes.
 * Commands and environment: --help.
 */
import { CommanderError } from "@commander-js/extra-typings";
import { escapeControls } from "../shared/one-line.ts";
import { redactOutput, redactor, secretsOfDatabaseUrl, secretsOfUrl } from "../shared/redact.ts";
import { StackFileError } from "../shared/stack-file.ts";
import { VerifyError } from "../verify/chain.ts";
import { ConfigError } from "../worker/console.ts";
import { operatorProgram } from "./command.ts";
import { disputes } from "./disputes.ts";
import { economics } from "./economics.ts";
import { models, proposals, protocol, treasury } from "./governance.ts";
import { OperatorError } from "./operator.ts";
import { earnings, keys, operators, reserve, signers, workers } from "./service.ts";

const GROUPS = [
  keys,
  operators,
  signers,
  reserve,
  earnings,
  models,
  proposals,
  workers,
  treasury,
  protocol,
  disputes,
  economics,
];

/** Runs a command, and returns what it prints. Throws a CommanderError for a wrong command line, once it is explained on stderr. */
export async function runOperator(argv: string[], env: NodeJS.ProcessEnv): Promise<string> {
  let output = "";
  const program = operatorProgram(GROUPS, env, (text) => {
    output = text;
  });
  await program.parseAsync(argv, { from: "user" });
  return output;
}

if (import.meta.main) {
  // Errors that are not foreseen are shown as they are, and may quote URLs; results go to stdout as they are.
  const { RPC_URL, DATABASE_URL } = process.env;
  const secrets = [...secretsOfUrl(RPC_URL, "RPC_URL"), ...secretsOfDatabaseUrl(DATABASE_URL, "DATABASE_URL")];
  redactOutput(redactor(secrets), [process.stderr]);
  try {
    console.log(escapeControls(await runOperator(process.argv.slice(2), process.env)));
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has printed the error, or the help, for which its status is 0.
      process.exitCode = error.exitCode === 0 ? 0 : 2;
    } else {
      const known = [OperatorError, VerifyError, ConfigError, StackFileError].some((type) => error instanceof type);
      console.error(known ? escapeControls(`operator: ${(error as Error).message}`) : error);
      process.exitCode = known ? 2 : 1;
    }
  }
}
