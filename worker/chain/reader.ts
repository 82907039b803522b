import {
  type Address,
  type ContractFunctionReturnType,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  zeroAddress,
} from "viem";
import { inferenceEscrowAbi, modelCatalogAbi, workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { JsonRpc, twice } from "../../protocol/json-rpc.ts";
import type { Chain } from "./connect.ts";

/** A job as the escrow stores it. */
export type ChainJob = ContractFunctionReturnType<typeof inferenceEscrowAbi, "view", "jobOf">;
export type Windows = ContractFunctionReturnType<typeof inferenceEscrowAbi, "view", "windows">;
/** What was seen, with the time of the newest block then (Unix seconds) and the moment of looking (`performance.now()`). */
export type Sighting = { job: ChainJob; blockTime: number; at: number };

/** A node that takes longer is no help to a job that waits for its first token. */
const READ_MS = 5_000;

/** Reads of the contracts. What never changes (windows, a gateway's id, a model's number) is asked for once. */
export class ChainReader {
  readonly #client: Chain["client"];
  readonly #rpc: JsonRpc;
  readonly #escrow: { address: Address; abi: typeof inferenceEscrowAbi };
  readonly #catalog: { address: Address; abi: typeof modelCatalogAbi };
  readonly #registry: { address: Address; abi: typeof workerRegistryAbi };
  readonly #gateways = new Map<string, number>();
  readonly #models = new Map<string, number>();
  #gatewaysAt = Number.NEGATIVE_INFINITY;
  #gatewaysLoad: Promise<void> = Promise.resolve();
  #windows: Windows | undefined;

  constructor(chain: Chain) {
    const { contracts } = chain.deployment;
    this.#client = chain.client;
    this.#rpc = new JsonRpc(chain.rpcUrl);
    this.#escrow = { address: contracts.InferenceEscrow, abi: inferenceEscrowAbi };
    this.#catalog = { address: contracts.ModelCatalog, abi: modelCatalogAbi };
    this.#registry = { address: contracts.WorkerRegistry, abi: workerRegistryAbi };
  }

  /** A job and the chain's time, in one round trip. */
  async sight(jobId: Hex): Promise<Sighting> {
    const question = { abi: this.#escrow.abi, functionName: "jobOf" } as const;
    const data = encodeFunctionData({ ...question, args: [jobId] });
    const calls = [
      { method: "eth_call", params: [{ to: this.#escrow.address, data }, "latest"] },
      { method: "eth_getBlockByNumber", params: ["latest", false] },
    ];
    const [answer, block] = await twice(() => this.#rpc.batch<[Hex, { timestamp: Hex }]>(calls, READ_MS));
    const job = decodeFunctionResult({ ...question, data: answer });
    return { job, blockTime: Number(block.timestamp), at: performance.now() };
  }

  /** Several jobs and the chain's time, in few round trips. */
  async sightAll(jobIds: readonly Hex[]): Promise<Sighting[]> {
    const block = this.#client.getBlock({ blockTag: "latest" });
    const [{ timestamp }, jobs] = await Promise.all([block, Promise.all(jobIds.map((jobId) => this.#jobOf(jobId)))]);
    const at = performance.now();
    return jobs.map((job) => ({ job, blockTime: Number(timestamp), at }));
  }

  /** Id of a gateway by its signing key, 0 if it is none. */
  async gatewayId(signer: Address): Promise<number> {
    const key = signer.toLowerCase();
    if (!this.#gateways.has(key)) await this.#refreshGateways();
    return this.#gateways.get(key) ?? 0;
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
    const [id] = await this.#client.readContract({ ...this.#registry, functionName: "payeeOf", args: [signer] });
    return id;
  }

  /** Whether the worker may take jobs of a model: registered, bonded, enough stake, hosting it. */
  async isEligible(signer: Address, model: number): Promise<boolean> {
    const call = { functionName: "eligiblePayeeOf", args: [signer, model] } as const;
    const [, , eligible] = await this.#client.readContract({ ...this.#registry, ...call });
    return eligible;
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

  /** Ids are permanent and consecutive. Anyone can send a signature of nobody's, so the chain is asked at most every two seconds. */
  #refreshGateways(): Promise<void> {
    const now = performance.now();
    if (now - this.#gatewaysAt < 2_000) return this.#gatewaysLoad;
    this.#gatewaysAt = now;
    this.#gatewaysLoad = this.#loadGateways().catch((error: unknown) => {
      this.#gatewaysAt = Number.NEGATIVE_INFINITY;
      throw error;
    });
    return this.#gatewaysLoad;
  }

  async #loadGateways(): Promise<void> {
    for (let id = this.#gateways.size + 1; id < 256; id++) {
      const signer = await this.#client.readContract({ ...this.#escrow, functionName: "gatewaySigner", args: [id] });
      if (signer === zeroAddress) return;
      this.#gateways.set(signer.toLowerCase(), id);
    }
  }

  #jobOf(jobId: Hex): Promise<ChainJob> {
    return this.#client.readContract({ ...this.#escrow, functionName: "jobOf", args: [jobId] });
  }
}
