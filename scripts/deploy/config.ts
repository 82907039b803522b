/** Reads the environment of scripts/deploy.ts into settings, with an error that names the variable and what to do. */
import { type Address, getAddress, type Hex, isAddress } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { z } from "zod";
import {
  DEFAULT_DURATIONS,
  DEFAULT_FEE_BPS,
  DEFAULT_MINIMUM_STAKE,
  type Durations,
  type ProtocolSettings,
} from "../../contracts/ignition/settings.ts";

/** Chain id of anvil and of `hardhat node`: the only one on which money is not real. */
export const DEV_CHAIN_ID = 31337;
/** First account of the mnemonic that every development chain funds. Public: worthless elsewhere. */
const DEV_DEPLOYER_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

/** What the person who runs the script can correct; shown without a stack trace. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

export type DeployTarget = { rpcUrl: string; deploymentFile: string };
export type DeployConfig = { deployerKey: Hex; settings: ProtocolSettings };
export type Env = Record<string, string | undefined>;

/** Where to deploy; needed before the chain id is known. */
export function readTarget(env: Env): DeployTarget {
  return { rpcUrl: required(env, "RPC_URL"), deploymentFile: required(env, "DEPLOYMENT_FILE") };
}

/** What to deploy on `chainId`. */
export function readConfig(env: Env, chainId: number): DeployConfig {
  const dev = chainId === DEV_CHAIN_ID;
  const deployerKey = dev ? (env["DEPLOYER_PRIVATE_KEY"] ?? DEV_DEPLOYER_KEY) : required(env, "DEPLOYER_PRIVATE_KEY");
  if (!/^0x[0-9a-fA-F]{64}$/.test(deployerKey))
    throw new ConfigError("DEPLOYER_PRIVATE_KEY must be 0x and 64 hex digits");
  const deployer = privateKeyToAccount(deployerKey as Hex).address;
  const owner = address(env, "OWNER_ADDRESS") ?? deployer;
  const stablecoin = address(env, "STABLECOIN_ADDRESS");
  if (stablecoin === null && !dev) {
    throw new ConfigError(
      `STABLECOIN_ADDRESS is required on chain ${chainId}: the test stablecoin is for ${DEV_CHAIN_ID} only`,
    );
  }
  const settings: ProtocolSettings = {
    deployer,
    owner,
    guardian: address(env, "GUARDIAN_ADDRESS") ?? owner,
    serviceTokenHolder: dev ? deployer : owner,
    stablecoin,
    gateways: gateways(env),
    feeBps: feeBps(env),
    minimumStake: DEFAULT_MINIMUM_STAKE,
    durations: durations(env, dev),
  };
  return { deployerKey: deployerKey as Hex, settings };
}

function required(env: Env, name: string): string {
  const value = env[name];
  if (!value) throw new ConfigError(`${name} is required`);
  return value;
}

function address(env: Env, name: string): Address | null {
  const value = env[name];
  return value ? parseAddress(value, name) : null;
}

function parseAddress(value: string, name: string): Address {
  if (!isAddress(value)) throw new ConfigError(`${name}: "${value}" is not an address (or its checksum is wrong)`);
  return getAddress(value);
}

function gateways(env: Env): Address[] {
  const list = required(env, "GATEWAY_ADDRESSES")
    .split(",")
    .map((value) => parseAddress(value.trim(), "GATEWAY_ADDRESSES"));
  if (new Set(list).size !== list.length) throw new ConfigError("GATEWAY_ADDRESSES names an address twice");
  return list;
}

function feeBps(env: Env): number {
  const text = env["FEE_BPS"];
  if (!text) return DEFAULT_FEE_BPS;
  // The contract has the same cap; here the error says which variable to change.
  if (!/^\d+$/.test(text) || Number(text) > 2_000)
    throw new ConfigError("FEE_BPS must be a whole number from 0 to 2000");
  return Number(text);
}

function durations(env: Env, dev: boolean): Durations {
  const text = env["DEPLOY_WINDOWS"];
  if (!text) return DEFAULT_DURATIONS;
  if (!dev) throw new ConfigError(`DEPLOY_WINDOWS is for tests: it is accepted on chain ${DEV_CHAIN_ID} only`);
  const seconds = z.number().int().min(0).max(0xffffffff);
  const names = Object.keys(DEFAULT_DURATIONS) as (keyof Durations)[];
  const schema = z.strictObject(Object.fromEntries(names.map((name) => [name, seconds.optional()])));
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new ConfigError("DEPLOY_WINDOWS is not JSON");
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) throw new ConfigError(`DEPLOY_WINDOWS: ${z.prettifyError(parsed.error)}`);
  return { ...DEFAULT_DURATIONS, ...(parsed.data as Partial<Durations>) };
}
