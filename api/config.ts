import { readFileSync } from "node:fs";
import { isAddress, isHex } from "viem";
import { z } from "zod";
import { DEV_CHAIN_ID, type Deployment, parseDeployment } from "../protocol/deployment.ts";
import { LOCK_SEEN } from "../shared/preconfirmation-limit.ts";
import { count, databaseUrl, list, nodeUrl, nodeUrls, port, readSettings } from "../shared/settings.ts";
import { type EndpointPolicy, parseNetworks } from "./outbound/address.ts";

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
const positive = (fallback: number) => z.coerce.number().positive().default(fallback);
const countFromZero = (fallback: number) => z.coerce.number().int().min(0).default(fallback);
const whole = (fallback: bigint, least: bigint) =>
  z
    .string()
    .regex(/^\d+$/, "must be a whole number")
    .transform(BigInt)
    .refine((value) => value >= least, `must be at least ${least}`)
    .default(fallback);

const node = nodeUrl(/^https?$/);

/** The environment. `describe` is what docs/operations/settings.md says of a variable. */
export const configSchema = z.object({
  API_PORT: port.default(4000).describe("port to listen on"),
  API_HOST: z.string().default("127.0.0.1").describe("address to listen on"),
  DATABASE_URL: databaseUrl.describe("PostgreSQL, a direct connection. Secret"),
  RPC_URL: node.describe("JSON-RPC of the chain; special characters of a password as `%40`. Secret"),
  RPC_URLS: nodeUrls,
  DEPLOYMENT_FILE: z.string().min(1).describe("written by `scripts/deploy.ts`"),
  GATEWAY_PRIVATE_KEY: key.describe("signs transactions and assignments, one process for each key. Secret"),
  MASTER_KEY: z
    .string()
    .regex(MASTER_KEY, "must be 64 hex digits, e.g. from `openssl rand -hex 32`")
    .describe(
      "64 hex digits (`openssl rand -hex 32`): encrypts answers, webhook secrets and URLs; the same in all gateways of a database. Secret",
    ),
  OTHER_MASTER_KEYS: list
    .refine((all) => all.every((one) => MASTER_KEY.test(one)), "must be keys of 64 hex digits, separated by commas")
    .describe("more keys that decrypt, comma separated, [while `MASTER_KEY` is changed](upkeep.md#rotate). Secret"),
  BASE_URL: z
    .url()
    .optional()
    .describe(
      "public URL of the API; without it `http://API_HOST:API_PORT`. **Set it** with https where customers are",
    ),
  APP_URL: z
    .url()
    .optional()
    .describe("public URL of the application; without it `BASE_URL`/app. Its origin is the only one that may sign in"),
  DOCS_URL: z.url().optional().describe("where error bodies link to; without it `BASE_URL`/docs"),
  EXPLORER_URL: z
    .url()
    .optional()
    .describe("block explorer for links to transactions; without it the application shows them"),
  PUBLIC_RPC_URL: z
    .url()
    .optional()
    .describe(
      "node that browsers' wallets are told of; without it none (on chain 31337 `RPC_URL`, if it has no secret)",
    ),
  CHAIN_NAME: z.string().optional().describe("what wallets call the chain; without it `Chain <id>`"),
  CHAIN_CURRENCY: z.string().default("ETH").describe("what wallets call the currency of its gas"),
  DEMO_FILE: z
    .string()
    .min(1)
    .optional()
    .describe("local stack only: its `stack.json`, for the front page's playground"),
  METRICS_TOKEN: z
    .string()
    .min(16, "must have at least 16 characters, e.g. from `openssl rand -hex 16`")
    .optional()
    .describe("bearer token for `/metrics` from other machines; without it only loopback may read them. Secret"),
  MAX_CONNECTIONS: count(10_000).describe("most TCP connections at once. Keep the process's file limit above it"),
  LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "silent"])
    .default("info")
    .describe("trace, debug, info, warn, error or silent"),
  STOP_DELAY_SECONDS: z.coerce
    .number()
    .min(0)
    .max(300)
    .default(0)
    .describe("how long requests are served after SIGTERM. **Set it** longer than the load balancer takes to notice"),
  BURST_PER_SECOND: count(300).describe("requests a second from one address, by process; more get 429"),
  TRUST_PROXY: countFromZero(0).describe(
    "number of proxies in front whose `X-Forwarded-For` is believed. **Set it** behind a proxy",
  ),
  ALLOW_LOCAL_ENDPOINTS: z
    .stringbool()
    .default(false)
    .describe("development only: webhooks and workers on loopback, also without TLS"),
  ALLOW_ENDPOINT_NETWORKS: networks
    .optional()
    .describe("[private networks](#private-networks) for workers and webhooks, such as `10.1.0.0/16,fd12:3456::/48`"),
  OUTPUT_RETENTION_HOURS: countFromZero(24).describe(
    "how long answers are kept. 0 keeps none: no replays, and a crash fails the jobs it met",
  ),
  WEBHOOK_CONFIRMATIONS: countFromZero(2).describe("blocks on top of an event's before webhooks tell of it"),
  WEBHOOK_REORG_DEPTH: count(64).describe("blocks that a reorganisation can replace; so many are read again"),
  WEBHOOK_CONCURRENCY: count(256).describe("deliveries that this process attempts at once"),
  WEBHOOK_CONCURRENCY_EACH: count(32).describe("of them to one wallet's webhooks"),
  WEBHOOK_TIMEOUT_SECONDS: positive(10).describe("limit of an endpoint's answer"),
  WEBHOOK_RETRY_SECONDS: delays.describe("four pauses between the five attempts"),
  WEBHOOK_LOG_DAYS: count(30).describe("how long ended deliveries stay in the log"),
  ACKNOWLEDGE_SECONDS: count(10).describe("how long a worker may take to acknowledge an assignment"),
  FIRST_TOKEN_SECONDS: positive(60).describe("how long an acknowledged worker may take to its first token"),
  QUEUE_SECONDS: countFromZero(30).describe(
    "how long a request may wait for a place at a worker, before its credits are locked. 0: it does not wait",
  ),
  OWN_WORKERS: list
    .refine((all) => all.every((one) => isAddress(one, { strict: false })), "must be addresses, separated by commas")
    .describe(
      "addresses of workers that you run yourself, comma separated. All others get [jobs as their stake covers](../workers.md#newcomers)",
    ),
  CREDITS_PER_SVC: z.coerce
    .number()
    .positive()
    .optional()
    .describe(
      "the most that you take an SVC to be worth, in credits, where governance's figure follows the market too slowly",
    ),
  MISCONDUCT_REST_SECONDS: positive(60).describe(
    "first rest of a worker [that did what no honest software does](../workers.md#newcomers), up to an hour",
  ),
  LOCK_SECONDS: count(20).describe(
    "a lock not mined by then is refused with 503. Above the chain's usual inclusion time",
  ),
  LOCK_SEEN: z
    .enum(LOCK_SEEN)
    .default("latest")
    .describe(
      "`preconfirmed`: a job begins when the sequencer [promises its lock](incidents.md#a-promised-lock-is-not-mined), before a block has it",
    ),
  PRECONFIRMED_JOB_CREDITS: count(100).describe(
    "most credits of a job that begins so; a larger one waits for the block",
  ),
  PRECONFIRMED_CREDITS: count(5_000).describe(
    "most credits of all jobs that have begun so and whose locks are not mined; others wait for the block. So much can be answered for nothing",
  ),
  DISPUTE_WAIT_SECONDS: positive(30).describe("how long a dispute waits for its job's settlement before 409"),
  SENDS_PER_SECOND: positive(15).describe(
    "transactions a second [while the index is behind](incidents.md#the-index-is-behind)",
  ),
  BATCH_GAS: whole(12_000_000n, 1_100_000n).describe("gas of one batch: well below the block gas limit"),
  REPLACE_AFTER_SECONDS: positive(15).describe(
    "a transaction not mined for so long gets a higher fee. At least one block time",
  ),
  FEE_CAP_WEI: whole(500_000_000_000n, 1n).describe(
    "highest fee ever offered, wei per gas. **Choose it for your chain**: below the market nothing is mined",
  ),
  TRANSACTION_COST_CAP_WEI: whole(10n ** 18n, 1n).describe(
    "most that one transaction may cost, wei: a node refuses more (geth and Besu 1 ether by default). Batches are smaller while fees are high",
  ),
  PRIORITY_FEE_WEI: whole(1_000_000_000n, 0n).describe("lowest tip, wei per gas. **Choose it for your chain**"),
});

export type Config = Omit<z.infer<typeof configSchema>, "BASE_URL" | "APP_URL" | "DOCS_URL"> & {
  BASE_URL: string;
  APP_URL: string;
  DOCS_URL: string;
  deployment: Deployment;
};

/** Reads the environment. Throws one message that names every wrong variable and never prints a value. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const values = readSettings(configSchema, env, "gateway");
  if (values.PRIORITY_FEE_WEI > values.FEE_CAP_WEI) {
    throw new Error(
      "PRIORITY_FEE_WEI is above FEE_CAP_WEI, so no fee could be offered. Lower it, or raise FEE_CAP_WEI.",
    );
  }
  const deployment = parseDeployment(readFileSync(values.DEPLOYMENT_FILE, "utf8"), values.DEPLOYMENT_FILE);
  if (values.ALLOW_LOCAL_ENDPOINTS && deployment.chainId !== DEV_CHAIN_ID) {
    throw new Error(
      `ALLOW_LOCAL_ENDPOINTS is for development: on chain ${deployment.chainId} webhooks could ask services of this machine. Unset it.`,
    );
  }
  if (values.DEMO_FILE !== undefined && deployment.chainId !== DEV_CHAIN_ID) {
    throw new Error(
      `DEMO_FILE is for development: on chain ${deployment.chainId} everybody could spend its account. Unset it.`,
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

/** Which endpoints of workers and webhooks this gateway may ask. */
export const endpointPolicy = (config: Config): EndpointPolicy => ({
  allowLocal: config.ALLOW_LOCAL_ENDPOINTS,
  allowNetworks: config.ALLOW_ENDPOINT_NETWORKS ?? [],
});
