import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { ConfigError } from "../errors.ts";
import { HELP, SETTINGS } from "./settings.ts";

export const COMMANDS = ["run", "status", "drain", "unbond", "withdraw", "install-llama"] as const;
export type Command = (typeof COMMANDS)[number];

/** Flags that belong to a command and not to the worker. */
export type CommandFlags = {
  yes: boolean;
  help: boolean;
  json: boolean;
  cancel: boolean;
  to: string | undefined;
  gpu: string | undefined;
};

export type Invocation = {
  command: Command;
  flags: CommandFlags;
  /** Settings by their name in the environment; unset ones are absent. */
  values: Record<string, string>;
};

const SWITCHES = ["yes", "help", "json", "cancel"] as const;
const fileSchema = z.record(
  z.string(),
  z.union([z.string(), z.number(), z.array(z.string()).transform((items) => items.join(","))]),
);

/** Reads command line, environment and configuration file into one set of settings. Throws a ConfigError. */
export function readInvocation(argv: readonly string[], environment: NodeJS.ProcessEnv): Invocation {
  const { values: flags, positionals } = parse(argv);
  const [command = "run", ...rest] = positionals;
  if (!isCommand(command) || rest.length > 0) {
    throw new ConfigError(`unknown command "${positionals.join(" ")}": it is one of ${COMMANDS.join(", ")}. ${HELP}`);
  }
  const named = (name: string): string | undefined => {
    const value = flags[name];
    return typeof value === "string" ? value : undefined;
  };
  const given: Record<string, string> = {};
  for (const { env, flag } of SETTINGS) {
    const value = (flag === null ? undefined : named(flag)) ?? environment[env];
    // An empty variable is how shells and compose files say "not set".
    if (value !== undefined && value !== "") given[env] = value;
  }
  const folder = given["WORKER_DATA_DIR"] ?? ".worker";
  const configFile = named("config") ?? environment["WORKER_CONFIG"];
  const fromFile = readFile(configFile ?? join(folder, "config.json"), configFile !== undefined);
  const [yes, help, json, cancel] = SWITCHES.map((name) => flags[name] === true) as [
    boolean,
    boolean,
    boolean,
    boolean,
  ];
  return {
    command,
    flags: { yes, help, json, cancel, to: named("to"), gpu: named("gpu") },
    values: { ...fromFile, ...given, WORKER_DATA_DIR: folder },
  };
}

function parse(argv: readonly string[]) {
  const names = [...SETTINGS.flatMap(({ flag }) => flag ?? []), "config", "to", "gpu"];
  const options = {
    ...Object.fromEntries(names.map((name) => [name, { type: "string" as const }])),
    ...Object.fromEntries(SWITCHES.map((name) => [name, { type: "boolean" as const }])),
  };
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new ConfigError(`${error instanceof Error ? error.message : error}\n${HELP}`);
  }
}

/** Settings of a configuration file; none if it does not have to be there and is not. */
function readFile(path: string, required: boolean): Record<string, string> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (!required && (error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw new ConfigError(`cannot read the configuration file ${path}: ${(error as Error).message}`);
  }
  let parsed: Record<string, string | number>;
  try {
    parsed = fileSchema.parse(JSON.parse(text));
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message;
    throw new ConfigError(`${path} is not a JSON object of settings: ${reason}`);
  }
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(parsed)) {
    const known = SETTINGS.find(({ flag }) => flag === name);
    if (known === undefined) {
      const names = SETTINGS.flatMap(({ flag }) => flag ?? []).join(", ");
      throw new ConfigError(`${path}: there is no setting "${name}"; the file takes ${names}`);
    }
    values[known.env] = String(value);
  }
  return values;
}

const isCommand = (text: string): text is Command => (COMMANDS as readonly string[]).includes(text);
