/** A worker's settings: one table of flags, variables and what each may be; and how command line, environment and file are read. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Address, Hex } from "viem";
import { z } from "zod";
import { DEV_CHAIN_ID } from "../protocol/deployment.ts";
import { ABILITIES, ALWAYS_REASONING, DECLARATIONS, type Declaration } from "../protocol/dispatch.ts";
import { isNodeUrl, NODE_URL_HELP } from "../shared/node-url.ts";
import { LOCK_SEEN } from "../shared/preconfirmation-limit.ts";
import { type Redact, redactor, secretsOfUrl } from "../shared/redact.ts";
import { dataDirOf, readStackFile } from "../shared/stack-file.ts";
import { parseNames } from "./catalog-names.ts";
import { COMMAND, ConfigError } from "./console.ts";

/**
 * `flag` is the name on the command line and in the configuration file. Secrets have none: other users of the machine can see flags.
 */
type Setting = { env: string; flag: string | null; value: string; help: string };
const documented = z.registry<Setting>();

/** `usage`: the variable, then the flag and what it takes. */
function setting<S extends z.ZodType>(usage: string, help: string, schema: S): S {
  const [env = "", flag, value = ""] = usage.split(" ");
  documented.add(schema, { env, flag: flag?.slice(2) ?? null, value, help });
  return schema;
}

const whole = (min: number, max: number) => z.coerce.number().int().min(min).max(max);
const seconds = z.coerce.number().min(0);
const text = z.string().min(1);
const key = z.custom<Hex>(
  (v) => typeof v === "string" && /^0x[0-9a-fA-F]{64}$/.test(v),
  "must be 0x and 64 hex digits",
);
const address = z.custom<Address>((v) => typeof v === "string" && /^0x[0-9a-fA-F]{40}$/.test(v), "must be an address");
const url = z.url({ protocol: /^https?$/, error: "must be an http(s) URL" });
/** Null where it is not set. */
const optional = <S extends z.ZodType>(schema: S) => schema.nullable().default(null);

/** In the order in which `--help` shows them. */
const schema = z.object({
  backend: setting(
    "WORKER_BACKEND --backend URL",
    "base URL of an OpenAI-compatible server, e.g. http://127.0.0.1:8000/v1; or builtin (default: beside a local stack, the model server found on this machine)",
    z.union([z.literal("builtin"), url], 'must be "builtin" or an http(s) URL').default("builtin"),
  ),
  backendKey: setting("WORKER_BACKEND_KEY", "bearer key of that server", optional(text)),
  /** Catalog id → name at the backend. */
  models: setting(
    "WORKER_MODELS --models ID,ID",
    "catalog ids to host; id=name where the backend has another name (default: beside a local stack, all that the server serves)",
    z
      .string({ error: "is needed: the catalog ids to host, e.g. --models qwen3-8b" })
      .transform((list): ReadonlyMap<string, string> => parseNames(list))
      .refine(
        (names) => names.size > 0,
        "names no model: use catalog-id or catalog-id=name-at-the-server, with commas",
      ),
  ),
  abilities: setting(
    "WORKER_ABILITIES --abilities LIST",
    `what the model server does beyond text: ${DECLARATIONS.join(", ")}, or none; id=ability for one model (default none; the built-in generator's: ${ABILITIES.join(", ")})`,
    optional(z.string().transform(parseAbilities)),
  ),
  /** The URL at which gateways reach the worker. */
  endpoint: setting(
    "WORKER_ENDPOINT --endpoint URL",
    "where gateways reach this worker (https; on a development chain http://127.0.0.1:PORT)",
    optional(url.max(200)),
  ),
  service: setting(
    "WORKER_SERVICE --service URL",
    "service to join: its contracts, and its public node unless --rpc-url names yours",
    optional(url),
  ),
  rpcUrl: setting(
    "RPC_URL --rpc-url URL",
    "node of the settlement chain (default: the service's or the local stack's, or http://127.0.0.1:8545)",
    url.refine(isNodeUrl, NODE_URL_HELP).default("http://127.0.0.1:8545"),
  ),
  rpcUrls: setting(
    "RPC_URLS --rpc-urls LIST",
    "more nodes of that chain, comma separated: asked while the first is silent or behind",
    z
      .string()
      .default("")
      .transform((list) => list.split(",").filter((one) => one !== ""))
      .refine((all) => all.every((one) => url.safeParse(one).success && isNodeUrl(one)), NODE_URL_HELP),
  ),
  deploymentFile: setting(
    "DEPLOYMENT_FILE --deployment FILE",
    "addresses of the contracts (default: the service's, kept in the data folder, or those of the local stack in DATA_DIR)",
    text,
  ),
  dataDir: setting(
    "WORKER_DATA_DIR --data-dir DIR",
    "key, configuration and unsettled answers (default .worker; beside a local stack, worker in its DATA_DIR)",
    text.default(".worker"),
  ),
  port: setting(
    "WORKER_PORT --port N",
    "port to listen on (default 9101; with a local stack, the first after its workers)",
    whole(0, 65_535).default(9101),
  ),
  host: setting(
    "WORKER_HOST --host HOST",
    "address to listen on (default 127.0.0.1; 0.0.0.0 for all)",
    text.default("127.0.0.1"),
  ),
  concurrency: setting("WORKER_CONCURRENCY --concurrency N", "jobs at once (default 32)", whole(1, 10_000).default(32)),
  queue: setting(
    "WORKER_QUEUE --queue N",
    "jobs that may wait; beyond that they are refused (default 64)",
    whole(0, 100_000).default(64),
  ),
  payout: setting("WORKER_PAYOUT --payout ADDRESS", "who is paid (default: the owner)", optional(address)),
  /** In SVC. */
  stake: setting(
    "WORKER_STAKE --stake SVC",
    "stake to hold (default: twice the minimum)",
    optional(z.coerce.number().positive().max(100_000_000)),
  ),
  privateKey: setting(
    "WORKER_PRIVATE_KEY",
    "signing key, instead of the encrypted one in the data folder",
    optional(key),
  ),
  ownerKey: setting("WORKER_OWNER_PRIVATE_KEY", "owner of stake and payout (default: the signing key)", optional(key)),
  passphrase: setting("WORKER_PASSPHRASE", "passphrase of the encrypted key", optional(z.string())),
  passphraseFile: setting("WORKER_PASSPHRASE_FILE --passphrase-file FILE", "file that holds it", optional(z.string())),
  /** Counted from the final token. */
  selfSettleAfter: setting(
    "WORKER_SELF_SETTLE_AFTER",
    "seconds after its end at which the worker proves a job itself (default: when half the time is left)",
    optional(seconds),
  ),
  acknowledgeMargin: setting(
    "WORKER_ACKNOWLEDGE_MARGIN",
    "seconds before its deadline at which the worker relays its acknowledgement (default 5)",
    seconds.default(5),
  ),
  /** A reorganisation may take the settlement back. */
  keepSettledSeconds: setting(
    "WORKER_KEEP_SETTLED_SECONDS",
    "seconds that an answer is kept after its settlement (default 15)",
    seconds.default(15),
  ),
  settlementPollMs: setting(
    "WORKER_SETTLEMENT_POLL_MS",
    "milliseconds between two looks at unsettled jobs (default 2000)",
    whole(50, 60_000).default(2_000),
  ),
  lockWaitMs: setting(
    "WORKER_LOCK_WAIT_MS",
    "milliseconds to wait for a lock that the node does not show yet (default 2000)",
    whole(0, 30_000).default(2_000),
  ),
  lockSeen: setting(
    "WORKER_LOCK_SEEN --lock-seen WHERE",
    "latest, or preconfirmed: begin when the sequencer promises the lock; a broken promise is work for nothing (default latest)",
    z.enum(LOCK_SEEN).default("latest"),
  ),
  preconfirmedJobCredits: setting(
    "WORKER_PRECONFIRMED_JOB_CREDITS",
    "most credits of a job that begins so; a larger one waits for the block (default 100)",
    whole(1, 1_000_000_000).default(100),
  ),
  preconfirmedCredits: setting(
    "WORKER_PRECONFIRMED_CREDITS",
    "most credits of all such jobs until their locks are mined; others wait for the block (default 5000)",
    whole(1, 1_000_000_000).default(5_000),
  ),
  drainSeconds: setting(
    "WORKER_DRAIN_SECONDS",
    "seconds that running jobs may take at a stop (default 130)",
    seconds.default(130),
  ),
  tokensPerSecond: setting(
    "WORKER_TOKENS_PER_SECOND",
    "speed of the built-in generator (default 0: unlimited)",
    seconds.default(0),
  ),
  firstTokenMs: setting(
    "WORKER_FIRST_TOKEN_MS",
    "its pause before the first token, in milliseconds (default 0)",
    whole(0, 600_000).default(0),
  ),
  logLevel: setting(
    "WORKER_LOG_LEVEL --log-level LEVEL",
    "fatal, error, warn, info, debug, trace or silent (default info)",
    z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
  ),
});

/** Every setting of a worker, by its name in {@link Config}. */
export const SETTINGS: readonly (Setting & { name: string })[] = Object.entries(schema.shape).map(([name, field]) => ({
  name,
  ...(documented.get(field) as Setting),
}));

/** The source of the answers: the built-in generator or a model server. */
type BackendConfig =
  | { kind: "builtin"; tokensPerSecond: number; firstTokenMs: number }
  | { kind: "openai"; url: string; key: string | null };

type Derived =
  | "abilities"
  | "backend"
  | "backendKey"
  | "tokensPerSecond"
  | "firstTokenMs"
  | "passphrase"
  | "passphraseFile";
export type Config = Omit<z.infer<typeof schema>, Derived> & {
  /** The abilities of the model server beyond text, by catalog id. */
  abilities: ReadonlyMap<string, Declaration[]>;
  backend: BackendConfig;
  passphrase: { text: string | null; file: string | null };
};

/** Reads flags, environment and file; flags win. Throws a ConfigError that names every bad value. */
export function readConfig(argv: readonly string[], environment: NodeJS.ProcessEnv): Config {
  return parseConfig(readInvocation(argv, environment).values);
}

/** Checks settings, given by their variables. Throws a ConfigError that names every bad one and quotes none. */
export function parseConfig(values: Record<string, string>): Config {
  const given: Record<string, string | undefined> = { ...stackSettings(values), ...values };
  const result = schema.safeParse(Object.fromEntries(SETTINGS.map(({ name, env }) => [name, given[env]])));
  if (!result.success) {
    const lines = result.error.issues.map(({ path, message }) => `  ${shownName(String(path[0]))}: ${message}`);
    throw new ConfigError(`these settings of the worker are wrong:\n${lines.join("\n")}\n${HELP}`);
  }
  const { backend, backendKey, tokensPerSecond, firstTokenMs, passphrase, passphraseFile, abilities, ...rest } =
    result.data;
  const declared: Declared[] =
    abilities ?? (backend === "builtin" ? ABILITIES.map((ability) => ({ model: null, ability })) : []);
  const stranger = declared.find(({ model }) => model !== null && !rest.models.has(model));
  if (stranger !== undefined) {
    throw new ConfigError(
      `${shownName("abilities")}: ${stranger.model} is not among the models of this worker. ${HELP}`,
    );
  }
  const of = (id: string) => {
    const named = declared.flatMap(({ model, ability }) => ((model ?? id) === id ? [ability] : []));
    // A model that always reasons has the ability `reasoning` as well.
    return DECLARATIONS.filter(
      (one) => named.includes(one) || (one === "reasoning" && named.includes(ALWAYS_REASONING)),
    );
  };
  return {
    ...rest,
    abilities: new Map([...rest.models.keys()].map((id) => [id, of(id)])),
    passphrase: { text: passphrase, file: passphraseFile },
    backend:
      backend === "builtin"
        ? { kind: "builtin", tokensPerSecond, firstTokenMs }
        : { kind: "openai", url: backend, key: backendKey },
  };
}

/** Node, contracts and a free port of the local stack in DATA_DIR, as far as the settings do not name a chain of their own. */
function stackSettings({ DATA_DIR, RPC_URL, DEPLOYMENT_FILE }: Record<string, string>): Record<string, string> {
  if (RPC_URL !== undefined && DEPLOYMENT_FILE !== undefined) return {};
  let found: ReturnType<typeof readStackFile>;
  try {
    found = readStackFile({ DATA_DIR });
  } catch (error) {
    throw new ConfigError((error as Error).message);
  }
  const { file, stack } = found;
  const node: Record<string, string> = stack?.rpc_url === undefined ? {} : { RPC_URL: stack.rpc_url };
  if (DEPLOYMENT_FILE !== undefined) return node;
  if (stack?.deployment_file === undefined) {
    throw new ConfigError(
      `--service (WORKER_SERVICE) is needed, the address of the service to join: there is no local stack's ${file} to take the contracts from. ` +
        `Or set --deployment (DEPLOYMENT_FILE), the service's deployment.json, with --rpc-url (RPC_URL) for your node; or set DATA_DIR to the data folder of a stack (npm start writes stack.json there).\n${HELP}`,
    );
  }
  const port: Record<string, string> = stack.worker_port === undefined ? {} : { WORKER_PORT: `${stack.worker_port}` };
  return { ...node, ...port, DEPLOYMENT_FILE: stack.deployment_file };
}

/** Customers pay for a model's answers: outside of development the text generator must be asked for by name. Throws a ConfigError. */
export function demandBackend(values: Record<string, string>, chainId: number): void {
  if (values["WORKER_BACKEND"] !== undefined || chainId === DEV_CHAIN_ID) return;
  throw new ConfigError(
    "--backend (WORKER_BACKEND) is needed: the base URL of your model server, such as http://127.0.0.1:8000/v1",
  );
}

type Secrets = Pick<Config, "rpcUrl" | "rpcUrls" | "backend" | "privateKey" | "ownerKey" | "passphrase">;

/** Takes the secrets among the settings out of a text: keys, the passphrase, and those in the URLs of node and model server. */
export function hiding({ rpcUrl, rpcUrls, backend, privateKey, ownerKey, passphrase }: Secrets): Redact {
  const server = backend.kind === "openai" ? backend : undefined;
  return redactor([
    ...secretsOfUrl(rpcUrl, "RPC_URL"),
    ...rpcUrls.flatMap((one) => secretsOfUrl(one, "RPC_URLS")),
    ...secretsOfUrl(server?.url, "WORKER_BACKEND"),
    [server?.key ?? undefined, "WORKER_BACKEND_KEY"],
    [privateKey?.slice(2), "WORKER_PRIVATE_KEY"],
    [ownerKey?.slice(2), "WORKER_OWNER_PRIVATE_KEY"],
    [passphrase.text ?? undefined, "WORKER_PASSPHRASE"],
  ]);
}

/** One declared ability of a model; of every model if `model` is null. */
type Declared = { model: string | null; ability: Declaration };

/** `a,id=b` → a of every model, b of that one. */
function parseAbilities(list: string, context: z.RefinementCtx): Declared[] {
  const parts = list.split(",").map((part) => part.trim());
  return parts.flatMap((part) => {
    if (part === "" || part === "none") return [];
    const at = part.lastIndexOf("=");
    const ability = DECLARATIONS.find((name) => name === part.slice(at + 1).trim());
    if (ability === undefined) {
      context.addIssue({ code: "custom", message: `must be of ${DECLARATIONS.join(", ")}, or none; or id=ability` });
      return [];
    }
    return [{ model: at === -1 ? null : part.slice(0, at).trim(), ability }];
  });
}

/** A setting as an operator knows it: by its flag, if it has one, and its variable. */
function shownName(name: string): string {
  const { env, flag } = SETTINGS.find((one) => one.name === name) as Setting;
  return flag === null ? env : `--${flag} (${env})`;
}

const COMMANDS = ["run", "status", "drain", "unbond", "withdraw"] as const;
const SWITCHES = ["yes", "help", "json", "cancel"] as const;

/** Flags that belong to a command and not to the worker. */
export type CommandFlags = Record<(typeof SWITCHES)[number], boolean> & { to: string | undefined };

export type Invocation = {
  command: (typeof COMMANDS)[number];
  flags: CommandFlags;
  /** Settings by their variables, and DATA_DIR, which names a local stack; unset ones are absent. */
  values: Record<string, string>;
};

const HELP = `\`${COMMAND} --help\` shows every command and setting.`;
export const USAGE = `Usage: ${COMMAND} [command] [options]

  run            (default) serve jobs; the first time, set the worker up: key, stake, endpoint, models
  status         what the chain, this machine and the backend say about the worker (--json)
  drain          let a running worker finish its jobs and stop
  unbond         start to unbond the stake: no new jobs from then on (--cancel takes it back)
  withdraw       pay the unbonded stake out (--to ADDRESS; default: the owner)

  --config FILE  settings as JSON, named like the flags (default: config.json in the data folder)
  --yes          do what is asked without asking back
  --help         this text

Settings (flags win over the environment, the environment over the file):
${SETTINGS.map(({ env, flag, value, help }) =>
  flag === null ? `  ${env.padEnd(28)} ${help}` : `  ${`--${flag} ${value}`.padEnd(28)} ${help} [${env}]`,
).join("\n")}
`;

/** Reads command line, environment and configuration file into one set of settings. Throws a ConfigError. */
export function readInvocation(argv: readonly string[], environment: NodeJS.ProcessEnv): Invocation {
  const { values: flags, positionals } = parseFlags(argv);
  const [given = "run", ...rest] = positionals;
  const command = COMMANDS.find((name) => name === given);
  if (command === undefined || rest.length > 0) {
    throw new ConfigError(`unknown command "${positionals.join(" ")}": it is one of ${COMMANDS.join(", ")}. ${HELP}`);
  }
  const named = (name: string): string | undefined => {
    const value = flags[name];
    return typeof value === "string" ? value : undefined;
  };
  const values: Record<string, string> = {};
  for (const { env, flag } of SETTINGS) {
    const value = (flag === null ? undefined : named(flag)) ?? environment[env];
    // An empty variable is how shells and compose files say "not set".
    if (value !== undefined && value !== "") values[env] = value;
  }
  const folder = values["WORKER_DATA_DIR"] ?? usualFolder(values, environment);
  const stack: Record<string, string> = environment["DATA_DIR"] ? { DATA_DIR: environment["DATA_DIR"] } : {};
  const configFile = named("config") ?? environment["WORKER_CONFIG"];
  const fromFile = readFile(configFile ?? join(folder, "config.json"), configFile !== undefined);
  const { yes, help, json, cancel } = flags;
  return {
    command,
    flags: {
      yes: yes === true,
      help: help === true,
      json: json === true,
      cancel: cancel === true,
      to: named("to"),
    },
    values: { ...fromFile, ...values, ...stack, WORKER_DATA_DIR: folder },
  };
}

/** `.worker`. Beside a local stack a folder in that stack's DATA_DIR: key and registration belong to its chain, and go with it. */
function usualFolder(values: Record<string, string>, environment: NodeJS.ProcessEnv): string {
  const usual = ".worker";
  const isElsewhere = values["WORKER_SERVICE"] !== undefined || values["DEPLOYMENT_FILE"] !== undefined;
  if (isElsewhere || (!environment["DATA_DIR"] && existsSync(join(usual, "keystore.json")))) return usual;
  const stack = dataDirOf(environment);
  return existsSync(join(stack, "stack.json")) ? join(stack, "worker") : usual;
}

function parseFlags(argv: readonly string[]) {
  const named = [...SETTINGS.flatMap(({ flag }) => flag ?? []), "config", "to"];
  const options = {
    ...Object.fromEntries(named.map((name) => [name, { type: "string" as const }])),
    ...Object.fromEntries(SWITCHES.map((name) => [name, { type: "boolean" as const }])),
  };
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new ConfigError(`${error instanceof Error ? error.message : error}\n${HELP}`);
  }
}

const fileSchema = z.record(
  z.string(),
  z.union([z.string(), z.number(), z.array(z.string()).transform((items) => items.join(","))]),
);

/** Settings of a configuration file; none if it does not have to be there and is not. */
function readFile(path: string, required: boolean): Record<string, string> {
  let json: string;
  try {
    json = readFileSync(path, "utf8");
  } catch (error) {
    if (!required && (error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw new ConfigError(`cannot read the configuration file ${path}: ${(error as Error).message}`);
  }
  let parsed: Record<string, string | number>;
  try {
    parsed = fileSchema.parse(JSON.parse(json));
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message;
    throw new ConfigError(`${path} is not a JSON object of settings: ${reason}`);
  }
  const entries = Object.entries(parsed).map(([name, value]): [string, string] => {
    const known = SETTINGS.find(({ flag }) => flag === name);
    if (known !== undefined) return [known.env, String(value)];
    const names = SETTINGS.flatMap(({ flag }) => flag ?? []).join(", ");
    throw new ConfigError(`${path}: there is no setting "${name}"; the file takes ${names}`);
  });
  return Object.fromEntries(entries);
}
