/** Who operates what: one deployment, one node, the person's own key, and how calls are shown and sent. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  type Abi,
  type Address,
  BaseError,
  createPublicClient,
  createWalletClient,
  decodeErrorResult,
  defineChain,
  encodeFunctionData,
  getAddress,
  type Hex,
  isAddress,
  keccak256,
  toBytes,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { type Deployment, parseDeployment } from "../../protocol/deployment.ts";
import * as abis from "../../protocol/generated/abi.ts";
import { fromApiJobId } from "../../protocol/job-id.ts";
import { receiptOf } from "../../protocol/receipt.ts";
import { nodeHost, nodeTransport, nodeUrlFault } from "../../shared/node-url.ts";
import { dataDirOf, readStackFile } from "../../shared/stack-file.ts";
import { firstLine, LogReader } from "../../verify/chain.ts";
import { type AnyEvent, decodeLogs, type EscrowEventName, eventTopic } from "../../verify/events.ts";

/** What the operator can correct; shown without a stack. Exit status 2. */
export class OperatorError extends Error {
  override name = "OperatorError";
}

/** Options of all commands, as parseArgs gives them. */
export type Flags = Record<string, string | boolean | undefined>;
/** What a command prints: for a person, and for machines. */
export type Output = { text: string; json: unknown };
type Answer<T> = (operator: Operator, args: readonly string[]) => T | Promise<T>;
/** `usage`: two words, then what stands behind them. A command shows something, sends a call, or proposes one to the vote. */
export type Command = { usage: string; does: string } & (
  | { show: Answer<Output>; database?: true }
  | { send: Answer<Call> }
  | { propose: Answer<Call> }
);
/** A call of one of the protocol's contracts, and what it does in words. */
export type Call = {
  name: string;
  address: Address;
  abi: Abi;
  functionName: string;
  args: readonly unknown[];
  what: string;
};

/** Errors of all contracts: a governor's call fails with those of its target. */
const ERRORS: Abi = Object.values(abis)
  .flat()
  .filter((item) => item.type === "error");

export class Operator {
  readonly flags: Flags;
  readonly deployment: Deployment;
  readonly rpcUrl: string;
  readonly client;
  readonly contracts;
  readonly #env: NodeJS.ProcessEnv;
  readonly #databaseUrl: string | undefined;
  readonly #chain;
  readonly #logs: LogReader;

  /** Reads deployment and addresses, from the environment or the data folder of a local stack. */
  constructor(flags: Flags, env: NodeJS.ProcessEnv) {
    const { stack } = readStackFile(env);
    const file = resolve(env["DEPLOYMENT_FILE"] || join(dataDirOf(env), "deployment.json"));
    const rpcUrl = env["RPC_URL"] || stack?.rpc_url;
    if (!existsSync(file)) {
      throw new OperatorError(
        `there is no deployment file ${file}: set DEPLOYMENT_FILE, or DATA_DIR to a stack's data folder`,
      );
    }
    if (typeof rpcUrl !== "string") throw new OperatorError("set RPC_URL to a node of the settlement chain");
    const fault = nodeUrlFault(rpcUrl, "RPC_URL");
    if (fault !== null) throw new OperatorError(fault);
    this.flags = flags;
    this.#env = env;
    this.rpcUrl = rpcUrl;
    this.#databaseUrl = env["DATABASE_URL"] || stack?.database_url;
    this.deployment = parseDeployment(readFileSync(file, "utf8"), file);
    const { chainId: id, contracts } = this.deployment;
    this.#chain = defineChain({
      id,
      name: `chain ${id}`,
      nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
      rpcUrls: { default: { http: [rpcUrl] } },
    });
    this.client = createPublicClient({ chain: this.#chain, transport: nodeTransport(rpcUrl), pollingInterval: 100 });
    this.#logs = new LogReader(this.client, 10_000n);
    this.contracts = {
      escrow: { name: "InferenceEscrow", address: contracts.InferenceEscrow, abi: abis.inferenceEscrowAbi },
      catalog: { name: "ModelCatalog", address: contracts.ModelCatalog, abi: abis.modelCatalogAbi },
      registry: { name: "WorkerRegistry", address: contracts.WorkerRegistry, abi: abis.workerRegistryAbi },
      panel: { name: "ArbitrationPanel", address: contracts.ArbitrationPanel, abi: abis.arbitrationPanelAbi },
      treasury: { name: "ProtocolTreasury", address: contracts.ProtocolTreasury, abi: abis.protocolTreasuryAbi },
      governor: { name: "ProtocolGovernor", address: contracts.ProtocolGovernor, abi: abis.protocolGovernorAbi },
      serviceToken: { name: "ServiceToken", address: contracts.ServiceToken, abi: abis.serviceTokenAbi },
    } as const;
  }

  /** Makes sure that the node is of the deployment's chain; every command that looks at the chain begins with it. */
  async checkChain(): Promise<void> {
    const { chainId, startBlock, startBlockHash } = this.deployment;
    const host = nodeHost(this.rpcUrl);
    const found = await this.client.getChainId().catch((error: unknown) => {
      throw new OperatorError(`no node answers at ${host}: ${firstLine(error)}`);
    });
    if (found !== chainId)
      throw new OperatorError(`the node at ${host} is chain ${found}, the deployment is on chain ${chainId}`);
    const block = await this.client.getBlock({ blockNumber: BigInt(startBlock) }).catch(() => null);
    if (block?.hash !== startBlockHash) {
      throw new OperatorError(`the node at ${host} is another chain of the id ${chainId} than the deployment's`);
    }
  }

  get databaseUrl(): string {
    if (!this.#databaseUrl) throw new OperatorError("set DATABASE_URL to the gateway's PostgreSQL");
    return this.#databaseUrl;
  }

  /** Who signs. The key comes from the environment only: arguments are seen by everyone on the machine. */
  get account() {
    const key = this.#env["OPERATOR_PRIVATE_KEY"];
    if (key === undefined || !/^0x[0-9a-fA-F]{64}$/.test(key)) {
      throw new OperatorError("set OPERATOR_PRIVATE_KEY (0x and 64 hex digits) to the key that signs this transaction");
    }
    return privateKeyToAccount(key as Hex);
  }

  /** The node, with the person's key. */
  get wallet() {
    return createWalletClient({
      chain: this.#chain,
      transport: nodeTransport(this.rpcUrl),
      account: this.account,
    });
  }

  /** Whether transactions are sent, or only shown. */
  get sends(): boolean {
    return this.flags["yes"] === true;
  }

  /** All logs of a contract with this first topic, since the deployment. */
  async logs(address: Address, topics: Hex[]) {
    const head = await this.client.getBlockNumber({ cacheTime: 0 });
    return await this.#logs.read({ address, topics: [topics] }, BigInt(this.deployment.startBlock), head);
  }

  /** The escrow's events of these names, since the deployment. */
  async escrowEvents(...names: EscrowEventName[]): Promise<AnyEvent[]> {
    const { escrow, catalog, registry, panel, serviceToken, treasury } = this.contracts;
    const found = await this.logs(
      escrow.address,
      names.map((name) => eventTopic("escrow", name)),
    );
    return decodeLogs(found, {
      escrow: escrow.address,
      catalog: catalog.address,
      registry: registry.address,
      panel: panel.address,
      stablecoin: this.deployment.contracts.Stablecoin,
      serviceToken: serviceToken.address,
      treasury: [treasury.address],
    });
  }

  /**
   * Shows the transaction and, with `--yes`, sends it and waits until it is mined. It is simulated in either case, so that what would
   * revert is told with its reason before anything is signed.
   */
  async submit(call: Call): Promise<Output> {
    const { name: contract, address: to, functionName, args, what } = call;
    const from = this.account.address;
    await this.#simulate(call, from);
    const shown = { what, from, to, contract, function: functionName, args };
    const lines = [
      what,
      `  from ${from}`,
      `  to   ${contract} ${to}`,
      `  ${functionName}(${args.map(show).join(", ")})`,
    ];
    if (!this.sends) {
      return {
        text: [...lines, "Not sent. Repeat with --yes to send it."].join("\n"),
        json: { sent: false, ...shown },
      };
    }
    const hash = await this.wallet.sendTransaction({ to, data: encode(call) });
    const { status, blockNumber } = await receiptOf(this.client, hash);
    if (status !== "success") throw new Error(`${what}: transaction ${hash} reverted in block ${blockNumber}`);
    return {
      text: [...lines, `Sent: ${hash}, mined in block ${blockNumber}.`].join("\n"),
      json: { sent: true, ...shown, transaction: hash, block: Number(blockNumber) },
    };
  }

  /** Proposes a call by the timelock. What the timelock could not do is refused before anyone has to vote on it. */
  async propose(call: Call): Promise<Output> {
    const { what, address, functionName, name } = call;
    await this.#simulate({ ...call, what: `${what} (executed today)` }, this.deployment.contracts.ProtocolTimelock);
    const { governor } = this.contracts;
    const proposal = [[address], [0n], [encode(call)]] as const;
    const args = [...proposal, what];
    const output = await this.submit({ ...governor, functionName: "propose", args, what: `Propose: ${what}` });
    const id = await this.client.readContract({
      ...governor,
      functionName: "hashProposal",
      args: [...proposal, keccak256(toBytes(what))],
    });
    return {
      text: `${output.text}\nProposal ${id}: ${functionName} of ${name}`,
      json: { ...(output.json as object), proposal_id: String(id), description: what },
    };
  }

  /** Throws with the contract's own error when the call would revert. */
  async #simulate(call: Call, from: Address): Promise<void> {
    try {
      await this.client.call({ account: from, to: call.address, data: encode(call) });
    } catch (error) {
      throw new OperatorError(`${call.what}: it would revert: ${reasonOf(error)}`);
    }
  }
}

const encode = ({ abi, functionName, args }: Call): Hex => encodeFunctionData({ abi, functionName, args: [...args] });

function reasonOf(error: unknown): string {
  const inner = error instanceof BaseError ? error.walk((one) => (one as { data?: unknown }).data !== undefined) : null;
  const raw = (inner as { data?: Hex | { data?: Hex } } | null)?.data;
  const data = typeof raw === "string" ? raw : raw?.data;
  if (data === undefined || data === "0x") return firstLine(error);
  try {
    const { errorName, args } = decodeErrorResult({ abi: ERRORS, data });
    return `${errorName}(${(args ?? []).map(show).join(", ")})`;
  } catch {
    // An error that no contract of ours declares, a token's for instance.
    return firstLine(error);
  }
}

/** JSON with integers of any size in decimal. */
export const toJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, (_, one) => (typeof one === "bigint" ? String(one) : one), indent);

/** An argument as text; structs as JSON. */
const show = (value: unknown): string => (typeof value === "object" ? toJson(value) : String(value));

/** Unix seconds as people write a time. */
export const iso = (seconds: number): string => new Date(seconds * 1000).toISOString();

// Readers of single arguments: each says which one is wrong, with which value, and what is wanted.

export function readAddress(value: string, name: string): Address {
  if (!isAddress(value)) throw new OperatorError(`${name}: "${value}" is not an address (or its checksum is wrong)`);
  return getAddress(value);
}

export function readJobId(value: string): Hex {
  const jobId = /^0x[0-9a-fA-F]{32}$/.test(value) ? (value.toLowerCase() as Hex) : fromApiJobId(value.toLowerCase());
  if (jobId === null) throw new OperatorError(`"${value}" is not a job id: job_ and 32 hex digits`);
  return jobId;
}

/** A whole number from `least` to `most`. */
export function readInteger(value: string | boolean | undefined, name: string, least: number, most: number): number {
  if (typeof value !== "string") throw new OperatorError(`${name} is missing`);
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < least || number > most) {
    throw new OperatorError(`${name} ${value} must be a whole number from ${least} to ${most}`);
  }
  return number;
}

/** The text of an option. */
export function readOption({ flags }: Operator, name: string): string {
  const value = flags[name];
  if (typeof value !== "string" || value === "") throw new OperatorError(`--${name} is missing`);
  return value;
}

/** One of a few words. */
export function readChoice<T extends string>(value: string, name: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === value);
  if (found === undefined) throw new OperatorError(`${name} "${value}" must be one of ${choices.join(", ")}`);
  return found;
}
