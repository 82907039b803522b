#!/usr/bin/env node
/** The command `verify`: in the repository `npm run verify-job`. */
import { escapeControls } from "../shared/one-line.ts";
import { redactOutput, redactor, secretsOfUrl } from "../shared/redact.ts";
import { StackFileError } from "../shared/stack-file.ts";
import { VerifyError } from "./chain.ts";
import { readOptions, USAGE, verify } from "./command.ts";

/** How often a long audit says how far it is. */
const PROGRESS_MS = 2_000;

try {
  const options = readOptions(process.argv.slice(2), process.env);
  if (options === null) {
    console.log(USAGE);
  } else {
    // Errors that are not foreseen are shown as they are, and may quote the node's URL.
    redactOutput(redactor(secretsOfUrl(options.rpcUrl, "--rpc")), [process.stderr]);
    let told = performance.now();
    const tell = (line: string): void => {
      if (performance.now() - told < PROGRESS_MS) return;
      told = performance.now();
      console.error(line);
    };
    const { holds, json, text } = await verify({ ...options, tell });
    console.log(options.json ? escapeControls(JSON.stringify(json, null, 2)) : escapeControls(text));
    process.exitCode = holds ? 0 : 1;
  }
} catch (error) {
  const isKnown = error instanceof VerifyError || error instanceof StackFileError;
  console.error(isKnown ? escapeControls(`cmi-verify: ${error.message}`) : error);
  process.exitCode = 2;
}
