/** The chain as the client reads it, through a node of its user's choice: contracts, prices, workers, and what happens to its jobs. */
import { type Address, createPublicClient, type Hex, numberToHex, type PublicClient, zeroAddress } from "viem";
import type { JobDigests } from "../protocol/digests.ts";
import { inferenceEscrowAbi, modelCatalogAbi, workerRegistryAbi } from "../protocol/generated/abi.ts";
import type { Prices } from "../protocol/pricing.ts";
import { groupBy } from "../shared/group-by.ts";
import { jobDigests } from "../shared/keccak.ts";
import { nodeTransport } from "../shared/node-transport.ts";
import { chainIdOf, chainLog, noEscrow } from "../verify/chain.ts";
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

/** The values of a deployment that never change. `windows` in seconds. */
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
  done: (story: JobStory | Error | null) => void;
};

/** Before a job's first look at the chain, and between two looks for all of them: the shortest and the longest wait, milliseconds. */
const SOON = 250;
const OFTEN = 1_000;
const RARELY = 5_000;
/** How long the client goes on using the newest block, the prices and an operator that it read, milliseconds. */
const FRESH = 60_000;
/** Jobs in one question, and blocks between their first ones: nodes bound the size of a filter, and its range. */
const MOST_JOBS = 100;
const MOST_BLOCKS = 1_000n;
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
  done: (dispute: EscrowEvent<"JobDisputed"> | Error | null) => void;
};

export class ChainView {
  readonly client: PublicClient;
  readonly escrow: Address;
  readonly #rpcUrl: string;
  #deployment: Promise<Deployment> | undefined;
  #models: { at: number; read: Promise<ReadonlyMap<string, Model>> } | undefined;
  #block: { at: number; number: Promise<bigint> } | undefined;
  readonly #operators = new Map<Address, { at: number; operator: Promise<number> }>();
  readonly #workers = new Map<string, Promise<boolean>>();
  readonly #watched = new Set<Watched>();
  readonly #undisputed = new Set<Undisputed>();
  #looking = false;
  #looked = 0;
  #wait = SOON;
  #wake: (() => void) | undefined;

  constructor(rpcUrl: string, escrow: Address) {
    this.client = createPublicClient({
      transport: nodeTransport(rpcUrl, { batch: true, retryCount: 1, timeout: 10_000 }),
    });
    this.escrow = escrow;
    this.#rpcUrl = rpcUrl;
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

  /** A wallet's dispute key, and the sequence of the event that named it. */
  disputeKeyOf(wallet: Address) {
    const call = { address: this.escrow, abi: inferenceEscrowAbi, args: [wallet] } as const;
    return this.client.readContract({ ...call, functionName: "disputeKeyOf" });
  }

  /** State of a job as the escrow stores it (`ChainStatus`), 0 for none. */
  async status(jobId: Hex): Promise<number> {
    const call = { address: this.escrow, abi: inferenceEscrowAbi, functionName: "jobOf", args: [jobId] } as const;
    return (await this.client.readContract(call)).status;
  }

  /** True if this key is a worker that may take jobs of the model. */
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
   * on. Jobs that are watched share their questions to the node. Rejects when the node has not answered the last one.
   */
  watch(job: Omit<Watched, "done">): Promise<JobStory | null> {
    return new Promise((resolve, reject) => {
      this.#watched.add({ ...job, done: (story) => (story instanceof Error ? reject(story) : resolve(story)) });
      this.#wait = SOON;
      this.#wake?.();
      if (!this.#looking) void this.#look();
    });
  }

  /**
   * The dispute of a job that somebody opens until `end` (milliseconds); null for none. The process need not stay for it. Rejects when the node
   * has not answered the last question.
   */
  async watchDispute(job: { jobId: Hex; from: bigint; end: number }): Promise<EscrowEvent<"JobDisputed"> | null> {
    return await new Promise((resolve, reject) => {
      this.#undisputed.add({ ...job, done: (found) => (found instanceof Error ? reject(found) : resolve(found)) });
      if (this.#undisputed.size === 1) void this.#lookForDisputes();
    });
  }

  async #lookForDisputes(): Promise<void> {
    const { windows } = await this.deployment();
    while (this.#undisputed.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, ((windows.dispute + windows.inclusion) * 1000) / 4).unref());
      const jobs = [...this.#undisputed];
      // A look that fails is made again; the last one of a job is its window's end.
      const opened = await this.#ask(jobs, [eventTopic("escrow", "JobDisputed")], (_jobId, events) => {
        return eventsOf(events, "escrow", "JobDisputed")[0] ?? null;
      });
      for (const job of jobs) {
        const dispute = opened.get(job) ?? null;
        if ((dispute === null || dispute instanceof Error) && Date.now() < job.end) continue;
        this.#undisputed.delete(job);
        job.done(dispute);
      }
    }
  }

  async #look(): Promise<void> {
    this.#looking = true;
    while (this.#watched.size > 0) {
      await new Promise<void>((resolve) => {
        // However many replies come, their jobs share a look a second.
        const wait = () => Math.max(this.#wait, this.#looked + OFTEN - Date.now());
        let timer = setTimeout(resolve, wait());
        if ([...this.#watched].every(({ background }) => background)) timer.unref();
        this.#wake = () => {
          clearTimeout(timer);
          this.#wake = undefined;
          timer = setTimeout(resolve, wait());
        };
      });
      this.#looked = Date.now();
      this.#wait = Math.min(this.#wait * 2, RARELY);
      const asked = [...this.#watched];
      const stories = await this.#ask(asked, null, jobStory);
      for (const watched of asked) {
        const story = stories.get(watched) ?? null;
        const isOver = story !== null && !(story instanceof Error) && watched.isOver(story);
        if (!isOver && Date.now() < watched.end) continue;
        this.#watched.delete(watched);
        watched.done(story);
      }
    }
    this.#looking = false;
  }

  /**
   * Asks for the events of each job, of all names or of some, and passes them to `read`. A job's result is an error if the node did not
   * tell them. Jobs share a question if they begin near each other: one that is older than the node's bound must not take the others with
   * it.
   */
  async #ask<J extends { jobId: Hex; from: bigint }, T>(
    jobs: readonly J[],
    names: Hex[] | null,
    read: (jobId: Hex, events: AnyEvent[]) => T,
  ): Promise<ReadonlyMap<J, T | Error>> {
    const found = new Map<J, T | Error>();
    const askGroup = async (group: readonly J[]): Promise<void> => {
      try {
        const events = groupBy(await this.#events(group, names), jobOfEvent);
        for (const job of group) found.set(job, read(job.jobId, events.get(job.jobId) ?? []));
      } catch (error) {
        for (const job of group) found.set(job, error as Error);
      }
    };
    await Promise.all(groupsOf(jobs).map(askGroup));
    return found;
  }

  /** Events of jobs in the order of their first block, in one question. */
  async #events(jobs: readonly { jobId: Hex; from: bigint }[], names: Hex[] | null): Promise<AnyEvent[]> {
    const topics = [names, [...new Set(jobs.map(({ jobId }) => jobTopic(jobId)))]];
    const fromBlock = numberToHex(jobs[0]?.from ?? 0n);
    const params = { address: this.escrow, topics, fromBlock, toBlock: "latest" as const };
    const logs = await this.client.request({ method: "eth_getLogs", params: [params] });
    return decodeLogs(logs.map(chainLog), { ...NOWHERE, escrow: this.escrow });
  }

  async #readDeployment(): Promise<Deployment> {
    const { client, escrow } = this;
    const read = { address: escrow, abi: inferenceEscrowAbi } as const;
    const chainId = await chainIdOf(client, this.#rpcUrl);
    const [catalog, registry, windows] = await Promise.all([
      client.readContract({ ...read, functionName: "CATALOG" }),
      client.readContract({ ...read, functionName: "REGISTRY" }),
      client.readContract({ ...read, functionName: "windows" }),
    ]).catch((error: unknown) => {
      throw noEscrow(escrow, error);
    });
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

/** Jobs in the order of their first block, cut into questions that a node answers. */
function groupsOf<J extends { from: bigint }>(jobs: readonly J[]): J[][] {
  const groups: J[][] = [];
  for (const job of [...jobs].sort((a, b) => Number(a.from - b.from))) {
    const group = groups.at(-1);
    const first = group?.[0];
    if (group === undefined || first === undefined || group.length === MOST_JOBS || job.from - first.from > MOST_BLOCKS)
      groups.push([job]);
    else group.push(job);
  }
  return groups;
}

/** A read that is asked again after a failure. The failure goes to the callers that wait for the read. */
function forget<T>(read: Promise<T>, drop: () => void): Promise<T> {
  read.catch(drop);
  return read;
}
