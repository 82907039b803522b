#!/usr/bin/env node
/** The worker: `cmi-worker --backend URL --models id,id`, in the repository `npm run worker --`. `--help` names every command and setting. */
import { escapeControls } from "../shared/one-line.ts";
import type { Redact } from "../shared/redact.ts";
import { claimDataDir, drain, formatStatus, readStatus, unbond, withdraw } from "./cli/commands.ts";
import { withModelServer } from "./cli/local.ts";
import { withService } from "./cli/service.ts";
import { hiding, type Invocation, parseConfig, readInvocation, USAGE } from "./config.ts";
import { ConfigError, Terminal } from "./console.ts";
import { serve } from "./worker.ts";

/** Takes secrets out of what the operator is told; the settings are known once they were read. */
let redact: Redact = (text) => text;

async function main(): Promise<void> {
  const invocation = readInvocation(process.argv.slice(2), process.env);
  const { command, flags, values } = invocation;
  const terminal = new Terminal((text) => redact(text));
  if (flags.help) return void process.stdout.write(USAGE);
  const settings = await withService(values, terminal);
  if (command === "run") return run({ ...invocation, values: settings }, terminal);
  // A command that needs no models must not ask for them.
  const config = parseConfig({ WORKER_MODELS: "none", ...settings });
  redact = hiding(config);
  if (command === "status") {
    const status = await readStatus(config);
    process.stdout.write(`${escapeControls(flags.json ? JSON.stringify(status, null, 2) : formatStatus(status))}\n`);
  } else if (command === "drain") await drain(config, terminal);
  else if (command === "unbond") await unbond(config, flags, terminal);
  else await withdraw(config, flags, terminal);
}

async function run(invocation: Invocation, terminal: Terminal): Promise<void> {
  const config = parseConfig(await withModelServer(invocation.values, process.env, terminal));
  redact = hiding(config);
  const release = claimDataDir(config.dataDir);
  process.on("exit", release);
  await serve(config, invocation, terminal);
}

try {
  await main();
} catch (error) {
  // For an operator at a terminal: one plain message.
  const cause =
    error instanceof Error && error.cause instanceof Error && !(error instanceof ConfigError)
      ? ` (${error.cause.message.split("\n")[0]})`
      : "";
  console.error(escapeControls(redact(`worker: ${error instanceof Error ? error.message : error}${cause}`)));
  process.exit(1);
}
