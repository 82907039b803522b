/** The operator at work: one deployment, one node, the person's own key, and how calls are shown and sent. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  type Abi,
  type Address,
  BaseError,
  createPublicClient,
  createWalletClient,
  decodeErrorResult,
  encodeFunctionData,
  type Hex,
  keccak256,
  toBytes,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { parseNetworks } from "../api/outbound/address.ts";
import { DEV_CHAIN_ID, parseDeployment } from "../protocol/deployment.ts";
import * as abis from "../protocol/generated/abi.ts";
import { receiptOf } from "../protocol/receipt.ts";
import { protocolAt } from "../scripts/deploy/contracts.ts";
import { nodeTransport } from "../shared/node-transport.ts";
import { nodeHost, nodeUrlFault } from "../shared/node-url.ts";
import { dataDirOf, readStackFile } from "../shared/stack-file.ts";
import { firstLine } from "../verify/chain.ts";
import { explainGovernor } from "./governor-errors.ts";

/** An error that the operator can correct; shown without a stack. Exit status 2. */
export class OperatorError extends Error {
  override name = "OperatorError";
}

/** The output of a command: for a person, and for machines. */
export type Output = { text: string; json: unknown };
/** A call of one of the protocol's contracts, and what it does in words. */
export type Call = { to: Contract; functionName: string; args: readonly unknown[]; what: string };
type Contract = { name: string; address: Address; abi: Abi };

export const call = (to: Contract, functionName: string, args: readonly unknown[], what: string): Call => ({
  to,
  functionName,
  args,
  what,
});

/** Errors of all contracts: a governor's call fails with those of its target. */
const ERRORS: Abi = Object.values(abis)
  .flat()
  .filter((item) => item.type === "error");

/** Node and contracts, as RPC_URL and DEPLOYMENT_FILE name them, or as the local stack in DATA_DIR has them. */
function readPlace(env: NodeJS.ProcessEnv) {
  const { stack } = readStackFile(env);
  const file = resolve(env["DEPLOYMENT_FILE"] || join(dataDirOf(env), "deployment.json"));
  const rpcUrl = env["RPC_URL"] || stack?.rpc_url;
  if (!existsSync(file)) {
    throw new OperatorError(
      `there is no deployment file ${file}: set DEPLOYMENT_FILE, or DATA_DIR to a stack's data folder`,
    );
  }
  if (rpcUrl === undefined) throw new OperatorError("set RPC_URL to a node of the settlement chain");
  const fault = nodeUrlFault(rpcUrl, "RPC_URL");
  if (fault !== null) throw new OperatorError(fault);
  const databaseUrl = env["DATABASE_URL"] || stack?.database_url;
  return { rpcUrl, databaseUrl, deployment: parseDeployment(readFileSync(file, "utf8"), file) };
}

/** An interface: the compiler would search an alias for type variables at each command, which doubles the time of the check. */
export interface Operator extends ReturnType<typeof openOperator> {}

/** One deployment, and who acts on it. `sends`: transactions are not only shown. */
export function openOperator(env: NodeJS.ProcessEnv, sends: boolean) {
  const { rpcUrl, databaseUrl, deployment } = readPlace(env);
  const transport = nodeTransport(rpcUrl);
  const client = createPublicClient({ transport, pollingInterval: 100 });
  const { ALLOW_ENDPOINT_NETWORKS: networks } = env;
  return {
    deployment,
    /** Workers' endpoints that may be asked. */
    endpoints: {
      allowLocal: deployment.chainId === DEV_CHAIN_ID,
      allowNetworks: networks ? parseNetworks(networks) : [],
    },
    rpcUrl,
    client,
    sends,
    databaseUrl,
    ...protocolAt(client, deployment.contracts),
    /** The node, with the person's key. It comes from the environment only: arguments are seen by everyone on the machine. */
    get wallet() {
      const key = env["OPERATOR_PRIVATE_KEY"];
      if (key === undefined || !/^0x[0-9a-fA-F]{64}$/.test(key)) {
        throw new OperatorError(
          "set OPERATOR_PRIVATE_KEY (0x and 64 hex digits) to the key that signs this transaction",
        );
      }
      return createWalletClient({ transport, account: privateKeyToAccount(key as Hex) });
    },
  };
}

/** Makes sure that the node is of the deployment's chain; every command that looks at the chain begins with it. */
export async function checkChain({ client, rpcUrl, deployment }: Operator): Promise<void> {
  const { chainId, startBlock, startBlockHash } = deployment;
  const host = nodeHost(rpcUrl);
  const found = await client.getChainId().catch((error: unknown) => {
    throw new OperatorError(`no node answers at ${host}: ${firstLine(error)}`);
  });
  if (found !== chainId)
    throw new OperatorError(`the node at ${host} is chain ${found}, the deployment is on chain ${chainId}`);
  const block = await client.getBlock({ blockNumber: BigInt(startBlock) }).catch(() => null);
  if (block?.hash !== startBlockHash) {
    throw new OperatorError(`the node at ${host} is another chain of the id ${chainId} than the deployment's`);
  }
}

/**
 * Shows the transaction and, with `--yes`, sends it and waits until it is mined. It is simulated in either case, so that what would
 * revert is told with its reason before anything is signed.
 */
export async function submit(operator: Operator, request: Call): Promise<Output> {
  const { what, functionName, args } = request;
  const { name: contract, address: to } = request.to;
  const { client, wallet, sends } = operator;
  const from = wallet.account.address;
  await simulate(operator, request, from);
  const shown = { sent: sends, what, from, to, contract, function: functionName, args };
  const text = `${what}\n  from ${from}\n  to   ${contract} ${to}\n  ${functionName}(${args.map(show).join(", ")})`;
  if (!sends) return { text: `${text}\nNot sent. Repeat with --yes to send it.`, json: shown };
  const hash = await wallet.sendTransaction({ to, data: encode(request), chain: null });
  const { status, blockNumber } = await receiptOf(client, hash);
  if (status !== "success") throw new Error(`${what}: transaction ${hash} reverted in block ${blockNumber}`);
  return {
    text: `${text}\nSent: ${hash}, mined in block ${blockNumber}.`,
    json: { ...shown, transaction: hash, block: Number(blockNumber) },
  };
}

/** Proposes a call by the timelock. What the timelock could not do is refused before anyone has to vote on it. */
export async function propose(operator: Operator, request: Call): Promise<Output> {
  const { what, to, functionName } = request;
  const { governor, timelock } = operator;
  await simulate(operator, { ...request, what: `${what} (executed today)` }, timelock.address);
  const proposal = [[to.address], [0n], [encode(request)]] as const;
  const output = await submit(operator, call(governor, "propose", [...proposal, what], `Propose: ${what}`));
  const id = await governor.read.hashProposal([...proposal, keccak256(toBytes(what))]);
  return {
    text: `${output.text}\nProposal ${id}: ${functionName} of ${to.name}`,
    json: { ...(output.json as object), proposal_id: String(id), description: what },
  };
}

/** Throws with the contract's own error when the call would revert. */
async function simulate({ client }: Operator, request: Call, from: Address): Promise<void> {
  try {
    await client.call({ account: from, to: request.to.address, data: encode(request) });
  } catch (error) {
    throw new OperatorError(`${request.what}: it would revert: ${reasonOf(error)}`);
  }
}

const encode = ({ to: { abi }, functionName, args }: Call): Hex =>
  encodeFunctionData({ abi, functionName, args: [...args] });

function reasonOf(error: unknown): string {
  const inner = error instanceof BaseError ? error.walk((one) => (one as { data?: unknown }).data !== undefined) : null;
  const raw = (inner as { data?: Hex | { data?: Hex } } | null)?.data;
  const data = typeof raw === "string" ? raw : raw?.data;
  if (data === undefined || data === "0x") return firstLine(error);
  try {
    const { errorName, args } = decodeErrorResult({ abi: ERRORS, data });
    return explainGovernor(errorName, args ?? []) ?? `${errorName}(${(args ?? []).map(show).join(", ")})`;
  } catch {
    // An error that no contract of ours declares, a token's for instance.
    return firstLine(error);
  }
}

export const toJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, (_, one) => (typeof one === "bigint" ? String(one) : one), indent);

/** An argument as text; structs as JSON. */
const show = (value: unknown): string => (typeof value === "object" ? toJson(value) : String(value));

export const iso = (seconds: number): string => new Date(seconds * 1000).toISOString();
