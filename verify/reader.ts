/** Reads what an audit looks at, from one node: the logs first, then what they need of other blocks and jobs. */
import type { Address, Hex } from "viem";
import { toApiJobId } from "../protocol/job-id.ts";
import type { AccountWord } from "../protocol/words.ts";
import {
  ACCOUNT_EVENTS,
  dayOf,
  isBalanceEvent,
  JOB_BALANCE_EVENTS,
  jobContext,
  NO_ACCOUNT,
  walletOf,
} from "./accounts.ts";
import type { RangeProgress } from "./audit-range.ts";
import type { WalletEvidence } from "./audit-wallet.ts";
import type { AuditTransaction } from "./calls.ts";
import { type Chain, firstLine, type LogFilter, VerifyError } from "./chain.ts";
import {
  type AnyEvent,
  type AuditAddresses,
  addressTopic,
  decodeLogs,
  type EscrowEventName,
  eventsOf,
  eventTopic,
  inChainOrder,
  jobOfEvent,
  jobTopic,
} from "./events.ts";
import { type BlocksEvidence, CONFIGURATION_EVENTS, type JobEvidence, type Ledger } from "./evidence.ts";
import { isOpen, jobStory } from "./story.ts";

/** Job topics asked for at once; nodes bound the size of a filter. */
const TOPICS = 100;
const DAY = 86_400;
/** Transactions that are kept. */
const TRANSACTIONS = 200;

const topicsOf = (...names: EscrowEventName[]): Hex[] => names.map((name) => eventTopic("escrow", name));
const CONFIGURATION = [
  ...topicsOf(...CONFIGURATION_EVENTS.escrow),
  ...CONFIGURATION_EVENTS.panel.map((name) => eventTopic("panel", name)),
  ...CONFIGURATION_EVENTS.catalog.map((name) => eventTopic("catalog", name)),
  ...CONFIGURATION_EVENTS.registry.map((name) => eventTopic("registry", name)),
];
/** Events of the configuration whose block time is needed: announcements of terms, and removals of signers' keys. */
const TIMED: readonly string[] = [
  "FeeScheduled",
  "ModelListed",
  "PricesScheduled",
  "StakeTermsScheduled",
  "SignerRemoved",
];

/** `stored`: the answer of {@link Chain}'s `storedJob`. `near`: the block of the lock, from anybody: where it is wrong, the lock is looked for. */
export type KnownOfJob = { stored?: Awaited<ReturnType<Chain["storedJob"]>>; near?: bigint };

const noLock = (jobId: Hex, where: string): VerifyError =>
  new VerifyError(
    `the node's ${where} have no JobLocked with the jobId of ${toApiJobId(jobId)}, which the escrow has stored: one is missing or wrong`,
  );

/**
 * Reads from a node what an audit needs.
 *
 * @example
 * const reader = await EvidenceReader.begin(await Chain.open({ rpcUrl, escrow }));
 */
export class EvidenceReader {
  readonly chain: Chain;
  readonly addresses: AuditAddresses;
  /** Block of the deployment: the escrow's first event. */
  readonly birth: bigint;
  /** The events since the deployment that decide what is in force, and those of the workers that were needed so far. */
  #configuration: readonly AnyEvent[];
  /** Workers whose events are read, by their signing keys. */
  readonly #workers = new Map<Address, Promise<void>>();
  readonly #transactions = new Map<Hex, Promise<{ transaction: AuditTransaction; events: AnyEvent[] }>>();

  private constructor(chain: Chain, addresses: AuditAddresses, configuration: readonly AnyEvent[]) {
    this.chain = chain;
    this.addresses = addresses;
    this.#configuration = configuration;
    this.birth = eventsOf(configuration, "escrow", "TreasurySet")[0]?.block ?? chain.startBlock;
  }

  static async begin(chain: Chain): Promise<EvidenceReader> {
    const { escrow, catalog, registry, panel } = chain.addresses;
    // By topic: anybody can register workers, and make the registry emit as many events as they pay for.
    const filter = { address: [escrow, panel, catalog, registry], topics: [CONFIGURATION] };
    const configuration = decodeLogs(await chain.logs.read(filter, chain.startBlock, chain.head), chain.addresses);
    const treasury = eventsOf(configuration, "escrow", "TreasurySet").map(({ args }) => args.treasury);
    if (treasury.length === 0) {
      throw new VerifyError(
        `the escrow ${escrow} has no TreasurySet event from block ${chain.startBlock} on: it was deployed before --start-block, or it is no InferenceEscrow`,
      );
    }
    await chain.readTimes(configuration.filter(({ name }) => TIMED.includes(name)).map(({ block }) => block));
    return new EvidenceReader(chain, { ...chain.addresses, treasury }, configuration);
  }

  /** Jobs that a transaction concerns. */
  async jobsOf(hash: Hex): Promise<Hex[]> {
    const { events } = await this.#transaction(hash);
    return [...new Set(events.flatMap((event) => jobOfEvent(event) ?? []))];
  }

  /** Everything about one job. `known`: what spares questions, in {@link KnownOfJob}. */
  async job(jobId: Hex, text: Uint8Array | null, known: KnownOfJob = {}): Promise<JobEvidence> {
    const { chain } = this;
    const stored = known.stored === undefined ? await chain.storedJob(jobId) : known.stored;
    if (stored === null) {
      throw new VerifyError(
        `the escrow ${chain.addresses.escrow} on chain ${chain.chainId} has no job ${toApiJobId(jobId)}: wrong chain or escrow, or its lock is not mined yet`,
      );
    }
    const own = await this.#jobEvents(jobId, stored.lockedAt, known.near);
    const first = own[0]?.block ?? 0n;
    const last = own.at(-1)?.block ?? first;
    const wallet = jobStory(jobId, own)?.locked.args.wallet;
    if (wallet === undefined) throw noLock(jobId, "logs");
    const [walletHistory, ...found] = await Promise.all([
      this.#walletHistory(wallet, first, last),
      ...[...new Set(own.map(({ tx }) => tx))].map((tx) => this.#transaction(tx)),
    ]);
    const events = inChainOrder(found.flatMap((one) => one.events));
    if (jobStory(jobId, events) === null) throw noLock(jobId, "receipts");
    const [related, configuration] = await Promise.all([
      this.#related(events, walletHistory, last),
      this.#configurationFor(events.filter((event) => jobOfEvent(event) === jobId)),
    ]);
    await chain.readTimes([...events, ...walletHistory, ...related].map(({ block }) => block));
    return {
      jobId,
      chainId: chain.chainId,
      addresses: this.addresses,
      windows: chain.windows,
      disputeBond: chain.disputeBond,
      events,
      transactions: new Map(found.map(({ transaction }) => [transaction.hash, transaction])),
      configuration,
      walletHistory,
      related,
      timeOf: chain.timeOf,
      stored,
      storedProof: own.some(({ name }) => name === "JobProven") ? await chain.storedProof(jobId) : null,
      text,
    };
  }

  /** A wallet's account from block `from` to the newest one, and its jobs: paid for, or credits returned, in blocks `from` to `to`. */
  async wallet(wallet: Address, from: bigint, to: bigint): Promise<WalletEvidence & { jobs: Hex[] }> {
    const { chain, addresses } = this;
    const history = await this.#walletHistory(wallet, from, chain.head);
    const related = await this.#related([], history, chain.head);
    await chain.readTimes([...history, ...related].map(({ block }) => block));
    const own = history.filter(({ block }) => block >= from && block <= to);
    return {
      wallet,
      place: { block: from, logIndex: 0 },
      history,
      context: jobContext(inChainOrder([...history, ...related]), addresses.escrow),
      stored: await chain.accountAt(wallet, chain.head),
      jobs: [...new Set(own.flatMap((event) => jobOfEvent(event) ?? []))],
    };
  }

  /** Reads the evidence for the next blocks of a range, up to `to`. */
  async blocks(progress: RangeProgress, to: bigint): Promise<BlocksEvidence> {
    const { chain, addresses } = this;
    const { escrow, stablecoin } = addresses;
    const from = progress.next;
    const transfer = eventTopic("stablecoin", "Transfer");
    const self = addressTopic(escrow);
    const [own, incoming, outgoing] = await Promise.all([
      this.#events({ address: escrow }, from, to),
      this.#events({ address: stablecoin, topics: [transfer, null, self] }, from, to),
      this.#events({ address: stablecoin, topics: [transfer, self] }, from, to),
    ]);
    const events = inChainOrder([...own, ...incoming, ...outgoing]);
    const wallets = new Set(events.filter(isBalanceEvent).map((event) => walletOf(event).toLowerCase() as Address));
    const unknown = [...wallets].filter((wallet) => progress.accounts[wallet] === undefined);
    const compensated = eventsOf([...progress.compensated, ...events], "escrow", "Compensated");
    const [earlier, accounts] = await Promise.all([
      this.#before(events, progress),
      this.#accountsAt(progress.from - 1n, unknown),
      chain.readTimes(compensated.map(({ block }) => block)),
    ]);
    const open = Object.values(progress.open).flat();
    const configuration = await this.#configurationFor([...open, ...earlier, ...events]);
    const openingOf = (wallet: Address): AccountWord => accounts.get(wallet) ?? NO_ACCOUNT;
    return { from, to, escrow, events, earlier, configuration, openingOf, timeOf: chain.timeOf };
  }

  /** Earlier events of jobs that go on in these blocks and are not among the open ones. */
  async #before(events: readonly AnyEvent[], { next, open }: RangeProgress): Promise<AnyEvent[]> {
    if (next <= this.chain.startBlock) return [];
    const locked = new Set(events.filter(({ name }) => name === "JobLocked").map(jobOfEvent));
    const jobs = events.flatMap((event) => jobOfEvent(event) ?? []);
    return await this.#ofJobs(
      jobs.filter((jobId) => !locked.has(jobId) && open[jobId] === undefined),
      null,
      next - 1n,
    );
  }

  /** The escrow's liabilities and holdings at a block; zero before it existed. */
  async ledgerAt(blockNumber: bigint): Promise<Ledger> {
    if (blockNumber < this.birth) return { credits: 0n, claimableUnits: 0n, tokenUnits: 0n };
    return await this.#atBlock(blockNumber, () => this.chain.ledgerAt(blockNumber));
  }

  async #accountsAt(blockNumber: bigint, wallets: Iterable<Address>): Promise<ReadonlyMap<Address, AccountWord>> {
    const found = new Map<Address, AccountWord>();
    if (blockNumber < this.birth) return found;
    return await this.#atBlock(blockNumber, async () => {
      for (const wallet of wallets) found.set(wallet, await this.chain.accountAt(wallet, blockNumber));
      return found;
    });
  }

  /** Nodes that are no archives forget the state of older blocks. */
  async #atBlock<T>(block: bigint, read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      throw new VerifyError(
        `the node cannot tell the state of block ${block} (${firstLine(error)}). Use an archive node, or a range from the deployment (--from-block ${this.birth}) to the newest block (${this.chain.head}).`,
      );
    }
  }

  /** Decoded events of many logs, with the treasuries known. */
  async #events(filter: LogFilter, from: bigint, to: bigint): Promise<AnyEvent[]> {
    return decodeLogs(await this.chain.logs.read(filter, from, to), this.addresses);
  }

  /** The configuration with the workers that these events name. */
  async #configurationFor(events: readonly AnyEvent[]): Promise<readonly AnyEvent[]> {
    const named = [...new Set(events.flatMap(workerOf))];
    const unknown = named.filter((worker) => !this.#workers.has(worker));
    for (let i = 0; i < unknown.length; i += TOPICS) {
      const some = unknown.slice(i, i + TOPICS);
      const reading = this.#readWorkers(some);
      for (const worker of some) this.#workers.set(worker, reading);
    }
    await Promise.all(named.map((worker) => this.#workers.get(worker)));
    return this.#configuration;
  }

  async #readWorkers(workers: readonly Address[]): Promise<void> {
    const { startBlock, head } = this.chain;
    const filter = { address: this.addresses.registry, topics: [null, null, workers.map(addressTopic)] };
    const found = await this.#events(filter, startBlock, head);
    this.#configuration = inChainOrder([...this.#configuration, ...found]);
  }

  /** Events of the escrow about these jobs, from the deployment on. */
  async #ofJobs(jobs: Iterable<Hex>, names: Hex[] | null, to: bigint): Promise<AnyEvent[]> {
    const topics = [...new Set(jobs)].map(jobTopic);
    const found: AnyEvent[] = [];
    for (let i = 0; i < topics.length; i += TOPICS) {
      const filter = { address: this.addresses.escrow, topics: [names, topics.slice(i, i + TOPICS)] };
      found.push(...(await this.#events(filter, this.chain.startBlock, to)));
    }
    return inChainOrder(found);
  }

  /** The job's events: from its lock until nothing more can happen to it. */
  async #jobEvents(jobId: Hex, lockedAt: number, near?: bigint): Promise<AnyEvent[]> {
    const { chain } = this;
    const { escrow, registry, panel } = this.addresses;
    const { completion, inclusion, finalization, dispute, arbitration, equivocation } = chain.windows;
    // A worker that signed two answers brings its client another window to dispute.
    const disputed = Math.max(completion + inclusion + Math.max(finalization, dispute + inclusion), 2 * equivocation);
    const longest = disputed + arbitration;
    const end = (await chain.firstBlockAt(lockedAt + longest + 1)) - 1n;
    const topic = jobTopic(jobId);
    // WorkerSlashed has the job as its third topic.
    const slashed = [eventTopic("registry", "WorkerSlashed"), null, null, topic];
    const read = async (first: bigint, last: bigint) => {
      const found = await Promise.all([
        this.#events({ address: [escrow, panel], topics: [null, topic] }, first, last),
        this.#events({ address: registry, topics: slashed }, first, last),
      ]);
      return found.flat();
    };
    let events = near === undefined ? [] : inChainOrder(await read(near, end));
    // Nothing happens to a job before its lock: with it, all from there on is found.
    if (!events.some(({ name }) => name === "JobLocked")) {
      events = inChainOrder(await read(await chain.firstBlockAt(lockedAt), end));
    }
    // Dispute, finalization and expiry can be later than their windows, and debts are collected at any time.
    const mayFollow = end < chain.head && !isFinished(jobId, events);
    return mayFollow ? inChainOrder([...events, ...(await read(end + 1n, chain.head))]) : events;
  }

  /** The wallet's own events from the beginning, and those of its jobs since one that states its whole account. */
  async #walletHistory(wallet: Address, first: bigint, last: bigint): Promise<AnyEvent[]> {
    const { escrow } = this.addresses;
    const { logs, startBlock } = this.chain;
    const ofWallet = (names: Hex[]): LogFilter => ({ address: escrow, topics: [names, null, addressTopic(wallet)] });
    const [before, own] = await Promise.all([
      logs.lastBefore(ofWallet(topicsOf("JobLocked", "JobSettled")), first, startBlock),
      this.#events(ofWallet(topicsOf(...ACCOUNT_EVENTS)), startBlock, last),
    ]);
    return inChainOrder([
      ...own,
      ...(await this.#events(ofWallet(topicsOf(...JOB_BALANCE_EVENTS)), before?.blockNumber ?? startBlock, last)),
    ]);
  }

  /** Events of other jobs that the events of the job and of its wallet refer to. */
  async #related(events: readonly AnyEvent[], history: readonly AnyEvent[], last: bigint): Promise<AnyEvent[]> {
    const paid = eventsOf(history, "escrow", "Compensated", "OperatorCharged");
    const transactions = await Promise.all([...new Set(paid.map(({ tx }) => tx))].map((tx) => this.#transaction(tx)));
    const compensated = await this.#compensatedOnDaysOf(eventsOf(events, "escrow", "Compensated"));
    const known = [...events, ...history, ...transactions.flatMap((one) => one.events), ...compensated];
    const locked = new Set(known.filter(({ name }) => name === "JobLocked").map(jobOfEvent));
    const settled = eventsOf(events, "escrow", "JobSettled").map(({ args }) => args.jobId);
    const jobs = [...settled, ...[...history, ...compensated].flatMap((event) => jobOfEvent(event) ?? [])];
    const resolved = eventsOf(history, "escrow", "DisputeResolved").map(({ args }) => args.jobId);
    return inChainOrder([
      ...known.slice(events.length + history.length),
      ...(await this.#ofJobs(
        jobs.filter((id) => !locked.has(id)),
        topicsOf("JobLocked"),
        last,
      )),
      ...(await this.#ofJobs(resolved, topicsOf("JobDisputed"), last)),
    ]);
  }

  /** All compensations on the UTC days of these events, because the day's cap is for all jobs together. */
  async #compensatedOnDaysOf(events: readonly Pick<AnyEvent, "block">[]): Promise<AnyEvent[]> {
    const { chain } = this;
    await chain.readTimes(events.map(({ block }) => block));
    const days = new Set(events.map(({ block }) => dayOf(chain.timeOf(block))));
    const found: AnyEvent[] = [];
    for (const day of days) {
      const from = await chain.firstBlockAt(day * DAY);
      const to = (await chain.firstBlockAt((day + 1) * DAY)) - 1n;
      const filter = { address: this.addresses.escrow, topics: [topicsOf("Compensated")] };
      found.push(...(await this.#events(filter, from, to)));
    }
    return found;
  }

  #transaction(hash: Hex) {
    let found = this.#transactions.get(hash);
    if (found === undefined) {
      found = this.chain.transaction(hash).then(({ transaction, logs }) => ({
        transaction,
        events: decodeLogs(
          logs.map((log) => ({ ...log, transactionHash: hash })),
          this.addresses,
        ),
      }));
      // Jobs of one batch are looked at one after the other: older transactions are read again where they are needed.
      if (this.#transactions.size >= TRANSACTIONS) this.#transactions.clear();
      this.#transactions.set(hash, found);
    }
    return found;
  }
}

/** The signing key of the worker that an event of the escrow or the registry names, lower case. */
function workerOf({ contract, args }: AnyEvent): Address[] {
  const { worker, signer } = args as { worker?: unknown; signer?: unknown };
  const key = contract === "registry" ? signer : contract === "escrow" ? worker : null;
  return typeof key === "string" ? [key.toLowerCase() as Address] : [];
}

/** True if nothing can follow: the job is over and the treasury owes nothing for it. */
function isFinished(jobId: Hex, events: readonly AnyEvent[]): boolean {
  const story = jobStory(jobId, events);
  return story !== null && !isOpen(story.status) && (story.compensated.at(-1)?.args.owed ?? 0n) === 0n;
}
