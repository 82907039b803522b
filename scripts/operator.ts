/**
 * The operator's commands: keys, gateways, catalog, governance, workers, treasury, pause and disputes.
 * Commands and environment: --help.
 */
import { redactOutput, redactor, secretsOfDatabaseUrl, secretsOfUrl } from "../shared/redact.ts";
import { VerifyError } from "../verify/chain.ts";
import { ConfigError } from "../worker/console.ts";
import { OperatorError } from "./operator/operator.ts";
import { runOperator } from "./operator/run.ts";

// Errors that are not foreseen are shown as they are, and may quote URLs; results go to stdout as they are.
const { RPC_URL, DATABASE_URL } = process.env;
const secrets = [...secretsOfUrl(RPC_URL, "RPC_URL"), ...secretsOfDatabaseUrl(DATABASE_URL, "DATABASE_URL")];
redactOutput(redactor(secrets), [process.stderr]);

try {
  console.log(await runOperator(process.argv.slice(2), process.env));
} catch (error) {
  const known = [OperatorError, VerifyError, ConfigError].some((type) => error instanceof type);
  console.error(known ? `operator: ${(error as Error).message}` : error);
  process.exitCode = known ? 2 : 1;
}
