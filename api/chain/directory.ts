import type { Logger } from "pino";
import {
  type Address,
  type ContractFunctionReturnType,
  decodeFunctionResult,
  encodeEventTopics,
  encodeFunctionData,
  type Hex,
  isAddressEqual,
  numberToHex,
  parseEventLogs,
  type RpcLog,
  toEventSelector,
} from "viem";
import type { Contracts } from "../../protocol/deployment.ts";
import { modelCatalogAbi, workerRegistryAbi } from "../../protocol/generated/abi.ts";
import { type Tier, tierName } from "../../protocol/tiers.ts";
import { inBatches } from "../../shared/in-batches.ts";
import type { Answer } from "../../shared/json-rpc.ts";
import { type Repeated, repeat } from "../../shared/repeat.ts";
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

/** Models, terms and workers are read this often even without an event: announced prices take effect by time, and a node can miss an event. */
const REFRESH_MS = 30_000;
const READS_AT_ONCE = 20;
/** Workers that are read after one look for events; the others wait for the next look, a second later. */
const READS_PER_LOOK = 100;
/** Of all registered workers, so many are read again every 30 s, in turns: there can be many, as registering needs no stake. */
const IN_TURN_PER_REFRESH = 200;
/**
 * Gas of a read of one worker. A usual one takes 0.7 million, and each model that it hosts 700 more: strangers can register all 65,535. A
 * worker that needs more than this makes its own read fail, and no other of the batch. The bound also keeps the reply to a batch short enough to read.
 */
const READ_GAS = 3_000_000n;
/** A read that the node answers with an error is tried so often, a second apart: the error may pass. */
const READ_TRIES = 3;

/** The events that are looked for from every worker. Strangers can emit the three others without a stake, as many and as long as they like. */
const EVENTS = [...modelCatalogAbi, ...workerRegistryAbi].flatMap((item) =>
  item.type === "event" && !["WorkerRegistered", "HostingSet", "PayoutSet"].includes(item.name)
    ? [toEventSelector(item)]
    : [],
);

type WorkerView = ContractFunctionReturnType<typeof workerRegistryAbi, "view", "workerAt">;

/**
 * Models and workers read from the chain itself, so that a chat request never depends on the index. Models and terms are read again after an event of
 * theirs, and now and then because announced prices and retirements take effect by time. A worker that takes jobs is read again after each event of its
 * own; any other when it gets enough stake, and in turn. So strangers who register without a stake cause a bounded number of reads.
 */
export class Directory {
  readonly #rpc: Rpc;
  readonly #contracts: Contracts;
  readonly #head: Head;
  readonly #logger: Logger;
  #models = new Map<string, Model>();
  /** Workers that may take jobs. */
  readonly #workers = new Map<number, RegisteredWorker>();
  /** The same, by their id. */
  #sorted: readonly RegisteredWorker[] = [];
  #slash: SlashTerms = { amount: 0, worth: 0 };
  #minimumStake = 0n;
  /** By the id of a worker that is to be read again: how often the node has failed to read it since it last could. */
  readonly #due = new Map<number, number>();
  /** Ids of workers that took jobs until they could not be read. The node may be at fault, so they are read every 30 s. */
  readonly #unreadable = new Set<number>();
  /** Id of the worker that was read last in turn. */
  #lastInTurn = 0;
  #readBlock = 0;
  #readAt = 0;
  #following: Repeated | undefined;

  constructor(rpc: Rpc, contracts: Contracts, head: Head, logger: Logger) {
    this.#rpc = rpc;
    this.#contracts = contracts;
    this.#head = head;
    this.#logger = logger;
  }

  /** Reads everything, and follows what changes. */
  async start(intervalMs = 1_000): Promise<void> {
    this.#readBlock = Number(await this.#rpc.client.getBlockNumber({ cacheTime: 0 }));
    await this.#readTerms();
    await this.#readDue(Number.POSITIVE_INFINITY);
    this.#following = repeat(async () => {
      try {
        await this.#follow();
      } catch (error) {
        this.#logger.warn({ err: error }, "models and workers could not be read; the last ones stay");
      }
    }, intervalMs);
  }

  stop(): void {
    void this.#following?.stop();
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
    return this.workers().filter((worker) => worker.models.has(model));
  }

  /** By their id. */
  workers(): readonly RegisteredWorker[] {
    return this.#sorted;
  }

  worker(signer: string): RegisteredWorker | undefined {
    return this.#sorted.find((worker) => worker.signer === signer);
  }

  slash(): SlashTerms {
    return this.#slash;
  }

  get #registry() {
    return { address: this.#contracts.WorkerRegistry, abi: workerRegistryAbi } as const;
  }

  async #follow(): Promise<void> {
    const head = this.#head.block.number;
    // A reorganisation can have taken back what an event told.
    const isOld = Date.now() - this.#readAt > REFRESH_MS || head < this.#readBlock;
    let hasNewTerms = false;
    try {
      if (head > this.#readBlock) hasNewTerms = await this.#noteChanges(this.#readBlock + 1, head);
    } catch (error) {
      if (!isOld) throw error;
      // After an outage a node can refuse to search so many blocks, and would refuse them each time. What they told is read in turns.
      this.#logger.warn({ err: error }, "events of models and workers could not be read; they are passed over");
    }
    if (isOld || hasNewTerms) await this.#readTerms();
    if (isOld) this.#readAgain([...this.#workers.keys(), ...this.#unreadable, ...(await this.#inTurn())]);
    this.#readBlock = head;
    await this.#readDue(READS_PER_LOOK);
  }

  /** Takes note of the workers that events of these blocks changed. True if models or terms changed. */
  async #noteChanges(first: number, last: number): Promise<boolean> {
    const { ModelCatalog, WorkerRegistry } = this.#contracts;
    const blocks = { fromBlock: numberToHex(first), toBlock: numberToHex(last) };
    const ids = [...this.#workers.keys()];
    const hosting = encodeEventTopics({ abi: workerRegistryAbi, eventName: "HostingSet", args: { worker: ids } });
    const filters = [
      { address: [ModelCatalog, WorkerRegistry], topics: [EVENTS], ...blocks },
      ...(ids.length > 0 ? [{ address: [WorkerRegistry], topics: hosting, ...blocks }] : []),
    ];
    const calls = filters.map((filter) => ({ method: "eth_getLogs", params: [filter] }));
    const logs = (await this.#rpc.batch<RpcLog[][]>(calls)).flat();
    const joining = parseEventLogs({ abi: workerRegistryAbi, eventName: ["StakeAdded", "UnbondingCancelled"], logs });
    for (const event of joining) {
      const mayTakeJobs = event.eventName === "UnbondingCancelled" || event.args.stake >= this.#minimumStake;
      if (mayTakeJobs) this.#readAgain([event.args.worker]);
    }
    // An event of one worker names it and its signer.
    const ofWorkers = logs.filter(
      ({ address, topics }) => isAddressEqual(address, WorkerRegistry) && topics.length > 2,
    );
    this.#readAgain(ofWorkers.map(({ topics }) => Number(topics[1])).filter((id) => this.#workers.has(id)));
    return ofWorkers.length < logs.length;
  }

  /** The next workers in turn, of all that ever registered. */
  async #inTurn(): Promise<number[]> {
    const count = await this.#workerCount();
    const first = this.#lastInTurn < count ? this.#lastInTurn + 1 : 1;
    this.#lastInTurn = Math.min(first + IN_TURN_PER_REFRESH - 1, count);
    return range(first, this.#lastInTurn);
  }

  #workerCount(): Promise<number> {
    return this.#rpc.client.readContract({ ...this.#registry, functionName: "workerCount" });
  }

  async #readTerms(): Promise<void> {
    const read = (functionName: "minimumStake" | "slashAmount") =>
      this.#rpc.client.readContract({ ...this.#registry, functionName });
    const [models, minimumStake, slashAmount, worth] = await Promise.all([
      this.#readModels(),
      read("minimumStake"),
      read("slashAmount"),
      this.#rpc.client.readContract({ ...this.#registry, functionName: "svcWorth" }),
    ]);
    this.#models = new Map(models.map((model) => [model.id, model]));
    const amount = Number(slashAmount);
    this.#slash = { amount, worth: (amount * worth) / UNITS_PER_1K_SVC };
    if (minimumStake !== this.#minimumStake) this.#readAgain(range(1, await this.#workerCount()));
    this.#minimumStake = minimumStake;
    this.#readAt = Date.now();
  }

  async #readModels(): Promise<Model[]> {
    const catalog = { address: this.#contracts.ModelCatalog, abi: modelCatalogAbi } as const;
    const count = await this.#rpc.client.readContract({ ...catalog, functionName: "modelCount" });
    const views = await inBatches(range(1, count), READS_AT_ONCE, (number) =>
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

  #readAgain(ids: readonly number[]): void {
    for (const id of ids) if (!this.#due.has(id)) this.#due.set(id, 0);
  }

  /** Reads workers that are due, at most so many. One that the node cannot read takes no more jobs: perhaps it has begun to unbond. */
  async #readDue(most: number): Promise<void> {
    const ids = [...this.#due.keys()].slice(0, most);
    for (let from = 0; from < ids.length; from += READS_AT_ONCE) {
      const some = ids.slice(from, from + READS_AT_ONCE);
      const calls = some.map((id) => {
        const data = encodeFunctionData({ abi: workerRegistryAbi, functionName: "workerAt", args: [id] });
        const call = { to: this.#contracts.WorkerRegistry, data, gas: numberToHex(READ_GAS) };
        return { method: "eth_call", params: [call, "latest"] };
      });
      const answers = await this.#rpc.answers(calls);
      for (const [index, answer] of answers.entries()) {
        this.#take(some[index] as number, answer);
      }
    }
    this.#sorted = [...this.#workers.values()].sort((a, b) => a.id - b.id);
  }

  #take(id: number, answer: Answer): void {
    if ("error" in answer) {
      const failures = (this.#due.get(id) ?? 0) + 1;
      if (failures < READ_TRIES) return void this.#due.set(id, failures);
      this.#logger.warn({ err: answer.error, worker: id }, "a worker cannot be read: it gets no jobs");
      if (this.#workers.has(id)) this.#unreadable.add(id);
    } else this.#unreadable.delete(id);
    this.#due.delete(id);
    const view = "error" in answer ? null : decodeWorker(answer.result as Hex);
    if (!view?.active) this.#workers.delete(id);
    else {
      const { signer, stake, endpoint, models } = view;
      this.#workers.set(id, { id, signer, stake: Number(stake), endpoint, models: new Set(models) });
    }
  }
}

const decodeWorker = (data: Hex): WorkerView =>
  decodeFunctionResult({ abi: workerRegistryAbi, functionName: "workerAt", data });

/** Numbers from `first` to `last`, both included. */
const range = (first: number, last: number): number[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
