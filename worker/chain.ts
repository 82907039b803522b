/** The chain as a worker sees it: its node, jobs and time, and what registry and catalog say. */
import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import {
  type Account,
  type Address,
  BaseError,
  type ContractFunctionReturnType,
  createPublicClient,
  createWalletClient,
  decodeFunctionResult,
  defineChain,
  type Hex,
  type Chain as Network,
  type PublicClient,
  type Transport,
} from "viem";
import { escrowCall } from "../protocol/calls.ts";
import { type Deployment, parseDeployment } from "../protocol/deployment.ts";
import { decodeRevert } from "../protocol/events.ts";
import { inferenceEscrowAbi, modelCatalogAbi, workerRegistryAbi } from "../protocol/generated/abi.ts";
import { ChainStatus } from "../protocol/job-status.ts";
import { decodePayee } from "../protocol/words.ts";
import { ChainNode, transportOf } from "../shared/chain-node.ts";
import { RpcError, unwrap } from "../shared/json-rpc.ts";
import { ReadLane } from "../shared/read-lane.ts";
import type { Logger } from "./console.ts";

/** The client and the deployment that a read of the contracts needs. */
export type ChainView = { client: PublicClient; deployment: Deployment };
export type Chain = { client: PublicClient<Transport, Network>; deployment: Deployment; node: ChainNode };

/** A job as the escrow stores it. */
export type ChainJob = ContractFunctionReturnType<typeof inferenceEscrowAbi, "view", "jobOf">;
export type Windows = ContractFunctionReturnType<typeof inferenceEscrowAbi, "view", "windows">;
/**
 * A job as it was seen on chain, with number and time of the newest block then (Unix seconds) and the moment of looking
 * (`performance.now()`).
 */
export type Sighting = { job: ChainJob; block: bigint; blockTime: number; at: number };
/** A job that a key offers. `promised`: the job in the block that the sequencer is building, where that was asked for and the node shows it. */
export type OfferedJob = Sighting & { signer: Signer; promised: ChainJob | null };
/** A key's operator, 0 for none, and when the key left it (Unix seconds), 0 while it is in office. */
export type Signer = { operator: number; removedAt: number };

/** Waits for the node and makes sure that it is the chain of the deployment file. `log` is null for commands. */
export async function connectChain(
  { rpcUrl, rpcUrls = [], deploymentFile }: { rpcUrl: string; rpcUrls?: readonly string[]; deploymentFile: string },
  log: Logger | null,
): Promise<Chain> {
  const deployment = parseDeployment(await readFile(deploymentFile, "utf8"), deploymentFile);
  const chain = defineChain({
    id: deployment.chainId,
    name: `chain ${deployment.chainId}`,
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  });
  const node = new ChainNode([rpcUrl, ...rpcUrls], log);
  const client = createPublicClient({ chain, transport: transportOf(node), cacheTime: 0 });
  await waitForNode(client, rpcUrl, log);

  const chainId = await client.getChainId();
  if (chainId !== deployment.chainId) {
    throw new Error(
      `the node at RPC_URL is chain ${chainId}, but ${deploymentFile} is for chain ${deployment.chainId}`,
    );
  }
  const start: { hash: Hex | null } = await client.getBlock({ blockNumber: BigInt(deployment.startBlock) });
  if (start.hash !== deployment.startBlockHash) {
    throw new Error(
      `the node's block ${deployment.startBlock} is not the one in ${deploymentFile}: it is another chain, or it was reset`,
    );
  }
  node.watch(deployment.chainId);
  return { client, deployment, node };
}

/** A worker may start together with its node; somebody who typed a command is told soon. */
async function waitForNode(client: PublicClient, rpcUrl: string, log: Logger | null): Promise<void> {
  const until = Date.now() + (log === null ? 3_000 : 30_000);
  for (;;) {
    try {
      await client.getBlockNumber();
      return;
    } catch (error) {
      if (Date.now() > until) throw new Error(`no node answers at RPC_URL (${new URL(rpcUrl).host})`, { cause: error });
      log?.warn({ err: error }, "the node does not answer yet");
      await setTimeout(1_000);
    }
  }
}

/** Sends transactions of an account. */
export function walletOf({ client, node }: Chain, account: Account) {
  return createWalletClient({ account, chain: client.chain, transport: transportOf(node) });
}

/** True if a node answered with a refusal; false if it did not answer at all. */
export function isRefusal(error: unknown): boolean {
  return error instanceof BaseError && error.walk((cause) => cause instanceof RpcError) !== null;
}

/** The contract's error that a node's answer carries, wherever in its chain of causes; null if it carries none. */
export function revertOf(error: unknown): ReturnType<typeof decodeRevert> | null {
  if (!(error instanceof BaseError)) return null;
  const found = error.walk((cause) => typeof (cause as { data?: unknown }).data === "string");
  const data = (found as { data?: string } | null)?.data ?? "";
  return /^0x[0-9a-f]{8,}$/i.test(data) ? decodeRevert(data as Hex) : null;
}

/** Catalog id → number, of all listed models. */
export async function readCatalog({ client, deployment }: ChainView): Promise<ReadonlyMap<string, number>> {
  const catalog = { address: deployment.contracts.ModelCatalog, abi: modelCatalogAbi } as const;
  const count = await client.readContract({ ...catalog, functionName: "modelCount" });
  const numbers = Array.from({ length: count }, (_, i) => i + 1);
  const views = await Promise.all(
    numbers.map((number) => client.readContract({ ...catalog, functionName: "modelAt", args: [number] })),
  );
  return new Map(views.map((view) => [view.listing.id, view.number]));
}

/** Id of a worker that may take jobs of a model; `model` 0: of any registered worker. Null if there is none. */
export async function payeeId(
  { client, deployment }: ChainView,
  signer: Address,
  model: number,
): Promise<number | null> {
  const registry = { address: deployment.contracts.WorkerRegistry, abi: workerRegistryAbi } as const;
  const payee = await client.readContract({ ...registry, functionName: "payeeOf", args: [signer, model] });
  return decodePayee(payee)?.id ?? null;
}

/**
 * Chain time between blocks, for one job: the later of this machine's clock and the last block's time carried on.
 * The two clocks can differ, and a quiet chain makes no blocks. It is never before the lock.
 */
export class ChainClock {
  readonly #blockTime: number;
  readonly #at: number;

  constructor({ blockTime, job, at }: Pick<Sighting, "blockTime" | "job" | "at">) {
    this.#blockTime = Math.max(blockTime, job.lockedAt);
    this.#at = at;
  }

  /** Unix seconds, with fractions. */
  now(): number {
    return Math.max(Date.now() / 1000, this.#blockTime + (performance.now() - this.#at) / 1000);
  }
}

/** A node that takes longer is no help to a job that waits for its first token. */
const READ_MS = 5_000;
/** Jobs of one batch: public nodes limit how many calls a batch may have. */
const SIGHTS = 15;
/** A block seen within this time is new enough to date an answer. */
const FRESH_MS = 2_000;
/** Unknown keys can be made up by anyone: so many of them are looked up a second. */
const UNKNOWN_KEYS_PER_SECOND = 20;

type Block = { number: Hex; timestamp: Hex };
type Offer = { jobId: Hex; key: Address; alsoPromised: boolean };
type Read = { sightings: Sighting[]; signers: Signer[]; promised: (ChainJob | null)[] };

/** While somebody waits for a block, the node is asked for it this often. */
const BLOCK_LOOK_MS = 100;

/** Reads of the contracts. What never changes (windows, a key's operator, a model's number) is asked for once. */
export class ChainReader {
  readonly #chain: Chain;
  readonly #rpc: ChainNode;
  readonly #escrow: { address: Address; abi: typeof inferenceEscrowAbi };
  readonly #operators: Map<string, number>;
  readonly #onKey: (key: Address, operator: number) => void;
  #models: ReadonlyMap<string, number> = new Map();
  #newest = { number: -1n, timestamp: 0, at: Number.NEGATIVE_INFINITY };
  #unknownKeys = { second: 0, asked: 0 };
  #windows: Windows | undefined;
  #nextBlock: Promise<void> | undefined;
  readonly #offers = new ReadLane<Offer, OfferedJob>((offers) => this.#sightOffers(offers), SIGHTS);
  readonly #jobs = new ReadLane<Hex, Sighting>(async (jobIds) => (await this.#read(jobIds)).sightings, SIGHTS);

  /**
   * `operators`: of keys that are known from before, in small letters. `onKey` is told of each other one that signs for an operator. Whoever floods
   * the worker with made-up keys after its start must not keep it from knowing its gateways.
   */
  constructor(
    chain: Chain,
    operators: ReadonlyMap<string, number> = new Map(),
    onKey: (key: Address, operator: number) => void = () => {},
  ) {
    this.#operators = new Map(operators);
    this.#onKey = onKey;
    this.#chain = chain;
    this.#rpc = chain.node;
    this.#escrow = { address: chain.deployment.contracts.InferenceEscrow, abi: inferenceEscrowAbi };
  }

  /** Time of the newest block, Unix seconds: at most two seconds old, older only where the node does not answer. */
  async newestBlockTime(): Promise<number> {
    if (performance.now() - this.#newest.at > FRESH_MS) {
      // The block seen before does as well: it is only older.
      await this.#readNewest().catch(() => {});
    }
    return this.#newest.timestamp;
  }

  async #readNewest(): Promise<void> {
    const block = await this.#rpc.request<Block>("eth_getBlockByNumber", ["latest", false], FRESH_MS);
    this.#see(BigInt(block.number), Number(block.timestamp));
  }

  /** Resolves once the node shows a newer block than this. Rejects when `signal` fires. All callers share one look. */
  async blockAfter(block: bigint, signal: AbortSignal): Promise<void> {
    while (this.#newest.number <= block) {
      signal.throwIfAborted();
      this.#nextBlock ??= this.#lookForBlock().finally(() => {
        this.#nextBlock = undefined;
      });
      await this.#nextBlock;
    }
  }

  async #lookForBlock(): Promise<void> {
    await setTimeout(BLOCK_LOOK_MS);
    // The next look asks again.
    await this.#readNewest().catch(() => {});
  }

  /**
   * A job, the standing of the key that offers it, and the chain's time. Jobs of one moment share a round trip. `alsoPromised`: the block that the
   * sequencer is building is asked for the job, too.
   */
  sight(jobId: Hex, key: Address, { alsoPromised }: { alsoPromised: boolean }): Promise<OfferedJob> {
    return this.#offers.ask({ jobId, key, alsoPromised });
  }

  /** Several jobs and the chain's time, in few round trips, for which no offer waits. */
  sightAll(jobIds: readonly Hex[]): Promise<Sighting[]> {
    return Promise.all(jobIds.map((jobId) => this.#jobs.ask(jobId)));
  }

  async #sightOffers(offers: readonly Offer[]): Promise<OfferedJob[]> {
    const keys = [...new Set(offers.map(({ key }) => key))];
    const jobIds = offers.map(({ jobId }) => jobId);
    const alsoPromised = offers.filter((offer) => offer.alsoPromised).map(({ jobId }) => jobId);
    const { sightings, signers, promised } = await this.#read(jobIds, keys, alsoPromised);
    return offers.map(({ jobId, key }, index) => ({
      ...(sightings[index] as Sighting),
      signer: signers[keys.indexOf(key)] as Signer,
      promised: promised[alsoPromised.indexOf(jobId)] ?? null,
    }));
  }

  /** Jobs and the standing of keys, with the chain's time, in one request. `promised`: these jobs as the sequencer promises them, null for none. */
  async #read(jobIds: readonly Hex[], keys: readonly Address[] = [], promised: readonly Hex[] = []): Promise<Read> {
    const { abi, address: to } = this.#escrow;
    const call = (data: Hex, block = "latest") => ({ method: "eth_call", params: [{ to, data }, block] });
    const jobCall = (jobId: Hex, block?: string) => call(escrowCall("jobOf", [jobId]), block);
    const jobOf = (data: Hex): ChainJob => decodeFunctionResult({ abi, functionName: "jobOf", data });
    const answers = await this.#rpc.answers(
      [
        { method: "eth_getBlockByNumber", params: ["latest", false] },
        ...keys.map((key) => call(escrowCall("signerOf", [key]))),
        ...jobIds.map((jobId) => jobCall(jobId)),
        ...promised.map((jobId) => jobCall(jobId, "pending")),
      ],
      READ_MS,
    );
    const needed = answers.slice(0, answers.length - promised.length);
    const [block, ...data] = needed.map(unwrap) as [Block, ...Hex[]];
    const number = BigInt(block.number);
    const blockTime = this.#see(number, Number(block.timestamp));
    const at = performance.now();
    const signers = data.slice(0, keys.length).map((data) => {
      const [operator, removedAt] = decodeFunctionResult({ abi, functionName: "signerOf", data });
      return { operator, removedAt };
    });
    const sightings = data.slice(keys.length).map((data) => ({ job: jobOf(data), block: number, blockTime, at }));
    // A node that knows no pending block has an error, and promises nothing.
    const shown = answers.slice(answers.length - promised.length).map((answer) => {
      const job = "error" in answer || answer.result === "0x" ? null : jobOf(answer.result as Hex);
      return job?.status === ChainStatus.None ? null : job;
    });
    return { sightings, signers, promised: shown };
  }

  /**
   * Operator that a key signs or has signed for, 0 for none: a key serves one operator for ever. {@link signer} tells whether it is
   * in office now. Throws when too many unknown keys were asked for in this second.
   */
  async operatorOf(key: Address): Promise<number> {
    const known = this.#operators.get(key.toLowerCase());
    if (known !== undefined) return known;
    this.#countUnknown();
    return (await this.signer(key)).operator;
  }

  /** A key's standing now. */
  async signer(key: Address): Promise<Signer> {
    const call = { ...this.#escrow, functionName: "signerOf", args: [key] } as const;
    const [operator, removedAt] = await this.#chain.client.readContract(call);
    if (operator !== 0 && !this.#operators.has(key.toLowerCase())) {
      this.#operators.set(key.toLowerCase(), operator);
      this.#onKey(key, operator);
    }
    return { operator, removedAt };
  }

  /** Catalog number of a model id, null if the catalog does not list it. */
  async modelNumber(id: string): Promise<number | null> {
    return this.#models.get(id) ?? (await this.models()).get(id) ?? null;
  }

  /** Catalog id → number, of all listed models now. */
  async models(): Promise<ReadonlyMap<string, number>> {
    this.#models = await readCatalog(this.#chain);
    return this.#models;
  }

  /** The deployment's time windows. */
  async windows(): Promise<Windows> {
    this.#windows ??= await this.#chain.client.readContract({ ...this.#escrow, functionName: "windows" });
    return this.#windows;
  }

  #countUnknown(): void {
    const second = Math.floor(performance.now() / 1000);
    if (second !== this.#unknownKeys.second) this.#unknownKeys = { second, asked: 0 };
    this.#unknownKeys.asked += 1;
    if (this.#unknownKeys.asked > UNKNOWN_KEYS_PER_SECOND) throw new Error("too many unknown keys offer jobs");
  }

  /** Notes a block, unless a newer one was seen: a node can be behind another. Returns its time. */
  #see(number: bigint, timestamp: number): number {
    if (number >= this.#newest.number) this.#newest = { number, timestamp, at: performance.now() };
    return timestamp;
  }
}
