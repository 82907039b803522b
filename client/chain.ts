/** The chain as the client reads it, through a node of its user's choice: contracts, prices, workers, and what happens to its jobs. */
import { type Address, createPublicClient, type Hex, numberToHex, type PublicClient, zeroAddress } from "viem";
import { type JobDigests, jobDigests } from "../protocol/digests.ts";
import { inferenceEscrowAbi, modelCatalogAbi, workerRegistryAbi } from "../protocol/generated/abi.ts";
import type { Prices } from "../protocol/pricing.ts";
import { nodeTransport } from "../shared/node-url.ts";
import { chainLog } from "../verify/chain.ts";
import {
  type AnyEvent,
  decodeLogs,
  type EscrowEvent,
  eventsOf,
  eventTopic,
  jobOfEvent,
  jobTopic,
} from "../verify/events.ts";
import { type JobStory, jobStory } from "../verify/story.ts";

/** A model of the catalog, by its public id. */
export type Model = Prices & { number: number; contextWindow: number };

/** What a deployment decides once. `windows` in seconds. */
export type Deployment = {
  chainId: number;
  catalog: Address;
  registry: Address;
  windows: { completion: number; inclusion: number; dispute: number };
  digests: JobDigests;
};

/** A job that is watched: until `isOver`, or until `end` (milliseconds). `background`: the process need not stay for it. */
type Watched = {
  jobId: Hex;
  from: bigint;
  isOver: (story: JobStory) => boolean;
  end: number;
  background?: boolean;
  done: (story: JobStory | null) => void;
};

/** First wait between two looks at the chain, and the longest, milliseconds. */
const SOON = 250;
const RARELY = 5_000;
/** How long the newest block, the prices and an operator are known, milliseconds. */
const FRESH = 60_000;
/** Blocks that a node may be ahead of the one that answers next. */
const MARGIN = 8n;

/** Only the escrow's events are read. */
const NOWHERE = {
  catalog: zeroAddress,
  registry: zeroAddress,
  panel: zeroAddress,
  stablecoin: zeroAddress,
  serviceToken: zeroAddress,
  treasury: [],
};

type Undisputed = {
  jobId: Hex;
  from: bigint;
  end: number;
  done: (dispute: EscrowEvent<"JobDisputed"> | null) => void;
};

export class ChainView {
  readonly client: PublicClient;
  readonly escrow: Address;
  #deployment: Promise<Deployment> | undefined;
  #models: { at: number; read: Promise<ReadonlyMap<string, Model>> } | undefined;
  #block: { at: number; number: Promise<bigint> } | undefined;
  readonly #operators = new Map<Address, { at: number; operator: Promise<number> }>();
  readonly #workers = new Map<string, Promise<boolean>>();
  readonly #watched = new Set<Watched>();
  readonly #undisputed = new Set<Undisputed>();
  #looking = false;
  #wait = SOON;
  #wake: (() => void) | undefined;

  constructor(rpcUrl: string, escrow: Address) {
    this.client = createPublicClient({
      transport: nodeTransport(rpcUrl, { batch: true, retryCount: 1, timeout: 10_000 }),
    });
    this.escrow = escrow;
  }

  /** Contracts and windows. */
  deployment(): Promise<Deployment> {
    this.#deployment ??= forget(this.#readDeployment(), () => {
      this.#deployment = undefined;
    });
    return this.#deployment;
  }

  /** A model of the catalog; null for none with this id. `again`: reads the prices anew. */
  async model(id: string, again = false): Promise<Model | null> {
    if (again || this.#models === undefined || Date.now() - this.#models.at >= FRESH) {
      const read = forget(this.#readModels(), () => {
        this.#models = undefined;
      });
      this.#models = { at: Date.now(), read };
    }
    return (await this.#models.read).get(id) ?? null;
  }

  /** The operator that a wallet has chosen, 0 for none. `again`: whatever was read before. */
  operatorOf(wallet: Address, again = false): Promise<number> {
    const known = this.#operators.get(wallet);
    if (known !== undefined && !again && Date.now() - known.at < FRESH) return known.operator;
    const operator = this.account(wallet).then((account) => account.operator);
    this.#operators.set(wallet, { at: Date.now(), operator: forget(operator, () => this.#operators.delete(wallet)) });
    return operator;
  }

  /** Free and escrowed credits of a wallet now. */
  account(wallet: Address) {
    const call = { address: this.escrow, abi: inferenceEscrowAbi, functionName: "accountOf", args: [wallet] } as const;
    return this.client.readContract(call);
  }

  /** State of a job as the escrow stores it (`ChainStatus`), 0 for none. */
  async status(jobId: Hex): Promise<number> {
    const call = { address: this.escrow, abi: inferenceEscrowAbi, functionName: "jobOf", args: [jobId] } as const;
    return (await this.client.readContract(call)).status;
  }

  /** Whether this key is a worker that may take jobs of the model. */
  isWorker(worker: Address, model: number): Promise<boolean> {
    const key = `${worker} ${model}`;
    let known = this.#workers.get(key);
    if (known === undefined) {
      known = this.deployment().then(async ({ registry }) => {
        const args = [worker, model] as const;
        const call = { address: registry, abi: workerRegistryAbi, functionName: "payeeOf", args } as const;
        const payee = await this.client.readContract(call);
        // A worker can join or come back at any time: a no is not kept.
        if (payee === 0n) this.#workers.delete(key);
        return payee !== 0n;
      });
      this.#workers.set(
        key,
        forget(known, () => this.#workers.delete(key)),
      );
    }
    return known;
  }

  /** A block that no event of a job asked for now is before. */
  async startBlock(): Promise<bigint> {
    if (this.#block === undefined || Date.now() - this.#block.at > FRESH) {
      const number = this.client.getBlockNumber({ cacheTime: 0 });
      this.#block = { at: Date.now(), number };
      void forget(number, () => {
        this.#block = undefined;
      });
    }
    const number = await this.#block.number;
    return number > MARGIN ? number - MARGIN : 0n;
  }

  /**
   * The story of a job, once `isOver`, or as far as it has come at `end` (milliseconds); null when the chain has no such job from block `from`
   * on. All jobs that are watched share one question to the node. Rejects when the node has not answered until the end.
   */
  watch(job: Omit<Watched, "done">): Promise<JobStory | null> {
    return new Promise((resolve, reject) => {
      const done = (story: JobStory | null) => (this.#unread === null ? resolve(story) : reject(this.#unread));
      this.#watched.add({ ...job, done });
      this.#wait = SOON;
      this.#wake?.();
      if (!this.#looking) void this.#look();
    });
  }

  /** The dispute of a job that somebody opens until `end` (milliseconds); null for none. The process need not stay for it. */
  async watchDispute(job: { jobId: Hex; from: bigint; end: number }): Promise<EscrowEvent<"JobDisputed"> | null> {
    return await new Promise((done) => {
      this.#undisputed.add({ ...job, done });
      if (this.#undisputed.size === 1) void this.#lookForDisputes();
    });
  }

  async #lookForDisputes(): Promise<void> {
    const { windows } = await this.deployment();
    while (this.#undisputed.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, ((windows.dispute + windows.inclusion) * 1000) / 4).unref());
      const jobs = [...this.#undisputed];
      // A look that fails is made again; the last one of a job is its window's end.
      const opened = await this.#events(jobs, [eventTopic("escrow", "JobDisputed")]).catch(() => []);
      for (const job of jobs) {
        const dispute = eventsOf(opened, "escrow", "JobDisputed").find(({ args }) => args.jobId === job.jobId) ?? null;
        if (dispute === null && Date.now() < job.end) continue;
        this.#undisputed.delete(job);
        job.done(dispute);
      }
    }
  }

  /** Why the node gave no answer to the last question; null when it did. */
  #unread: Error | null = null;

  async #look(): Promise<void> {
    this.#looking = true;
    while (this.#watched.size > 0) {
      await new Promise<void>((resolve) => {
        let timer = setTimeout(resolve, this.#wait);
        if ([...this.#watched].every(({ background }) => background)) timer.unref();
        this.#wake = () => {
          clearTimeout(timer);
          this.#wake = undefined;
          timer = setTimeout(resolve, SOON);
        };
      });
      this.#wait = Math.min(this.#wait * 2, RARELY);
      const asked = [...this.#watched];
      const stories = await this.#stories(asked).catch((error: Error) => {
        this.#unread = error;
        return null;
      });
      if (stories !== null) this.#unread = null;
      for (const watched of asked) {
        const story = stories?.get(watched.jobId) ?? null;
        if ((story === null || !watched.isOver(story)) && Date.now() < watched.end) continue;
        this.#watched.delete(watched);
        watched.done(story);
      }
    }
    this.#looking = false;
  }

  async #stories(watched: readonly Watched[]): Promise<ReadonlyMap<Hex, JobStory | null>> {
    const events = Map.groupBy(await this.#events(watched, null), jobOfEvent);
    return new Map(watched.map(({ jobId }) => [jobId, jobStory(jobId, events.get(jobId) ?? [])]));
  }

  /** Events of these jobs, of all names or of some, in one question. */
  async #events(jobs: readonly { jobId: Hex; from: bigint }[], names: Hex[] | null): Promise<AnyEvent[]> {
    const [from = 0n] = jobs.map((job) => job.from).sort((a, b) => Number(a - b));
    const topics = [names, [...new Set(jobs.map(({ jobId }) => jobTopic(jobId)))]];
    const params = { address: this.escrow, topics, fromBlock: numberToHex(from), toBlock: "latest" as const };
    const logs = await this.client.request({ method: "eth_getLogs", params: [params] });
    return decodeLogs(logs.map(chainLog), { ...NOWHERE, escrow: this.escrow });
  }

  async #readDeployment(): Promise<Deployment> {
    const { client, escrow } = this;
    const read = { address: escrow, abi: inferenceEscrowAbi } as const;
    const [chainId, catalog, registry, windows] = await Promise.all([
      client.getChainId(),
      client.readContract({ ...read, functionName: "CATALOG" }),
      client.readContract({ ...read, functionName: "REGISTRY" }),
      client.readContract({ ...read, functionName: "windows" }),
    ]);
    return { chainId, catalog, registry, windows, digests: jobDigests(chainId, escrow) };
  }

  async #readModels(): Promise<ReadonlyMap<string, Model>> {
    const { catalog } = await this.deployment();
    const read = { address: catalog, abi: modelCatalogAbi } as const;
    const count = await this.client.readContract({ ...read, functionName: "modelCount" });
    const numbers = Array.from({ length: count }, (_, i) => i + 1);
    const models = await Promise.all(
      numbers.map((number) => this.client.readContract({ ...read, functionName: "modelAt", args: [number] })),
    );
    return new Map(
      models.map(({ number, listing: { id, creditsPerRequest, creditsPer1kTokens, contextWindow } }) => [
        id,
        { number, creditsPerRequest, creditsPer1kTokens, contextWindow },
      ]),
    );
  }
}

/** A read that is asked again after a failure. The failure goes to whoever waits for the read. */
function forget<T>(read: Promise<T>, drop: () => void): Promise<T> {
  read.catch(drop);
  return read;
}
