import { readFileSync } from "node:fs";
import { isHex } from "viem";
import { z } from "zod";
import { type Deployment, parseDeployment } from "../protocol/deployment.ts";
import { isNodeUrl, NODE_URL_HELP } from "../shared/node-url.ts";
import { type EndpointPolicy, parseNetworks } from "./outbound/address.ts";

const DEV_CHAIN_ID = 31_337;

const port = z.coerce.number().int().min(0).max(65_535);
const key = z.custom<`0x${string}`>((v) => isHex(v) && v.length === 66, "must be 0x and 64 hex digits");
const MASTER_KEY = /^[0-9a-fA-F]{64}$/;
const delays = z
  .string()
  .default("30,300,1800,7200")
  .transform((text) => text.split(",").map(Number))
  .refine(
    (all) => all.length === 4 && all.every((one) => one >= 0),
    "must be four numbers of seconds, such as 30,300,1800,7200",
  );
const networks = z.string().transform((text, context) => {
  try {
    return parseNetworks(text);
  } catch (error) {
    context.addIssue({ code: "custom", message: (error as Error).message });
    return z.NEVER;
  }
});
/** Libraries differ in what they make of a '%' that starts no escape, and the log could not tell which password it has to hide. */
const databaseUrl = z
  .string()
  .min(1)
  .refine(
    isDecodable,
    "a '%' in it (of the password?) starts no escape: write each '%' as %25, '@' as %40, '/' as %2F",
  );
const seconds = (fallback: number) => z.coerce.number().positive().default(fallback);
/** Of times on the chain, which counts in whole ones. */
const wholeSeconds = (fallback: number) => z.coerce.number().int().positive().default(fallback);

const schema = z.object({
  API_PORT: port.default(4000),
  API_HOST: z.string().default("127.0.0.1"),
  /** PostgreSQL; the gateway's tables and the index live in it. */
  DATABASE_URL: databaseUrl,
  /** JSON-RPC of the chain's node; may name user and password, or hold a key. */
  RPC_URL: z.url({ protocol: /^https?$/ }).refine(isNodeUrl, NODE_URL_HELP),
  WS_URL: z.url().optional(),
  DEPLOYMENT_FILE: z.string().min(1),
  /** Signs transactions and assignments. One process a signer. */
  GATEWAY_PRIVATE_KEY: key,
  /** 32 bytes of hex; encrypts answers, webhook secrets and URLs at rest. */
  MASTER_KEY: z.string().regex(MASTER_KEY, "must be 64 hex digits, e.g. from `openssl rand -hex 32`"),
  /** Master keys that decrypt too, comma-separated: while MASTER_KEY is changed. */
  OTHER_MASTER_KEYS: z
    .string()
    .default("")
    .transform((text) => text.split(",").filter((one) => one !== ""))
    .refine((all) => all.every((one) => MASTER_KEY.test(one)), "must be keys of 64 hex digits, separated by commas"),
  BASE_URL: z.url().optional(),
  APP_URL: z.url().optional(),
  DOCS_URL: z.url().optional(),
  EXPLORER_URL: z.url().optional(),
  /** A node that browser wallets may be told to use for the chain; RPC_URL itself is never shown, but on a development chain when it holds no secret. */
  PUBLIC_RPC_URL: z.url().optional(),
  /** How a wallet names the chain, and the currency of its gas. */
  CHAIN_NAME: z.string().optional(),
  CHAIN_CURRENCY: z.string().default("ETH"),
  /** Lets `/metrics` be read from other machines; without it only from this one. */
  METRICS_TOKEN: z.string().min(16, "must have at least 16 characters, e.g. from `openssl rand -hex 16`").optional(),
  /** Most TCP connections at once: each costs memory, also one that sends nothing. */
  MAX_CONNECTIONS: z.coerce.number().int().positive().default(10_000),
  LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "silent"]).default("info"),
  /** How long requests are still taken after the signal to stop, while `/readyz` sends the load balancer elsewhere. */
  STOP_DELAY_SECONDS: z.coerce.number().min(0).max(300).default(0),
  /** Requests a second from one address; more get 429. */
  BURST_PER_SECOND: z.coerce.number().int().positive().default(300),
  /** Number of reverse proxies in front, whose X-Forwarded-For is believed. */
  TRUST_PROXY: z.coerce.number().int().min(0).default(0),
  /** Development only: webhooks and workers may be at loopback addresses, also without TLS. */
  ALLOW_LOCAL_ENDPOINTS: z.stringbool().default(false),
  /** Private networks in which workers and webhook receivers may be, such as 10.1.0.0/16,fd12:3456::/48. */
  ALLOW_ENDPOINT_NETWORKS: networks.optional(),
  /** How long answers are kept; 0 keeps none. */
  OUTPUT_RETENTION_HOURS: z.coerce.number().int().min(0).default(24),
  /** Blocks on top of an event's before webhooks tell of it. 0 only where nothing is mined without a transaction. */
  WEBHOOK_CONFIRMATIONS: z.coerce.number().int().min(0).default(2),
  /** Blocks a reorganisation can replace: so many are looked at again. */
  WEBHOOK_REORG_DEPTH: z.coerce.number().int().positive().default(64),
  /** Deliveries that this process attempts at once, and of them to one webhook. */
  WEBHOOK_CONCURRENCY: z.coerce.number().int().positive().default(256),
  WEBHOOK_CONCURRENCY_EACH: z.coerce.number().int().positive().default(16),
  /** Limit of an endpoint's answer. */
  WEBHOOK_TIMEOUT_SECONDS: seconds(10),
  /** From each failed attempt to the next; a webhook fails after the fifth. */
  WEBHOOK_RETRY_SECONDS: delays,
  /** How long ended deliveries stay in the log. */
  WEBHOOK_LOG_DAYS: z.coerce.number().int().positive().default(30),
  /** How long a worker has to acknowledge an assignment. */
  ACKNOWLEDGE_SECONDS: wholeSeconds(10),
  /** How long an acknowledged worker may take to its first token before another one is asked. */
  FIRST_TOKEN_SECONDS: seconds(60),
  /** Most jobs that one worker has from this gateway at once. */
  JOBS_PER_WORKER: z.coerce.number().int().positive().default(128),
  /** First rest of a worker that did what no honest software does; doubled each time, up to an hour. */
  MISCONDUCT_REST_SECONDS: seconds(60),
  /** A lock that is not mined by then is refused. */
  LOCK_SECONDS: wholeSeconds(20),
  /** How long a dispute waits for its job's settlement before it is answered with 409. */
  DISPUTE_WAIT_SECONDS: seconds(30),
  /** Transactions a second to which sending is slowed down while the index is behind: instant blocks can outrun it. */
  SENDS_PER_SECOND: seconds(15),
  /** Gas of one batch: well below the chain's block gas limit. */
  BATCH_GAS: z.coerce.bigint().default(12_000_000n),
  /** A transaction not mined for this long gets a higher fee. */
  REPLACE_AFTER_SECONDS: seconds(15),
  /** Highest fee ever offered, wei per gas. */
  FEE_CAP_WEI: z.coerce.bigint().default(500_000_000_000n),
  /** Lowest tip, wei per gas. */
  PRIORITY_FEE_WEI: z.coerce.bigint().default(1_000_000_000n),
});

/** Every variable of the gateway's environment. */
export const SETTINGS: readonly string[] = Object.keys(schema.shape);

export type Config = Omit<z.infer<typeof schema>, "BASE_URL" | "APP_URL" | "DOCS_URL"> & {
  BASE_URL: string;
  APP_URL: string;
  DOCS_URL: string;
  deployment: Deployment;
};

/** Reads the environment. Throws one message that names every wrong variable and never prints a value. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const result = schema.safeParse(env);
  if (!result.success) {
    const lines = result.error.issues.map((issue) => `  ${issue.path.join(".")}: ${issue.message}`);
    throw new Error(
      `The gateway's environment is not usable:\n${lines.join("\n")}\nSee docs/operations.md for every setting.`,
    );
  }
  const values = result.data;
  const deployment = parseDeployment(readFileSync(values.DEPLOYMENT_FILE, "utf8"), values.DEPLOYMENT_FILE);
  if (values.ALLOW_LOCAL_ENDPOINTS && deployment.chainId !== DEV_CHAIN_ID) {
    throw new Error(
      `ALLOW_LOCAL_ENDPOINTS is for development: on chain ${deployment.chainId} webhooks could ask services of this machine. Unset it.`,
    );
  }
  const BASE_URL = values.BASE_URL ?? `http://${values.API_HOST}:${values.API_PORT}`;
  return {
    ...values,
    BASE_URL,
    APP_URL: values.APP_URL ?? `${BASE_URL}/app`,
    DOCS_URL: values.DOCS_URL ?? `${BASE_URL}/docs`,
    deployment,
  };
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Which endpoints of workers and webhooks this gateway may ask. */
export const endpointPolicy = (config: Config): EndpointPolicy => ({
  allowLocal: config.ALLOW_LOCAL_ENDPOINTS,
  allowNetworks: config.ALLOW_ENDPOINT_NETWORKS ?? [],
});
