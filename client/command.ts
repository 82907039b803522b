#!/usr/bin/env node
/** The command of the package: `proxy`, `authorize` and `dispute-key`. */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import {
  type Address,
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  type Hex,
  isAddress,
  type LocalAccount,
  zeroAddress,
} from "viem";
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from "viem/accounts";
import { inferenceEscrowAbi } from "../protocol/generated/abi.ts";
import { proposedDailyLimit } from "../protocol/money.ts";
import { receiptOf } from "../protocol/receipt.ts";
import { ACCOUNT_FROZEN, ACCOUNT_LIMITED } from "../protocol/words.ts";
import { nodeTransport } from "../shared/node-transport.ts";
import { nodeUrlFault } from "../shared/node-url.ts";
import { redactOutput, redactor, secretsOfUrl } from "../shared/redact.ts";
import { chainIdOf, firstLine, noEscrow } from "../verify/chain.ts";
import { chargeLine, type Finding, findingLine, type JobReport } from "./findings.ts";
import { startProxy } from "./proxy.ts";

const USAGE = `cmi-client proxy --base-url URL --escrow ADDRESS [options]
  A local OpenAI endpoint that checks each reply, and each charge for it, on the chain.
  --port N            default 4141; 0 for a free one
  --wallet ADDRESS    whose credits are spent; WALLET_PRIVATE_KEY instead lets it dispute by itself
  --key-file FILE     the authorization key: each request's maximum is signed with it
  --dispute-key-file FILE  the dispute key: it disputes for the wallet, and pays the gas
  --max-credits N     most credits that one request may cost; needs --key-file
  --json              findings, and charges that hold, as JSON, a line each
  SERVICE_API_KEY     the service's key, for programs that send the endpoint's own key
  PROXY_API_KEY       that own key; without it one is made and printed

cmi-client authorize --escrow ADDRESS --key-file FILE [--daily-limit N]
  Makes an authorization key, writes it to FILE, and registers it on the chain with the wallet of WALLET_PRIVATE_KEY.
  --daily-limit N     credits that may be locked on a UTC day; a wallet without a limit gets a tenth of its free credits,
                      at least 500. none: leaves the limit as it is

cmi-client dispute-key --escrow ADDRESS --key-file FILE [--most-open N] [--wallet ADDRESS]
  Makes a dispute key, writes it to FILE, and names it on the chain with the wallet of WALLET_PRIVATE_KEY. With --wallet instead, for a
  wallet of several owners, prints the call that the wallet has to make. The key needs gas, and the wallet free credits for bonds.
  --most-open N       disputes that it may have open at a time, each for a bond of at most 100 credits; default 8, at most 255
cmi-client dispute-key --escrow ADDRESS --revoke [--wallet ADDRESS]
  Revokes the wallet's dispute key.

RPC_URL               a node of the settlement chain; or --rpc URL, where the URL holds no key: every user can see it

Exit status: 0 done, 1 it failed, 2 the options are wrong.`;

class UsageError extends Error {}

const OPTIONS = {
  "base-url": { type: "string" },
  rpc: { type: "string" },
  escrow: { type: "string" },
  port: { type: "string", default: "4141" },
  wallet: { type: "string" },
  "key-file": { type: "string" },
  "dispute-key-file": { type: "string" },
  "most-open": { type: "string" },
  revoke: { type: "boolean", default: false },
  "max-credits": { type: "string" },
  "daily-limit": { type: "string" },
  json: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;

/** Runs a command; resolves once it is done, or the proxy is up. */
async function run(argv: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { values, positionals } = parseArgs({ args: argv, allowPositionals: true, options: OPTIONS });
  const [command, ...more] = positionals;
  if (values.help) return console.log(USAGE);
  if (more.length > 0 || (command !== "proxy" && command !== "authorize" && command !== "dispute-key"))
    throw new UsageError("name a command: proxy, authorize or dispute-key");
  const given = (name: "escrow" | "base-url" | "key-file"): string => {
    const value = values[name];
    if (value === undefined) throw new UsageError(`--${name} is missing`);
    return value;
  };
  const rpcUrl = nodeUrl(values.rpc, env["RPC_URL"]);
  redactOutput(redactor(secretsOfUrl(rpcUrl, "RPC_URL")), [process.stderr]);
  const escrow = address(given("escrow"), "--escrow");
  const signer = env["WALLET_PRIVATE_KEY"]
    ? privateKeyToAccount(privateKey(env["WALLET_PRIVATE_KEY"], "WALLET_PRIVATE_KEY"))
    : null;

  if (command === "dispute-key") {
    const owner = signer ?? (values.wallet === undefined ? null : address(values.wallet, "--wallet"));
    if (owner === null)
      throw new UsageError("--wallet or WALLET_PRIVATE_KEY is missing: the wallet itself names its key");
    const mostOpen = count(values["most-open"], "--most-open") ?? 8;
    if (mostOpen > 255) throw new UsageError("--most-open is more than 255");
    const file = values.revoke ? null : given("key-file");
    const keep = (key: Hex) => file !== null && writeFileSync(file, `${key}\n`, { mode: 0o600, flag: "wx" });
    console.log(await setDisputeKey({ rpcUrl, escrow, owner, mostOpen: file === null ? null : mostOpen }, keep));
    return;
  }
  if (command === "authorize") {
    if (signer === null) throw new UsageError("WALLET_PRIVATE_KEY is missing: the wallet itself registers the key");
    const file = given("key-file");
    const asked = values["daily-limit"] === "none" ? null : count(values["daily-limit"], "--daily-limit");
    const options = { rpcUrl, escrow, wallet: signer, ...(asked !== undefined && { dailyLimit: asked }) };
    // An earlier key is not written over: it may be in use.
    const keep = (key: Hex) => writeFileSync(file, `${key}\n`, { mode: 0o600, flag: "wx" });
    const { key, dailyLimit, transactions } = await authorize(options, keep);
    console.log(`Each job of ${signer.address} now needs a signature of ${key}, whose private key is in ${file}.`);
    if (dailyLimit !== null) console.log(`At most ${dailyLimit} credits are locked on a UTC day.`);
    console.log(`Transactions: ${transactions.join(", ")}`);
    return;
  }
  const baseUrl = given("base-url");
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol))
    throw new UsageError("--base-url is no address of a service");
  const keyFile = values["key-file"];
  const wallet = signer ?? (values.wallet === undefined ? undefined : address(values.wallet, "--wallet"));
  const maxCredits = count(values["max-credits"], "--max-credits");
  if (maxCredits !== undefined && keyFile === undefined)
    throw new UsageError("--max-credits needs --key-file: it is signed");
  const disputeKeyFile = values["dispute-key-file"];
  if ((keyFile ?? disputeKeyFile) !== undefined && wallet === undefined)
    throw new UsageError("--wallet is missing: the key signs for it");
  const print = (finding: Finding) => console.error(values.json ? JSON.stringify(finding) : findingLine(finding));
  const printCharge = (report: JobReport) => {
    const { checks: _, holds: __, ...charge } = report;
    const line = chargeLine(report);
    if (line !== null) console.log(values.json ? JSON.stringify({ kind: "holds", ...charge }) : line);
  };
  const { url, localKey, close } = await startProxy({
    baseUrl,
    rpcUrl,
    escrow,
    port: count(values.port, "--port") ?? 4141,
    onFinding: print,
    onJob: printCharge,
    ...(wallet !== undefined && { wallet }),
    ...(keyFile !== undefined && { authorizationKey: privateKey(readFileSync(keyFile, "utf8").trim(), "--key-file") }),
    ...(disputeKeyFile !== undefined && {
      disputeKey: privateKey(readFileSync(disputeKeyFile, "utf8").trim(), "--dispute-key-file"),
    }),
    ...(maxCredits !== undefined && { maxCredits }),
    ...(env["SERVICE_API_KEY"] && { apiKey: env["SERVICE_API_KEY"] }),
    ...(env["PROXY_API_KEY"] && { localKey: env["PROXY_API_KEY"] }),
  });
  console.log(`Listening on ${url}`);
  if (localKey !== null && !env["PROXY_API_KEY"]) console.log(`API key for your programs: ${localKey}`);
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      // Checks keep the process alive: a dispute that is due then is still opened.
      console.log(
        "No more requests; ends when the jobs of the last replies are checked. A second signal ends it at once.",
      );
      void close();
    });
  }
}

/** `dailyLimit`: credits that may be locked on a UTC day; null leaves it. Without it, a wallet that has no limit gets the proposed one. */
type AuthorizeOptions = { rpcUrl: string; escrow: Address; wallet: LocalAccount; dailyLimit?: number | null };

/**
 * Makes an authorization key and registers it. From then on every job of the wallet needs its signature, also one that is sent with a stolen API key.
 * `keep` is given the private key before the chain knows it: a key that is lost locks the wallet's jobs until it sets another one.
 */
async function authorize(
  { rpcUrl, escrow, wallet, dailyLimit: asked }: AuthorizeOptions,
  keep: (privateKey: Hex) => void,
): Promise<{ key: Address; dailyLimit: number | null; transactions: Hex[] }> {
  const transport = nodeTransport(rpcUrl);
  const reader = createPublicClient({ transport });
  const sender = createWalletClient({ account: wallet, transport });
  const abi = inferenceEscrowAbi;
  await chainIdOf(reader, rpcUrl);
  const accountOf = { address: escrow, abi, functionName: "accountOf", args: [wallet.address] } as const;
  const { id, flags, free } = await reader.readContract(accountOf).catch((error: unknown) => {
    throw noEscrow(escrow, error);
  });
  if (id === 0) throw new Error(`The wallet ${wallet.address} has no credits yet: buy some first.`);
  const privateKey = generatePrivateKey();
  keep(privateKey);
  const key = privateKeyToAddress(privateKey);
  const isLimited = (flags & ACCOUNT_LIMITED) !== 0;
  const dailyLimit = asked === undefined ? (isLimited ? null : proposedDailyLimit(free)) : asked;
  // A wallet that has frozen its spending stays frozen.
  const limits = [true, dailyLimit ?? 0, (flags & ACCOUNT_FROZEN) !== 0] as const;
  const calls = [
    ...(dailyLimit === null ? [] : [{ abi, functionName: "setLimits", args: limits } as const]),
    { abi, functionName: "setAuthorizationKey", args: [key] } as const,
  ];
  const transactions: Hex[] = [];
  for (const call of calls) {
    try {
      const hash = await sender.sendTransaction({ to: escrow, data: encodeFunctionData(call), chain: null });
      const { status } = await receiptOf(reader, hash);
      if (status !== "success") throw new Error(`${hash} reverted`);
      transactions.push(hash);
    } catch (error) {
      const [limit] = transactions;
      const before = limit === undefined ? "nothing" : `the daily limit of ${dailyLimit} credits, by ${limit}`;
      throw new Error(`${call.functionName} failed: ${firstLine(error)}. Mined before it: ${before}.`);
    }
  }
  return { key, dailyLimit, transactions };
}

/** `owner`: the wallet, or the address of one that this command does not send for. `mostOpen`: null revokes the key. */
type DisputeKeyOptions = { rpcUrl: string; escrow: Address; owner: LocalAccount | Address; mostOpen: number | null };

/** Makes a dispute key and names it, or revokes the wallet's; says what was done or has to be. `keep` is given the private key first. */
async function setDisputeKey(
  { rpcUrl, escrow, owner, mostOpen }: DisputeKeyOptions,
  keep: (privateKey: Hex) => void,
): Promise<string> {
  const wallet = typeof owner === "string" ? owner : owner.address;
  const transport = nodeTransport(rpcUrl);
  const reader = createPublicClient({ transport });
  const abi = inferenceEscrowAbi;
  await chainIdOf(reader, rpcUrl);
  const accountOf = { address: escrow, abi, functionName: "accountOf", args: [wallet] } as const;
  const { id, flags } = await reader.readContract(accountOf).catch((error: unknown) => {
    throw noEscrow(escrow, error);
  });
  if (id === 0) throw new Error(`The wallet ${wallet} has no credits yet: buy some first.`);
  let key: Address = zeroAddress;
  if (mostOpen !== null) {
    const privateKey = generatePrivateKey();
    keep(privateKey);
    key = privateKeyToAddress(privateKey);
  }
  const what = mostOpen === null ? "no key disputes" : `${key} disputes, ${mostOpen} jobs at a time,`;
  const limit = (flags & ACCOUNT_LIMITED) === 0 ? " Set a daily limit: without one its bonds can be locked away." : "";
  const warning = mostOpen === null ? "" : ` Send it some ether for gas.${limit}`;
  const data = encodeFunctionData({ abi, functionName: "setDisputeKey", args: [key, mostOpen ?? 0] });
  if (typeof owner === "string")
    return `Have the wallet ${wallet} call ${escrow} with this data, then ${what} for it.${warning}\n${data}`;
  const sender = createWalletClient({ account: owner, transport });
  const hash = await sender.sendTransaction({ to: escrow, data, chain: null });
  const { status } = await receiptOf(reader, hash);
  if (status !== "success") throw new Error(`setDisputeKey failed: ${hash} reverted.`);
  return `From now on ${what} for ${wallet}.${warning}\nTransaction: ${hash}`;
}

/** The node's URL. One that holds a key is not taken from the arguments, which every user of the machine can read (`ps`). */
function nodeUrl(argument: string | undefined, variable: string | undefined): string {
  const url = argument ?? variable;
  const name = argument === undefined ? "RPC_URL" : "--rpc";
  if (url === undefined || url === "")
    throw new UsageError("RPC_URL is missing: set it to a node of the settlement chain");
  const fault = nodeUrlFault(url, name);
  if (fault !== null) throw new UsageError(fault);
  if (argument !== undefined && secretsOfUrl(url, name).length > 0) {
    throw new UsageError("--rpc holds a key, which every user of this machine can read: set RPC_URL instead");
  }
  return url;
}

function address(text: string, name: string): Address {
  if (!isAddress(text)) throw new UsageError(`${name} ${text} is not an address (or its checksum is wrong)`);
  return text;
}

function privateKey(text: string, name: string): Hex {
  if (!/^0x[0-9a-fA-F]{64}$/.test(text)) throw new UsageError(`${name} holds no private key (0x and 64 hex digits)`);
  return text as Hex;
}

function count(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`${name} ${text} is not a whole number`);
  return Number(text);
}

run(process.argv.slice(2), process.env).catch((error: unknown) => {
  const isUsage = error instanceof UsageError || (error as { code?: string }).code?.startsWith("ERR_PARSE_ARGS");
  console.error(`cmi-client: ${firstLine(error)}${isUsage ? `\n\n${USAGE}` : ""}`);
  process.exitCode = isUsage ? 2 : 1;
});
