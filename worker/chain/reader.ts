import {
  type Address,
  type ContractFunctionReturnType,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
} from "viem";
import { inferenceEscrowAbi, modelCatalogAbi, workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { JsonRpc, twice } from "../../protocol/json-rpc.ts";
import { decodePayee } from "../../protocol/words.ts";
import type { Chain } from "./connect.ts";

/** A job as the escrow stores it. */
export type ChainJob = ContractFunctionReturnType<typeof inferenceEscrowAbi, "view", "jobOf">;
export type Windows = ContractFunctionReturnType<typeof inferenceEscrowAbi, "view", "windows">;
/** What was seen, with the time of the newest block then (Unix seconds) and the moment of looking (`performance.now()`). */
export type Sighting = { job: ChainJob; blockTime: number; at: number };

/** A key's operator, 0 for none, and when the key left it (Unix seconds), 0 while it is in office. */
export type Signer = { operator: number; removedAt: number };

/** A node that takes longer is no help to a job that waits for its first token. */
const READ_MS = 5_000;
/** A block seen within this time is new enough to date an answer. */
const FRESH_MS = 2_000;
/** Keys that nobody knows can be made up by anyone: so many of them are looked up a second. */
const UNKNOWN_KEYS_PER_SECOND = 20;

/** Reads of the contracts. What never changes (windows, a key's operator, a model's number) is asked for once. */
export class ChainReader {
  readonly #client: Chain["client"];
  readonly #rpc: JsonRpc;
  readonly #escrow: { address: Address; abi: typeof inferenceEscrowAbi };
  readonly #catalog: { address: Address; abi: typeof modelCatalogAbi };
  readonly #registry: { address: Address; abi: typeof workerRegistryAbi };
  readonly #operators = new Map<string, number>();
  readonly #models = new Map<string, number>();
  #newest = { number: -1n, timestamp: 0, at: Number.NEGATIVE_INFINITY };
  #unknownKeys = { second: 0, asked: 0 };
  #windows: Windows | undefined;

  constructor(chain: Chain) {
    const { contracts } = chain.deployment;
    this.#client = chain.client;
    this.#rpc = new JsonRpc(chain.rpcUrl);
    this.#escrow = { address: contracts.InferenceEscrow, abi: inferenceEscrowAbi };
    this.#catalog = { address: contracts.ModelCatalog, abi: modelCatalogAbi };
    this.#registry = { address: contracts.WorkerRegistry, abi: workerRegistryAbi };
  }

  /** Time of the newest block, Unix seconds, as it was seen in the last two seconds; earlier where the node does not answer at once. */
  async newestBlockTime(): Promise<number> {
    if (performance.now() - this.#newest.at > FRESH_MS) {
      const read = this.#rpc.request<{ number: Hex; timestamp: Hex }>(
        "eth_getBlockByNumber",
        ["latest", false],
        FRESH_MS,
      );
      // What was seen before does as well: it is only further back.
      await read.then((block) => this.#see(BigInt(block.number), Number(block.timestamp))).catch(() => {});
    }
    return this.#newest.timestamp;
  }

  /** A job, the standing of the key that offers it, and the chain's time, in one round trip. */
  async sight(jobId: Hex, key: Address): Promise<Sighting & { signer: Signer }> {
    const questions = [
      { functionName: "jobOf", args: [jobId] },
      { functionName: "signerOf", args: [key] },
    ] as const;
    const calls = [
      ...questions.map((question) => {
        const data = encodeFunctionData({ abi: this.#escrow.abi, ...question });
        return { method: "eth_call", params: [{ to: this.#escrow.address, data }, "latest"] };
      }),
      { method: "eth_getBlockByNumber", params: ["latest", false] },
    ];
    const [jobData, signerData, block] = await twice(() =>
      this.#rpc.batch<[Hex, Hex, { number: Hex; timestamp: Hex }]>(calls, READ_MS),
    );
    const { abi } = this.#escrow;
    const job = decodeFunctionResult({ abi, functionName: "jobOf", data: jobData });
    const [operator, removedAt] = decodeFunctionResult({ abi, functionName: "signerOf", data: signerData });
    const blockTime = this.#see(BigInt(block.number), Number(block.timestamp));
    return { job, signer: { operator, removedAt }, blockTime, at: performance.now() };
  }

  /** Several jobs and the chain's time, in few round trips. */
  async sightAll(jobIds: readonly Hex[]): Promise<Sighting[]> {
    const block = this.#client.getBlock({ blockTag: "latest" });
    const [{ number, timestamp }, jobs] = await Promise.all([
      block,
      Promise.all(jobIds.map((jobId) => this.#jobOf(jobId))),
    ]);
    const blockTime = this.#see(number, Number(timestamp));
    const at = performance.now();
    return jobs.map((job) => ({ job, blockTime, at }));
  }

  /**
   * Operator that a key signs or has signed for, 0 for none: it serves one for ever. Whether it is in office now is `signer`'s answer. Throws
   * when too many unknown keys were asked for in this second.
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
    const [operator, removedAt] = await this.#client.readContract(call);
    if (operator !== 0) this.#operators.set(key.toLowerCase(), operator);
    return { operator, removedAt };
  }

  /** Catalog number of a model id, null if the catalog does not list it. */
  async modelNumber(id: string): Promise<number | null> {
    const known = this.#models.get(id);
    if (known !== undefined) return known;
    await this.#loadModels();
    return this.#models.get(id) ?? null;
  }

  /** All model ids of the catalog. */
  async modelIds(): Promise<string[]> {
    await this.#loadModels();
    return [...this.#models.keys()];
  }

  /** Worker id of a signing key; 0 if it is not registered. */
  async workerId(signer: Address): Promise<number> {
    return (await this.#payee(signer, 0))?.id ?? 0;
  }

  /** Whether the worker may take jobs of a model: registered, bonded, enough stake, hosting it. */
  async isEligible(signer: Address, model: number): Promise<boolean> {
    return (await this.#payee(signer, model)) !== null;
  }

  /** The deployment's time windows. */
  async windows(): Promise<Windows> {
    this.#windows ??= await this.#client.readContract({ ...this.#escrow, functionName: "windows" });
    return this.#windows;
  }

  async #loadModels(): Promise<void> {
    const count = await this.#client.readContract({ ...this.#catalog, functionName: "modelCount" });
    const known = new Set(this.#models.values());
    const numbers = Array.from({ length: count }, (_, i) => i + 1).filter((n) => !known.has(n));
    const views = await Promise.all(
      numbers.map((n) => this.#client.readContract({ ...this.#catalog, functionName: "modelAt", args: [n] })),
    );
    for (const view of views) this.#models.set(view.listing.id, view.number);
  }

  async #payee(signer: Address, model: number) {
    const call = { ...this.#registry, functionName: "payeeOf", args: [signer, model] } as const;
    return decodePayee(await this.#client.readContract(call));
  }

  #countUnknown(): void {
    const second = Math.floor(performance.now() / 1000);
    if (second !== this.#unknownKeys.second) this.#unknownKeys = { second, asked: 0 };
    this.#unknownKeys.asked += 1;
    if (this.#unknownKeys.asked > UNKNOWN_KEYS_PER_SECOND) throw new Error("too many unknown keys offer jobs");
  }

  /** Takes note of a block; a node that is behind another tells an older one. Returns its time. */
  #see(number: bigint, timestamp: number): number {
    if (number >= this.#newest.number) this.#newest = { number, timestamp, at: performance.now() };
    return timestamp;
  }

  #jobOf(jobId: Hex): Promise<ChainJob> {
    return this.#client.readContract({ ...this.#escrow, functionName: "jobOf", args: [jobId] });
  }
}
