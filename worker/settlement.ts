/**
 * Settlement by the worker itself. A gateway settles the jobs it dispatched; where it stays silent, the worker relays its
 * acknowledgement, submits its proof and finalizes, as far as its account has gas.
 */
import { formatEther, type Hex, parseEventLogs } from "viem";
import { escrowCall } from "../protocol/calls.ts";
import { KEEP_PROVEN_SECONDS } from "../protocol/dispatch.ts";
import { decodeRevert } from "../protocol/events.ts";
import { inferenceEscrowAbi } from "../protocol/generated/abi.ts";
import { ChainStatus } from "../protocol/job-status.ts";
import { compactSignature } from "../protocol/messages.ts";
import { receiptOf } from "../protocol/receipt.ts";
import {
  type Chain,
  ChainClock,
  type ChainJob,
  type ChainReader,
  isRefusal,
  payeeId,
  revertOf,
  type Sighting,
  type Windows,
  walletOf,
} from "./chain.ts";
import type { Config } from "./config.ts";
import type { Logger } from "./console.ts";
import type { Identity } from "./keys.ts";
import type { Agreement, CompletionHead, CompletionStore } from "./store.ts";

/** A job that the worker took: running while `head` is null, else finished. */
export type OpenJob = { agreement: Agreement; head: CompletionHead | null };
/**
 * The state of the chain: the job, this worker's id (0: not registered), the chain's time in Unix seconds, and the deployment's windows.
 */
export type Seen = { job: ChainJob; worker: number; now: number; windows: Windows };
export type Policy = Pick<Config, "selfSettleAfter" | "acknowledgeMargin">;

type Call = "acknowledge" | "submitProof" | "finalize";
/** The next step for a job. Times are chain time, Unix seconds. */
export type Step =
  | { do: "wait"; until: number }
  | { do: "send"; calls: Call[]; before: number | null }
  /** Nothing is left to do. `loss`: a finished job will not be paid. */
  | { do: "finish"; why: string; loss: boolean };

/** Seconds until the next look at a job for which no time is due. */
const RUNNING_LOOK = 15;
const PROVEN_LOOK = 60;

/** The next step for a job, from what the chain shows. */
export function nextStep(open: OpenJob, seen: Seen, policy: Policy): Step {
  const { job, worker, now, windows } = seen;
  const mine = job.worker === worker && worker !== 0;
  const finished = open.head !== null;
  switch (job.status) {
    case ChainStatus.None: {
      // The lock was seen once: the node is behind, or the chain reorganised and the gateway sends the lock again.
      const end = open.agreement.assignment.acknowledgeBy + windows.completion + windows.inclusion;
      if (now < end) return { do: "wait", until: now };
      return { do: "finish", why: "the lock vanished from the chain", loss: finished };
    }
    case ChainStatus.Settled:
      return { do: "finish", why: mine ? "settled" : "settled for another worker", loss: finished && !mine };
    case ChainStatus.Failed:
      return { do: "finish", why: "failed by its gateway", loss: finished };
    case ChainStatus.Refunded:
      return { do: "finish", why: "refunded", loss: finished };
    case ChainStatus.Disputed:
      return { do: "wait", until: now + PROVEN_LOOK };
    case ChainStatus.Proven: {
      if (!mine || !finished) return { do: "finish", why: "proven by another worker", loss: finished };
      const from = job.lockedAt + job.deadline;
      if (now >= from) return { do: "send", calls: ["finalize"], before: null };
      return { do: "wait", until: Math.min(from, now + PROVEN_LOOK) };
    }
    default:
      return unsettledStep(open, seen, mine, policy);
  }
}

/** Locked or Acknowledged: the gateway has the first word. Close to a deadline the worker acts by itself. */
function unsettledStep({ agreement, head }: OpenJob, { job, now, windows }: Seen, mine: boolean, policy: Policy): Step {
  const { attempt, acknowledgeBy } = agreement.assignment;
  const finished = head !== null;
  const closes = job.lockedAt + windows.completion + windows.inclusion;
  if (now >= closes) return { do: "finish", why: "nobody settled it in time", loss: finished };
  const acknowledged = mine && job.attempt === attempt;
  if (job.attempt >= attempt && !acknowledged) return { do: "finish", why: "given to another worker", loss: finished };

  const proveAt = head === null ? Number.POSITIVE_INFINITY : proofTime(head, closes, windows, policy);
  if (acknowledged) {
    if (now >= proveAt) return { do: "send", calls: ["submitProof"], before: closes };
    return { do: "wait", until: finished ? now : now + RUNNING_LOOK };
  }
  // Past acknowledgeBy only the gateway can still settle the job.
  if (now >= acknowledgeBy) return { do: "wait", until: now };
  const margin = Math.min(policy.acknowledgeMargin, (acknowledgeBy - job.lockedAt) / 4);
  const acknowledgeAt = acknowledgeBy - margin;
  if (now >= Math.min(acknowledgeAt, proveAt)) {
    // A finished job is proven in the same transaction: the gateway had its time, and a second transaction costs more.
    const calls: Call[] = finished ? ["acknowledge", "submitProof"] : ["acknowledge"];
    return { do: "send", calls, before: acknowledgeBy };
  }
  return { do: "wait", until: finished ? now : Math.min(acknowledgeAt, now + RUNNING_LOOK) };
}

/** When the worker proves a job by itself: when half the inclusion window is left, or sooner if so configured. */
function proofTime(head: CompletionHead, closes: number, windows: Windows, { selfSettleAfter }: Policy): number {
  const latest = closes - windows.inclusion / 2;
  return selfSettleAfter === null ? latest : Math.min(latest, head.finishedAt + selfSettleAfter);
}

/** ABI-encoded call of the escrow for one job. */
function encodeCall(call: Call, { agreement, head }: OpenJob): Hex {
  if (call === "acknowledge") {
    const { assignment, byGateway, byWorker } = agreement;
    return escrowCall("acknowledge", [assignment, compactSignature(byGateway), compactSignature(byWorker)]);
  }
  if (head === null) throw new Error(`${call} needs a completion`);
  if (call === "finalize") return escrowCall("finalize", [head.completion]);
  return escrowCall("submitProof", [head.completion, compactSignature(head.signature)]);
}

type Parts = { chain: Chain; identity: Identity; reader: ChainReader; store: CompletionStore; log: Logger };
type WatchSettings = Policy & Pick<Config, "settlementPollMs" | "keepSettledSeconds">;
type Watched = OpenJob & {
  /** Called when the chain shows that a job which still runs is over. */
  onOver: (why: string) => void;
  /** When to look at the chain again, `performance.now()`. */
  lookAt: number;
  /** True if the chain had this worker's proof before: then its gateway may not have the answer yet. */
  proven: boolean;
  /** When the job was first seen to be over; it is looked at once more before anything is erased. */
  overAt: number | null;
  /** Whether the operator was told that gas is missing. */
  toldNoGas: boolean;
};
type Due = { watched: Watched; step: Extract<Step, { do: "send" }> };

/** Jobs looked at at once. */
const LOOK_BATCH = 100;
/** Jobs served by one transaction. */
const SEND_BATCH = 20;

/** Watches the jobs that this worker took until the chain shows their end. */
export class SettlementWatcher {
  readonly #parts: Parts;
  readonly #settings: WatchSettings;
  readonly #sender: Sender;
  readonly #jobs = new Map<Hex, Watched>();
  readonly #timer: NodeJS.Timeout;
  #round: Promise<void> | null = null;
  #workerId = 0;

  /** Begins to watch; `stored` is what an earlier process left behind. */
  constructor(parts: Parts, settings: WatchSettings, stored: readonly CompletionHead[]) {
    this.#parts = parts;
    this.#settings = settings;
    this.#sender = new Sender(parts);
    for (const head of stored) this.completed(head);
    this.#timer = setInterval(() => this.#tick(), Math.min(settings.settlementPollMs, 1_000));
  }

  /** Answers whose jobs the chain has not shown to be over for long enough. Running jobs are not among them. */
  get unsettled(): number {
    let count = 0;
    for (const { head } of this.#jobs.values()) if (head !== null) count += 1;
    return count;
  }

  /** Stops watching; waits for a round under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#round;
  }

  /** Watches a job that was just taken. `onOver` is called if the chain shows its end while it runs. */
  track(agreement: Agreement, onOver: (why: string) => void): void {
    this.#jobs.set(agreement.assignment.jobId, {
      agreement,
      head: null,
      onOver,
      lookAt: performance.now() + this.#settings.settlementPollMs,
      proven: false,
      overAt: null,
      toldNoGas: false,
    });
  }

  /** The job is finished: its Completion is stored and must get on chain. A look under way goes on with it. */
  completed(head: CompletionHead): void {
    const { jobId } = head.agreement.assignment;
    if (!this.#jobs.has(jobId)) this.track(head.agreement, () => {});
    const watched = this.#jobs.get(jobId) as Watched;
    watched.head = head;
    watched.lookAt = performance.now() + this.#settings.settlementPollMs;
  }

  /** The job ended without a Completion; one that has a Completion stays watched. */
  forget(jobId: Hex): void {
    if (this.#jobs.get(jobId)?.head === null) this.#jobs.delete(jobId);
  }

  #tick(): void {
    if (this.#round !== null) return;
    const now = performance.now();
    const due = [...this.#jobs.values()].filter((watched) => watched.lookAt <= now).slice(0, LOOK_BATCH);
    if (due.length === 0) return;
    this.#round = this.#look(due)
      .catch((error: unknown) => {
        this.#parts.log.error({ err: error, jobs: due.length }, "cannot look after unsettled jobs; trying again");
        for (const watched of due) watched.lookAt = performance.now() + this.#settings.settlementPollMs;
      })
      .finally(() => {
        this.#round = null;
      });
  }

  async #look(jobs: Watched[]): Promise<void> {
    const { chain, reader, identity } = this.#parts;
    if (this.#workerId === 0) this.#workerId = (await payeeId(chain, identity.address, 0)) ?? 0;
    const [windows, sightings] = await Promise.all([
      reader.windows(),
      reader.sightAll(jobs.map((job) => job.agreement.assignment.jobId)),
    ]);
    const due: Due[] = [];
    for (const [i, watched] of jobs.entries()) {
      const sighting = sightings[i] as Sighting;
      const now = new ChainClock(sighting).now();
      const step = nextStep(watched, { job: sighting.job, worker: this.#workerId, now, windows }, this.#settings);
      const wait = step.do === "wait" ? (step.until - now) * 1000 : 0;
      watched.lookAt = performance.now() + Math.max(wait, this.#settings.settlementPollMs);
      if (step.do !== "finish") watched.overAt = null;
      if (sighting.job.status === ChainStatus.Proven) watched.proven = true;
      if (step.do === "send") due.push({ watched, step });
      if (step.do === "finish") await this.#finish(watched, step);
    }
    if (due.length > 0) await this.#send(due);
  }

  /** Erases a job that is over, once that has lasted: a reorganisation may take it back. */
  async #finish(watched: Watched, { why, loss }: Extract<Step, { do: "finish" }>): Promise<void> {
    const { log, store } = this.#parts;
    const { jobId } = watched.agreement.assignment;
    if (watched.head === null) {
      this.#jobs.delete(jobId);
      return watched.onOver(`the chain shows the job as ${why}`);
    }
    const now = performance.now();
    watched.overAt ??= now;
    const { keepSettledSeconds } = this.#settings;
    const seconds = watched.proven ? Math.max(keepSettledSeconds, KEEP_PROVEN_SECONDS) : keepSettledSeconds;
    const keepUntil = watched.overAt + seconds * 1000;
    if (now < keepUntil) {
      watched.lookAt = keepUntil;
      return;
    }
    await store.erase(jobId);
    this.#jobs.delete(jobId);
    if (loss) log.warn({ jobId, why }, "a finished job will not be paid");
    else log.info({ jobId, why }, "answer and completion erased");
  }

  /** Sends what is due for some jobs; the others stay due. */
  async #send(due: Due[]): Promise<void> {
    for (const { watched } of due.slice(SEND_BATCH)) watched.lookAt = 0;
    const tried = await Promise.all(due.slice(0, SEND_BATCH).map((job) => this.#encode(job)));
    const sent = tried.filter((one) => one !== null);
    if (sent.length === 0) return;
    const jobs = sent.map(({ job: { watched, step } }) => ({ jobId: jobIdOf(watched), calls: step.calls }));
    this.#parts.log.info({ jobs }, "the gateway is silent: settling without it");
    try {
      await this.#sender.execute(sent.flatMap(({ calls }) => calls));
    } catch (error) {
      if (!(error instanceof NoGas)) throw error;
      for (const { job } of sent) this.#tellNoGas(job, error);
    }
  }

  /** The calls of a job; null if the escrow would refuse them now. */
  async #encode(job: Due): Promise<{ job: Due; calls: Hex[] } | null> {
    const { watched, step } = job;
    const calls = step.calls.map((call) => encodeCall(call, watched));
    // A refused item costs gas too, so the first call is tried. What follows an acknowledgement can only be tried after it.
    const failure = await this.#wouldFail(calls[0] as Hex);
    if (failure === null) return { job, calls };
    this.#parts.log.warn(
      { jobId: jobIdOf(watched), calls: step.calls, failure },
      "the escrow would refuse this; looking again later",
    );
    return null;
  }

  /** Name of the error that a call would end with now; null if it would succeed. */
  async #wouldFail(data: Hex): Promise<string | null> {
    const { chain, identity } = this.#parts;
    const call = { account: identity.address, to: chain.deployment.contracts.InferenceEscrow, data };
    try {
      await chain.client.call({ ...call, blockTag: "pending" });
      return null;
    } catch (error) {
      const revert = revertOf(error);
      if (revert !== null) return revert.name;
      if (!isRefusal(error)) throw error;
    }
    // Some nodes know no pending block; and some do not say why a call fails.
    try {
      await chain.client.call({ ...call, blockTag: "latest" });
      return null;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return revertOf(error)?.name ?? "a reason that the node does not tell";
    }
  }

  #tellNoGas({ watched, step: { calls, before } }: Due, { balance, needed }: NoGas): void {
    if (watched.toldNoGas) return;
    watched.toldNoGas = true;
    this.#parts.log.error(
      {
        jobId: jobIdOf(watched),
        calls,
        account: this.#parts.identity.address,
        balance,
        needed,
        before: before === null ? null : new Date(before * 1000).toISOString(),
      },
      "the gateway is silent and this worker has no gas: send native currency to `account` before `before`, or the job stays unpaid",
    );
  }
}

const jobIdOf = ({ agreement }: OpenJob): Hex => agreement.assignment.jobId;

/** The worker's account cannot pay for a transaction. Amounts are in the chain's currency. */
class NoGas extends Error {
  override name = "NoGas";
  readonly balance: string;
  readonly needed: string;

  constructor(balance: bigint, needed: bigint) {
    super("the worker's account has too little gas money");
    this.balance = formatEther(balance);
    this.needed = formatEther(needed);
  }
}

/** Gas of a batch: ITEM_GAS must be left before every item, and no item of a worker uses more than the ceiling. */
const ITEM_GAS = 700_000n;
const ITEM_CEILING = 300_000n;
const BASE_GAS = 100_000n;
const RECEIPT_MS = 30_000;

/** Highest fee of a replacement, by the market's. */
const MARKET_BOUND = 4n;

type Fees = { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint };

/**
 * Sends the worker's own transactions, one at a time: the watcher waits for each. The nonce is the chain's count of mined ones,
 * so a transaction that was not mined is replaced by the next, at a higher fee.
 */
class Sender {
  readonly #parts: Parts;
  readonly #wallet: ReturnType<typeof walletOf>;
  #last: (Fees & { nonce: number }) | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#wallet = walletOf(parts.chain, parts.identity.account);
  }

  /** Runs calls of the escrow in one batch; each succeeds or fails alone. Throws NoGas. */
  async execute(items: readonly Hex[]): Promise<void> {
    const { chain, identity, log } = this.#parts;
    const { client, deployment } = chain;
    const [nonce, balance, market] = await Promise.all([
      client.getTransactionCount({ address: identity.address, blockTag: "latest" }),
      client.getBalance({ address: identity.address }),
      client.estimateFeesPerGas(),
    ]);
    const fees = this.#fees(nonce, market);
    const gas = BASE_GAS + ITEM_GAS + ITEM_CEILING * BigInt(items.length);
    if (balance < gas * fees.maxFeePerGas) throw new NoGas(balance, gas * fees.maxFeePerGas);
    const data = escrowCall("execute", [items]);
    const to = deployment.contracts.InferenceEscrow;
    const hash = await this.#wallet.sendTransaction({ to, data, gas, nonce, ...fees });
    this.#last = { nonce, ...fees };
    log.info({ tx: hash, nonce, items: items.length }, "transaction sent");
    const { status, logs } = await receiptOf(client, hash, { timeout: RECEIPT_MS });
    const failures = parseEventLogs({ abi: inferenceEscrowAbi, eventName: "BatchItemFailed", logs });
    if (status === "success" && failures.length === 0) return;
    const failed = failures.map(({ args }) => ({ item: Number(args.index), reason: decodeRevert(args.reason).name }));
    log.warn({ tx: hash, status, failed }, "the escrow refused calls of the transaction");
  }

  /** The market's fees, or a quarter above those of an unmined transaction with this nonce, at most four times the market's. */
  #fees(nonce: number, market: Fees): Fees {
    if (this.#last?.nonce !== nonce) return market;
    const above = (last: bigint, now: bigint): bigint => {
      const raised = (last * 5n) / 4n;
      if (raised <= now) return now;
      return raised > now * MARKET_BOUND ? last : raised;
    };
    return {
      maxFeePerGas: above(this.#last.maxFeePerGas, market.maxFeePerGas),
      maxPriorityFeePerGas: above(this.#last.maxPriorityFeePerGas, market.maxPriorityFeePerGas),
    };
  }
}
