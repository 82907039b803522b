import type { Logger } from "pino";
import type { Address } from "viem";
import type { Contracts } from "../../protocol/deployment.ts";
import { modelCatalogAbi, workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { type Tier, tierName } from "../../protocol/tiers.ts";
import type { Head, Rpc } from "./rpc.ts";

/** A model that can be asked for now. */
export type Model = {
  number: number;
  id: string;
  tier: Tier;
  creditsPerRequest: number;
  creditsPer1kTokens: number;
  contextWindow: number;
  parameters: string;
  ownedBy: string;
  createdAt: number;
  retiresAt: number;
};

/** A worker that may take jobs now, as far as the chain is concerned. */
export type RegisteredWorker = {
  id: number;
  signer: Address;
  /** Millionths of an SVC. */
  stake: number;
  endpoint: string;
  models: ReadonlySet<number>;
};

/** The stake that a slash takes, and its worth, as governance states both now. */
export type SlashTerms = {
  /** Millionths of an SVC. */
  amount: number;
  /** Credits. */
  worth: number;
};

/** Millionths of an SVC in 1,000 SVC. */
const UNITS_PER_1K_SVC = 1_000_000_000;

const REFRESH_MS = 30_000;
const READS_AT_ONCE = 20;

/**
 * Models and workers read from the chain itself, so that a chat request never depends on the index. Re-read when one of
 * their contracts emits anything, and now and then because announced prices and retirements take effect by time.
 */
export class Directory {
  readonly #rpc: Rpc;
  readonly #contracts: Contracts;
  readonly #head: Head;
  readonly #logger: Logger;
  #models = new Map<string, Model>();
  #workers: RegisteredWorker[] = [];
  #slash: SlashTerms = { amount: 0, worth: 0 };
  #readBlock = 0;
  #readAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(rpc: Rpc, contracts: Contracts, head: Head, logger: Logger) {
    this.#rpc = rpc;
    this.#contracts = contracts;
    this.#head = head;
    this.#logger = logger;
  }

  async start(intervalMs = 1_000): Promise<void> {
    await this.refresh();
    this.#timer = setInterval(() => {
      this.#refreshIfChanged().catch((error) =>
        this.#logger.warn({ err: error }, "models and workers could not be read; the last ones stay"),
      );
    }, intervalMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** A model that is not retired, by its public id. */
  model(id: string): Model | undefined {
    const model = this.#models.get(id);
    return model && (model.retiresAt === 0 || this.#head.time < model.retiresAt) ? model : undefined;
  }

  models(): Model[] {
    return [...this.#models.keys()].flatMap((id) => this.model(id) ?? []);
  }

  /** Tokens that a model takes, by its number, also after its retirement; no limit is known of an unknown one. */
  contextWindow(number: number): number {
    const model = [...this.#models.values()].find((one) => one.number === number);
    return model?.contextWindow ?? Number.POSITIVE_INFINITY;
  }

  /** Workers that host the model, healthy or not. */
  workersOf(model: number): RegisteredWorker[] {
    return this.#workers.filter((worker) => worker.models.has(model));
  }

  workers(): readonly RegisteredWorker[] {
    return this.#workers;
  }

  slash(): SlashTerms {
    return this.#slash;
  }

  async refresh(): Promise<void> {
    const block = await this.#rpc.client.getBlockNumber({ cacheTime: 0 });
    const [models, workers, slash] = await Promise.all([this.#readModels(), this.#readWorkers(), this.#readSlash()]);
    this.#models = new Map(models.map((model) => [model.id, model]));
    this.#workers = workers;
    this.#slash = slash;
    this.#readBlock = Number(block);
    this.#readAt = Date.now();
  }

  async #refreshIfChanged(): Promise<void> {
    const head = this.#head.block.number;
    if (Date.now() - this.#readAt > REFRESH_MS || head < this.#readBlock) return this.refresh();
    if (head === this.#readBlock) return;
    const logs = await this.#rpc.client.getLogs({
      address: [this.#contracts.ModelCatalog, this.#contracts.WorkerRegistry],
      fromBlock: BigInt(this.#readBlock + 1),
      toBlock: BigInt(head),
    });
    if (logs.length > 0) await this.refresh();
    else this.#readBlock = head;
  }

  async #readModels(): Promise<Model[]> {
    const catalog = { address: this.#contracts.ModelCatalog, abi: modelCatalogAbi } as const;
    const count = await this.#rpc.client.readContract({ ...catalog, functionName: "modelCount" });
    const views = await eachOf(count, (number) =>
      this.#rpc.client.readContract({ ...catalog, functionName: "modelAt", args: [number] }),
    );
    return views.map(({ number, listing, createdAt, retiresAt }) => ({
      number,
      id: listing.id,
      tier: tierName(listing.tier),
      creditsPerRequest: listing.creditsPerRequest,
      creditsPer1kTokens: listing.creditsPer1kTokens,
      contextWindow: listing.contextWindow,
      parameters: listing.parameters,
      ownedBy: listing.ownedBy,
      createdAt,
      retiresAt,
    }));
  }

  async #readSlash(): Promise<SlashTerms> {
    const registry = { address: this.#contracts.WorkerRegistry, abi: workerRegistryAbi } as const;
    const [slashAmount, worth] = await Promise.all([
      this.#rpc.client.readContract({ ...registry, functionName: "slashAmount" }),
      this.#rpc.client.readContract({ ...registry, functionName: "svcWorth" }),
    ]);
    const amount = Number(slashAmount);
    return { amount, worth: (amount * worth) / UNITS_PER_1K_SVC };
  }

  async #readWorkers(): Promise<RegisteredWorker[]> {
    const registry = { address: this.#contracts.WorkerRegistry, abi: workerRegistryAbi } as const;
    const count = await this.#rpc.client.readContract({ ...registry, functionName: "workerCount" });
    const views = await eachOf(count, (id) =>
      this.#rpc.client.readContract({ ...registry, functionName: "workerAt", args: [id] }),
    );
    return views
      .filter((worker) => worker.active)
      .map(({ id, signer, stake, endpoint, models }) => ({
        id,
        signer,
        stake: Number(stake),
        endpoint,
        models: new Set(models),
      }));
  }
}

/** Reads items 1 … count, a bounded number at a time. */
async function eachOf<T>(count: number, read: (id: number) => Promise<T>): Promise<T[]> {
  const items: T[] = [];
  for (let first = 1; first <= count; first += READS_AT_ONCE) {
    const last = Math.min(first + READS_AT_ONCE - 1, count);
    const ids = Array.from({ length: last - first + 1 }, (_, index) => first + index);
    items.push(...(await Promise.all(ids.map(read))));
  }
  return items;
}
