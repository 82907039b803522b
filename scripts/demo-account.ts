/**
 * Gives the local stack's demo wallet 10,000 credits and an API key. Idempotent: credits are bought only when the wallet has
 * no account yet, and the key of an earlier start is kept. Prints `{wallet, private_key, api_key}` as its last line.
 *
 * RPC_URL, DATABASE_URL, DEPLOYMENT_FILE   as the gateway has them
 * DEMO_PRIVATE_KEY                         the demo wallet
 * DEMO_API_KEY                             the key of an earlier start, if there was one
 * FUNDER_PRIVATE_KEY                       pays gas; default: the development account of chain id 31337
 */
import { readFileSync } from "node:fs";
import { pino } from "pino";
import { createPublicClient, type Hex, isHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { Keys } from "../api/accounts/keys.ts";
import { migrate, openDatabase } from "../api/store/database.ts";
import { parseDeployment } from "../protocol/deployment.ts";
import { inferenceEscrowAbi } from "../protocol/generated/abi.ts";
import { nodeTransport } from "../protocol/node-url.ts";
import { redactOutput, redactor, secretsOfDatabaseUrl, secretsOfUrl } from "../protocol/redact.ts";
import { DEPLOYER_KEY } from "./local-stack/accounts.ts";
import { provideCredits } from "./local-stack/funding.ts";

const CREDITS = 10_000;
const DEV_CHAIN_ID = 31_337;

function setting(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}

function keySetting(name: string, fallback?: Hex): Hex {
  const value = process.env[name] ?? fallback;
  if (!isHex(value) || value.length !== 66) throw new Error(`${name} must be 0x and 64 hex digits`);
  return value;
}

async function fund(): Promise<void> {
  const file = setting("DEPLOYMENT_FILE");
  const { chainId, contracts } = parseDeployment(readFileSync(file, "utf8"), file);
  if (chainId !== DEV_CHAIN_ID)
    throw new Error(`a demo account is for chain id ${DEV_CHAIN_ID} only, this is ${chainId}`);
  const rpcUrl = setting("RPC_URL");
  const client = createPublicClient({ transport: nodeTransport(rpcUrl) });
  const escrow = { address: contracts.InferenceEscrow, abi: inferenceEscrowAbi } as const;
  const demo = privateKeyToAccount(keySetting("DEMO_PRIVATE_KEY"));
  const account = await client.readContract({ ...escrow, functionName: "accountOf", args: [demo.address] });
  if (account.id !== 0) return;

  const funder = privateKeyToAccount(keySetting("FUNDER_PRIVATE_KEY", DEPLOYER_KEY));
  await provideCredits({ rpc_url: rpcUrl, contracts }, { funder, owner: demo, credits: CREDITS });
}

async function apiKey(wallet: string): Promise<string> {
  const url = setting("DATABASE_URL");
  const logger = pino({ level: "warn" }, pino.destination(2));
  await migrate(url, logger);
  const pool = openDatabase(url, logger, 2);
  try {
    const keys = new Keys(pool);
    const earlier = process.env.DEMO_API_KEY;
    const owner = earlier ? await keys.owner(earlier) : null;
    return earlier && owner?.wallet === wallet.toLowerCase() ? earlier : await keys.regenerate(wallet);
  } finally {
    await pool.end();
  }
}

const { RPC_URL, DATABASE_URL } = process.env;
const secrets = [...secretsOfUrl(RPC_URL, "RPC_URL"), ...secretsOfDatabaseUrl(DATABASE_URL, "DATABASE_URL")];
redactOutput(redactor(secrets), [process.stderr]);

try {
  const privateKey = keySetting("DEMO_PRIVATE_KEY");
  const { address } = privateKeyToAccount(privateKey);
  await fund();
  console.log(JSON.stringify({ wallet: address, private_key: privateKey, api_key: await apiKey(address) }));
} catch (error) {
  // Node itself would print it past the redaction.
  console.error(error);
  process.exitCode = 1;
}
