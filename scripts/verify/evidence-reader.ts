import type { Address, Hex } from "viem";
import { BALANCE_EVENTS } from "../../protocol/audit/balances.ts";
import type { AuditTransaction } from "../../protocol/audit/calls.ts";
import { isOpen } from "../../protocol/audit/check-end.ts";
import {
  type AnyEvent,
  type AuditAddresses,
  addressTopic,
  decodeLogs,
  eventsOf,
  eventTopic,
  inChainOrder,
  jobOfEvent,
  jobTopic,
} from "../../protocol/audit/event-log.ts";
import type { JobEvidence } from "../../protocol/audit/evidence.ts";
import { jobStory } from "../../protocol/audit/story.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import type { Chain } from "./chain.ts";
import { VerifyError } from "./errors.ts";
import type { LogFilter } from "./log-reader.ts";

const CONFIGURATION = [
  ...(["FeeScheduled", "TreasurySet", "GatewayAdded"] as const).map((name) => eventTopic("escrow", name)),
  ...(["ModelListed", "PricesScheduled", "RetirementScheduled"] as const).map((name) => eventTopic("catalog", name)),
  ...(["WorkerRegistered", "PayoutSet", "StakeTermsScheduled"] as const).map((name) => eventTopic("registry", name)),
  eventTopic("panel", "ArbitersSet"),
];
const BALANCES = BALANCE_EVENTS.map((name) => eventTopic("escrow", name));

/** Reads what an audit looks at, from one node. */
export class EvidenceReader {
  readonly chain: Chain;
  readonly addresses: AuditAddresses;
  /** Catalog, registry, panel and administration since the deployment. */
  readonly configuration: readonly AnyEvent[];
  /** Block of the deployment: the escrow's first event. */
  readonly birth: bigint;
  readonly #transactions = new Map<Hex, Promise<{ transaction: AuditTransaction; events: AnyEvent[] }>>();

  private constructor(chain: Chain, addresses: AuditAddresses, configuration: readonly AnyEvent[]) {
    this.chain = chain;
    this.addresses = addresses;
    this.configuration = configuration;
    this.birth = eventsOf(configuration, "escrow", "TreasurySet")[0]?.block ?? chain.startBlock;
  }

  static async begin(chain: Chain): Promise<EvidenceReader> {
    const { escrow, catalog, registry, panel } = chain.addresses;
    const logs = await chain.logs.read(
      { address: [escrow, catalog, registry, panel], topics: [CONFIGURATION] },
      chain.startBlock,
      chain.head,
    );
    const configuration = decodeLogs(logs, chain.addresses);
    const treasury = eventsOf(configuration, "escrow", "TreasurySet").map(({ args }) => args.treasury);
    if (treasury.length === 0) {
      throw new VerifyError(
        `the escrow ${escrow} has no TreasurySet event from block ${chain.startBlock} on: it was deployed before --start-block, or it is no InferenceEscrow`,
      );
    }
    await chain.readTimes(configuration.map(({ block }) => block));
    return new EvidenceReader(chain, { ...chain.addresses, treasury }, configuration);
  }

  /** Jobs that a transaction concerns. */
  async jobsOf(hash: Hex): Promise<Hex[]> {
    const { events } = await this.#transaction(hash);
    return [...new Set(events.flatMap((event) => jobOfEvent(event) ?? []))];
  }

  /** Everything about one job. */
  async job(jobId: Hex, text: Uint8Array | null): Promise<JobEvidence> {
    const { chain } = this;
    const stored = await chain.storedJob(jobId);
    if (stored === null) {
      throw new VerifyError(
        `the escrow ${chain.addresses.escrow} on chain ${chain.chainId} has no job ${toApiJobId(jobId)}: wrong chain or escrow, or its lock is not mined yet`,
      );
    }
    const own = await this.#jobEvents(jobId, stored.lockedAt);
    const found = await Promise.all([...new Set(own.map(({ tx }) => tx))].map((tx) => this.#transaction(tx)));
    const events = inChainOrder(found.flatMap((one) => one.events));
    const first = own[0]?.block ?? 0n;
    const last = own.at(-1)?.block ?? first;
    const wallet = eventsOf(own, "escrow", "JobLocked")[0]?.args.wallet;
    if (wallet === undefined) {
      throw new VerifyError(
        `the node has no JobLocked event of ${toApiJobId(jobId)}, which the escrow has stored: its logs are incomplete`,
      );
    }
    const { walletHistory, walletContext } = await this.#walletHistory(wallet, first, last);
    await chain.readTimes([...events, ...walletHistory].map(({ block }) => block));
    return {
      jobId,
      chainId: chain.chainId,
      addresses: this.addresses,
      windows: chain.windows,
      disputeBond: chain.disputeBond,
      events,
      transactions: new Map(found.map(({ transaction }) => [transaction.hash, transaction])),
      configuration: this.configuration,
      walletHistory,
      walletContext,
      timeOf: chain.timeOf,
      stored,
      text,
    };
  }

  /** Decoded events of many logs, with the treasuries known. */
  async events(filter: LogFilter, from: bigint, to: bigint): Promise<AnyEvent[]> {
    return decodeLogs(await this.chain.logs.read(filter, from, to), this.addresses);
  }

  /** The job's events: from its lock until nothing more can happen to it. */
  async #jobEvents(jobId: Hex, lockedAt: number): Promise<AnyEvent[]> {
    const { chain } = this;
    const { escrow, registry, panel } = this.addresses;
    const { completion, inclusion, finalization, dispute, arbitration, equivocation } = chain.windows;
    const longest = Math.max(
      completion + inclusion + Math.max(finalization, dispute + inclusion) + arbitration,
      equivocation,
    );
    const from = await chain.firstBlockAt(lockedAt);
    const end = (await chain.firstBlockAt(lockedAt + longest + 1)) - 1n;
    const topic = jobTopic(jobId);
    const read = async (first: bigint, last: bigint) => [
      ...(await this.events({ address: [escrow, panel], topics: [null, topic] }, first, last)),
      // WorkerSlashed has the job as its third topic.
      ...(await this.events(
        { address: registry, topics: [eventTopic("registry", "WorkerSlashed"), null, null, topic] },
        first,
        last,
      )),
    ];
    const events = inChainOrder(await read(from, end));
    // Dispute, finalization and expiry can be later than their windows, and debts are collected at any time.
    const mayFollow = end < chain.head && !isFinished(jobId, events);
    return mayFollow ? inChainOrder([...events, ...(await read(end + 1n, chain.head))]) : events;
  }

  /** The wallet's events from the last one before the lock, and what its other jobs' events mean. */
  async #walletHistory(wallet: Address, first: bigint, last: bigint) {
    const { escrow } = this.addresses;
    const { logs, startBlock } = this.chain;
    const filter: LogFilter = { address: escrow, topics: [BALANCES, null, addressTopic(wallet)] };
    const events = await this.events(filter, first, last);
    const before = await logs.lastBefore(filter, first, startBlock);
    const walletHistory = before === null ? events : inChainOrder([...decodeLogs([before], this.addresses), ...events]);
    const resolved = eventsOf(events, "escrow", "DisputeResolved").map(({ args }) => jobTopic(args.jobId));
    const disputes = { address: escrow, topics: [eventTopic("escrow", "JobDisputed"), resolved] };
    const paid = eventsOf(events, "escrow", "Compensated").map(({ tx }) => this.#transaction(tx));
    const walletContext = [
      ...(resolved.length === 0 ? [] : await this.events(disputes, startBlock, last)),
      ...(await Promise.all(paid)).flatMap((one) => one.events),
    ];
    return { walletHistory, walletContext };
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
      this.#transactions.set(hash, found);
    }
    return found;
  }
}

/** Whether nothing can follow: the job is over and the treasury owes nothing for it. */
function isFinished(jobId: Hex, events: readonly AnyEvent[]): boolean {
  const story = jobStory(jobId, events);
  return story !== null && !isOpen(story.status) && (story.compensated.at(-1)?.args.owed ?? 0n) === 0n;
}
