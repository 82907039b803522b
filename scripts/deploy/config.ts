/** Reads the environment of scripts/deploy.ts into settings, with an error that names the variable and what to do. */

import { type Address, getAddress, type Hex, isAddress } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { z } from "zod";
import { DEV_CHAIN_ID } from "../../protocol/deployment.ts";
import { nodeUrlFault } from "../../shared/node-url.ts";
import {
  DEFAULT_COMPENSATION_CAP,
  DEFAULT_CREDITS_PER_1K_SVC,
  DEFAULT_DURATIONS,
  DEFAULT_FEE_BPS,
  DEFAULT_GOVERNANCE,
  DEFAULT_MINIMUM_STAKE,
  DEFAULT_SLASH_AMOUNT,
  type ProtocolSettings,
} from "./protocol-settings.ts";

/** Accounts that every development chain funds, in the roles that a real deployment must name. Their keys are public: worthless elsewhere. */
export const DEPLOYER_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
export const OPERATOR_ADMIN = {
  address: "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc",
  privateKey: "0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba",
} as const;
const DEV_SERVICE_TOKEN_HOLDER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"; // third
const DEV_GUARDIAN = "0x976EA74026E726554dB657fA54763abd0C3a0aa9"; // seventh
const DEV_ARBITERS: readonly Address[] = [
  "0x14dC79964da2C08b23698B3D3cc7Ca32193d9955", // eighth
  "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f", // ninth
  "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720", // tenth
];

/** An error that the person who runs the script can correct; shown without a stack trace. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

export type DeployConfig = { deployerKey: Hex; settings: ProtocolSettings };
export type Env = Record<string, string | undefined>;

/** The node to deploy with, and the file to write; needed before the chain id is known. */
export function readTarget(env: Env) {
  const rpcUrl = required(env, "RPC_URL");
  const fault = nodeUrlFault(rpcUrl, "RPC_URL");
  if (fault !== null) throw new ConfigError(fault);
  return { rpcUrl, deploymentFile: required(env, "DEPLOYMENT_FILE") };
}

/** The settings of a deployment on `chainId`. */
export function readConfig(env: Env, chainId: number): DeployConfig {
  const dev = chainId === DEV_CHAIN_ID;
  const deployerKey = dev ? (env["DEPLOYER_PRIVATE_KEY"] ?? DEPLOYER_KEY) : required(env, "DEPLOYER_PRIVATE_KEY");
  if (!/^0x[0-9a-fA-F]{64}$/.test(deployerKey))
    throw new ConfigError("DEPLOYER_PRIVATE_KEY must be 0x and 64 hex digits");
  const deployer = privateKeyToAccount(deployerKey as Hex).address;
  const owner = address(env, "OWNER_ADDRESS");
  if (owner !== null && !dev) {
    throw new ConfigError(`OWNER_ADDRESS is for tests: on chain ${chainId} the timelock owns everything`);
  }
  const arbiters = addresses(env, "ARBITER_ADDRESSES", dev ? DEV_ARBITERS : null);
  const stablecoin = address(env, "STABLECOIN_ADDRESS");
  if (stablecoin === null && !dev) {
    throw new ConfigError(
      `STABLECOIN_ADDRESS is required on chain ${chainId}: the test stablecoin is for ${DEV_CHAIN_ID} only`,
    );
  }
  const { votingDelay, votingPeriod, timelockDelay } = DEFAULT_GOVERNANCE;
  const settings: ProtocolSettings = {
    deployer,
    owner,
    guardian: role(env, "GUARDIAN_ADDRESS", dev ? (owner ?? DEV_GUARDIAN) : null),
    serviceTokenHolder: role(env, "SERVICE_TOKEN_HOLDER_ADDRESS", dev ? DEV_SERVICE_TOKEN_HOLDER : null),
    stablecoin,
    operators: addresses(env, "OPERATOR_ADMIN_ADDRESSES", dev ? [OPERATOR_ADMIN.address] : null),
    feeBps: wholeNumber(env, "FEE_BPS", DEFAULT_FEE_BPS, [0, 2_000]),
    compensationCap: wholeNumber(env, "COMPENSATION_CAP", DEFAULT_COMPENSATION_CAP, [0, 1_000_000]),
    minimumStake: DEFAULT_MINIMUM_STAKE,
    slashAmount: DEFAULT_SLASH_AMOUNT,
    creditsPer1kSvc: wholeNumber(env, "CREDITS_PER_1K_SVC", DEFAULT_CREDITS_PER_1K_SVC, [1, 0xffffffff]),
    arbiters,
    arbiterQuorum: arbiterQuorum(env, arbiters.length),
    governance: {
      ...DEFAULT_GOVERNANCE,
      ...devSeconds(env, "DEPLOY_GOVERNANCE", { votingDelay, votingPeriod, timelockDelay }, dev),
    },
    durations: { ...DEFAULT_DURATIONS, ...devSeconds(env, "DEPLOY_WINDOWS", DEFAULT_DURATIONS, dev) },
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

function role(env: Env, name: string, fallback: Address | null): Address {
  const given = address(env, name) ?? fallback;
  if (given === null) throw new ConfigError(`${name} is required`);
  return given;
}

function addresses(env: Env, name: string, fallback: readonly Address[] | null): readonly Address[] {
  if (!env[name] && fallback !== null) return fallback;
  const list = required(env, name)
    .split(",")
    .map((value) => parseAddress(value.trim(), name));
  if (new Set(list).size !== list.length) throw new ConfigError(`${name} names an address twice`);
  return list;
}

function arbiterQuorum(env: Env, arbiters: number): number {
  const text = env["ARBITER_QUORUM"];
  if (!text) return Math.floor(arbiters / 2) + 1;
  const quorum = Number(text);
  if (!/^\d+$/.test(text) || quorum > arbiters || 2 * quorum <= arbiters) {
    throw new ConfigError(`ARBITER_QUORUM must be more than half of the ${arbiters} arbiters and at most all of them`);
  }
  return quorum;
}

/** The contract has the same bound; here the error says which variable to change. */
function wholeNumber(env: Env, name: string, fallback: number, [least, most]: [number, number]): number {
  const text = env[name];
  if (!text) return fallback;
  if (!/^\d+$/.test(text) || Number(text) < least || Number(text) > most)
    throw new ConfigError(`${name}=${text} must be a whole number from ${least} to ${most}`);
  return Number(text);
}

/** Some of the seconds named by `defaults`, from JSON, on a development chain only. */
function devSeconds<T extends Record<string, number>>(
  env: Env,
  variable: string,
  defaults: T,
  dev: boolean,
): Partial<T> {
  const text = env[variable];
  if (!text) return {};
  if (!dev) throw new ConfigError(`${variable} is for tests: it is accepted on chain ${DEV_CHAIN_ID} only`);
  const seconds = z.number().int().min(0).max(0xffffffff);
  const schema = z.strictObject(Object.fromEntries(Object.keys(defaults).map((name) => [name, seconds.optional()])));
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new ConfigError(`${variable} is not JSON`);
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) throw new ConfigError(`${variable}: ${z.prettifyError(parsed.error)}`);
  return parsed.data as Partial<T>;
}
