/**
 * Recomputes a job, all jobs of a transaction, or a range of blocks from the chain alone: no API, no index, no database.
 * Usage and exit status: verify/command.ts, or --help.
 */
import { redactOutput, redactor, secretsOfUrl } from "../shared/redact.ts";
import { VerifyError } from "../verify/chain.ts";
import { readOptions, USAGE, verify } from "../verify/command.ts";

try {
  const options = readOptions(process.argv.slice(2), process.env);
  if (options === null) {
    console.log(USAGE);
  } else {
    // Errors that are not foreseen are shown as they are, and may quote the node's URL.
    redactOutput(redactor(secretsOfUrl(options.rpcUrl, "--rpc")), [process.stderr]);
    const { holds, json, text } = await verify(options);
    console.log(options.json ? JSON.stringify(json, null, 2) : text);
    process.exitCode = holds ? 0 : 1;
  }
} catch (error) {
  console.error(error instanceof VerifyError ? `verify-job: ${error.message}` : error);
  process.exitCode = 2;
}
