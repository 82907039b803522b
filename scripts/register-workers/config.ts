import { readFileSync } from "node:fs";
import type { Address, Hex } from "viem";
import { z } from "zod";
import { isNodeUrl, NODE_URL_HELP } from "../../shared/node-url.ts";
import { ConfigError } from "../../worker/console.ts";

/** anvil's and Hardhat's third account; it holds the SVC supply of a development chain. */
export const DEV_OWNER: Hex = "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a";
const DEV_CHAIN_ID = 31337;

const key = z.custom<Hex>(
  (v) => typeof v === "string" && /^0x[0-9a-fA-F]{64}$/.test(v),
  "must be 0x and 64 hex digits",
);
const address = z.custom<Address>((v) => typeof v === "string" && /^0x[0-9a-fA-F]{40}$/.test(v), "must be an address");

const workersSchema = z.array(
  z.object({
    privateKey: key,
    endpoint: z.url({ protocol: /^https?$/ }).max(200),
    models: z.array(z.string().min(1)).min(1),
    payout: address.optional(),
  }),
);
const envSchema = z.object({
  RPC_URL: z.url({ protocol: /^https?$/ }).refine(isNodeUrl, NODE_URL_HELP),
  DEPLOYMENT_FILE: z.string().min(1),
  WORKERS_FILE: z.string().min(1),
  OWNER_PRIVATE_KEY: key.optional(),
});

export type WorkerEntry = z.infer<typeof workersSchema>[number];

export type RegisterConfig = {
  rpcUrl: string;
  deploymentFile: string;
  workers: WorkerEntry[];
  /** The owner's key; the development key only on a development chain. */
  ownerKey: (chainId: number) => Hex;
};

/** Reads environment and workers file. Throws a ConfigError that names every bad value and quotes none: there are keys among them. */
export function readRegisterConfig(environment: NodeJS.ProcessEnv): RegisterConfig {
  const env = envSchema.safeParse(environment);
  if (!env.success) throw new ConfigError(`invalid environment:\n${z.prettifyError(env.error)}`);
  const { RPC_URL, DEPLOYMENT_FILE, WORKERS_FILE, OWNER_PRIVATE_KEY } = env.data;
  const workers = workersSchema.safeParse(readJson(WORKERS_FILE));
  if (!workers.success)
    throw new ConfigError(`${WORKERS_FILE} is not a list of workers:\n${z.prettifyError(workers.error)}`);
  return {
    rpcUrl: RPC_URL,
    deploymentFile: DEPLOYMENT_FILE,
    workers: workers.data,
    ownerKey: (chainId) => {
      if (OWNER_PRIVATE_KEY !== undefined) return OWNER_PRIVATE_KEY;
      if (chainId === DEV_CHAIN_ID) return DEV_OWNER;
      throw new ConfigError(`set OWNER_PRIVATE_KEY: chain ${chainId} is no development chain`);
    },
  };
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new ConfigError(
      `cannot read WORKERS_FILE ${file}: ${error instanceof Error ? error.message.slice(0, 80) : error}`,
    );
  }
}
