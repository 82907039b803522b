/** One nonce from its signed bytes to the receipt: sent, sent again, offered otherwise, mined, or used by somebody else. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Counter, Histogram } from "prom-client";
import type { Hex, LocalAccount } from "viem";
import { unwrap } from "../../shared/json-rpc.ts";
import { hashOfTransaction } from "../../shared/keccak.ts";
import type { Broadcaster } from "./broadcaster.ts";
import { isSameUser, type NonceUser, userOfNonce } from "./nonce-user.ts";
import {
  type Bounds,
  type Facts,
  marketFees,
  type NodeRefusal,
  type Offered,
  offerOf,
  type Step,
  stepAfterRefusal,
  stepOfStuck,
} from "./offers.ts";
import { batchCalldata, batchGas, lacksLogs, type MinedBatch, type Operation, readReceipt } from "./operations.ts";
import type { Offer, Outbox, OutboxRow, Variant } from "./outbox.ts";
import { findReceipts } from "./receipts.ts";
import type { Head, RawReceipt, Rpc } from "./rpc.ts";

/** Everything that a process needs to send transactions as its signer. */
export type SigningContext = {
  account: LocalAccount;
  chainId: number;
  escrow: Hex;
  head: Head;
  outbox: Outbox;
  bounds: Bounds;
  /** A transaction not mined for this long gets a higher fee, ms. */
  replaceAfterMs: number;
  metrics: {
    batchItems: Histogram;
    confirmationSeconds: Histogram<"kind">;
    operations: Counter<"kind" | "outcome">;
    /** Steps taken for transactions that were refused or not mined: raise, lower, fewer, foreign; resend after a broken promise. */
    transactionSteps: Counter<"step">;
  };
  logger: Logger;
  /** False while this process may not send: the signer lock is lost. */
  maySend: () => boolean;
  /** Changes when that lock was lost and taken again: another process may have used nonces meanwhile. */
  term: () => number;
  /** Told which jobs' operations the chain took back: what was known of their end is not true any more. */
  takenBack: (jobIds: Hex[]) => Promise<void>;
  /** Told of a defect after which this process must not go on: ends it, for the next one to start clean. */
  fatal: (error: unknown, message: string) => void;
};

/** `stopping` is true once this process stops: what is open is left to the next one. `mostGas`: what its node took when it refused more. */
export type Sending = {
  context: SigningContext;
  rpc: Rpc;
  broadcaster: Broadcaster;
  stopping: () => boolean;
  mostGas: () => bigint | null;
};

/** A variant and what its block makes of it: one of the chain, or one that the sequencer is building. */
export type PlacedVariant = { variant: Variant; batch: MinedBatch };

/** Outcome of one nonce: mined as one of our variants, or used by a transaction that is not ours; the sender's `count` then, at `block`. `abandoned`: the process stops. */
type NonceOutcome =
  | ({ status: "mined" } & PlacedVariant)
  | { status: "foreign"; count: number; block: Block }
  | { status: "abandoned" };

const POLL_MS = 100;
/** Pause after the node did not answer, or not clearly, or refused. */
const UNCLEAR_MS = 250;
/** Pause where the fee is beyond a bound, or beyond what the signer has: only time or a person helps. */
const UNAFFORDABLE_MS = 2_000;
/** Between the two looks that must find the same foreign transaction; a reorganisation may take it back meanwhile. */
const FOREIGN_MS = 3_000;
/** The same where the node does not show twice who used the nonce: receipts of one address can be that late. */
const UNSEEN_FOREIGN_MS = 30_000;
/** So many looks at a receipt without logs are believed where its operations may have left none. */
const QUIET_LOOKS = 20;
/** Gas of a transaction that only uses up its nonce. On some rollups the data costs gas as well; what is not used is not paid. */
const EMPTY_GAS = 100_000n;
const READ_MS = 5_000;
const NOTHING_SENT = { status: "nothing", receipt: null } as const;

/** Signs a transaction with the first `offer.operations` of the operations; with none, one to the signer itself. */
export async function signVariant(
  { account, chainId, escrow }: Pick<SigningContext, "account" | "chainId" | "escrow">,
  { nonce, items }: Pick<OutboxRow, "nonce" | "items">,
  offer: Offer,
): Promise<Variant> {
  const { operations, gas, maxFee, priorityFee } = offer;
  const call =
    operations === 0
      ? { to: account.address, data: "0x" as const }
      : { to: escrow, data: batchCalldata(items.slice(0, operations)) };
  const fees = { maxFeePerGas: maxFee, maxPriorityFeePerGas: priorityFee };
  const raw = await account.signTransaction({ type: "eip1559", chainId, nonce, gas, ...call, ...fees });
  return { hash: hashOfTransaction(raw), raw, operations, gas, maxFee, priorityFee };
}

/** The first offer for a batch. `tries`: batches that ran out of gas as a whole with it. */
export function firstOffer(
  { head, bounds }: Pick<SigningContext, "head" | "bounds">,
  items: readonly Operation[],
  tries: number,
): Offer {
  const gas = batchGas(items) * 2n ** BigInt(tries);
  return { operations: items.length, gas, ...marketFees(head.block.baseFee, gas, bounds) };
}

/**
 * Brings one recorded transaction to its end. Returns when the outcome is known, or `abandoned` when this process
 * stops. The row then stays open for the next one. `onPromise` is told of each block for which the sequencer promises the transaction, and null when
 * that is broken.
 */
export function settleNonce(
  sending: Sending,
  row: OutboxRow,
  onPromise: (promised: PlacedVariant | null) => void,
): Promise<NonceOutcome> {
  return new OpenNonce(sending, row, onPromise).settle();
}

/** A recorded nonce until its outcome is known. */
class OpenNonce {
  readonly #sending: Sending;
  readonly #row: OutboxRow;
  readonly #onPromise: (promised: PlacedVariant | null) => void;
  readonly #log: Logger;
  /** Number of the block for which the sequencer promises it; null while it does not. */
  #promisedFor: number | null = null;
  /** True while the newest variant has to be sent, for the first time or again. */
  #send = true;
  /** First sending of the newest variant, ms; later where waiting was not its fault. Sending the same bytes again does not start it anew. */
  #since = Date.now();
  #refusal: NodeRefusal | null = null;
  /** The node's last refusal, for the log only. */
  #refusedWith = "";
  #steppedInBlock = -1;
  #quietLooks = 0;
  /** The use of the nonce that was seen, while it is by no variant of ours with a receipt. */
  #user: SeenUser | null = null;

  constructor(sending: Sending, row: OutboxRow, onPromise: (promised: PlacedVariant | null) => void) {
    this.#sending = sending;
    this.#row = row;
    this.#onPromise = onPromise;
    this.#log = sending.context.logger.child({ nonce: row.nonce });
  }

  /** One round: send if need be, look for a receipt, and where there is none ask the chain why. */
  async settle(): Promise<NonceOutcome> {
    const { context, stopping } = this.#sending;
    while (!stopping()) {
      const sent = this.#send && context.maySend() ? await this.#broadcast() : NOTHING_SENT;
      const found = await findReceipt(this.#sending, this.#row, sent.receipt, this.#quietLooks, this.#log);
      if (found.is === "mined") return { status: "mined", variant: found.variant, batch: found.batch };
      let pause = sent.status === "unclear" ? UNCLEAR_MS : POLL_MS;
      if (found.is === "unreachable") pause = this.#wait();
      else if (found.is === "without logs") this.#quietLooks += 1;
      else if (found.is === "promised") this.#promised(found);
      else if (this.#promisedFor !== null) this.#missed(this.#promisedFor, found.newest);
      else if (context.maySend()) {
        const next = await this.#askWhy(sent.status === "refused");
        if (typeof next === "object") return next;
        pause = Math.max(pause, next);
      }
      await sleep(pause);
    }
    return { status: "abandoned" };
  }

  get #latest(): Variant {
    return this.#row.variants.at(-1) as Variant;
  }

  async #broadcast(): Promise<{ status: "taken" | "refused" | "unclear"; receipt: RawReceipt | null }> {
    const result = await this.#sending.broadcaster.send(this.#latest.raw);
    this.#send = result.status !== "taken";
    switch (result.status) {
      case "taken":
        this.#refusal = null;
        return result;
      case "refused":
        // Behind a gap it says so four times a second.
        if (result.error.message !== this.#refusedWith) {
          this.#log.warn({ err: result.error }, "the node did not take a transaction: the chain is asked why");
        }
        this.#refusedWith = result.error.message;
        break;
      case "unclear":
        this.#log.warn({ err: result.error }, "no clear answer to a transaction; the same bytes are sent again");
    }
    return { status: result.status, receipt: null };
  }

  /** The sequencer promised the transaction, so it is not stuck: no other variant is offered. */
  #promised({ variant, batch }: PlacedVariant): void {
    this.#since = Date.now();
    if (this.#promisedFor === batch.blockNumber) return;
    this.#promisedFor = batch.blockNumber;
    this.#onPromise({ variant, batch });
  }

  /** The node shows no receipt of what was promised. Before it has a block of that height, that says nothing: another machine may have answered. */
  #missed(promisedFor: number, newest: number): void {
    if (newest < promisedFor) return;
    this.#log.warn(
      { block: promisedFor },
      "the sequencer broke its promise of a transaction: the same bytes are sent again",
    );
    this.#sending.context.metrics.transactionSteps.inc({ step: "resend" });
    this.#promisedFor = null;
    this.#onPromise(null);
    this.#since = Date.now();
    this.#send = true;
  }

  /** The node is away: nothing is known, nothing is decided, and an outage is no reason to offer more. Returns the pause, ms. */
  #wait(): number {
    this.#since = Date.now();
    this.#send = this.#sending.context.maySend();
    return UNCLEAR_MS;
  }

  /** Why the transaction was refused, or is not mined in time, and what to do then. Returns the outcome if that is known, or a pause in ms. */
  async #askWhy(refused: boolean): Promise<NonceOutcome | number> {
    const isStuck = Date.now() - this.#since > this.#sending.context.replaceAfterMs;
    if (!refused && !isStuck && this.#user === null) return POLL_MS;
    const facts = await look(this.#sending, this.#row, this.#log);
    if (facts === null) {
      this.#send = this.#sending.context.maySend();
      return UNCLEAR_MS;
    }
    if (this.#user !== null && facts.count <= this.#row.nonce) {
      // A node that is behind the block in which the nonce was used says nothing of it.
      if (facts.block < (this.#user.found?.block ?? 0)) return UNCLEAR_MS;
      this.#log.warn("a reorganisation took back what had used a nonce of ours: the same bytes are sent again");
      this.#user = null;
      this.#send = true;
      return POLL_MS;
    }
    const { context, mostGas } = this.#sending;
    const { nonce, variants } = this.#row;
    const gasOf = gasOfFirst(this.#row);
    const offered = { nonce, variants, gasOf, mostGas: mostGas(), isTaken: !refused, bounds: context.bounds };
    return this.#take(this.#nextStep(offered, facts, isStuck), offered, facts);
  }

  #nextStep(offered: Offered, facts: Facts, isStuck: boolean): Step {
    if (!offered.isTaken) return stepAfterRefusal(offered, facts, this.#refusal, Date.now());
    if (isStuck) return stepOfStuck(offered, facts, this.#steppedInBlock);
    return facts.count > offered.nonce ? "used" : "waits";
  }

  async #take(step: Step, offered: Offered, facts: Look): Promise<NonceOutcome | number> {
    switch (step) {
      case "used":
        this.#send = false;
        this.#user = await whoUsed(this.#sending, this.#row, this.#user, this.#log);
        return this.#user?.isForeign ? { status: "foreign", count: facts.count, block: facts.newest } : UNCLEAR_MS;
      case "waits":
        // A node that has the bytes says so as it refuses them.
        this.#send = false;
        this.#refusal = null;
        return POLL_MS;
      case "early":
        // Refused for the gap before it perhaps: what is wrong with it shows when it is the next one.
        this.#since = Date.now();
        return UNCLEAR_MS;
      case "poor": {
        const { address: signer } = this.#sending.context.account;
        this.#log.error({ signer, balance: String(facts.balance) }, "the signer cannot pay gas, fund it");
        this.#since = Date.now();
        return UNAFFORDABLE_MS;
      }
      case "bound":
        this.#sayBound(step, facts);
        this.#since = Date.now();
        return UNAFFORDABLE_MS;
      case "again":
        this.#refusal ??= { block: facts.block, at: Date.now(), steps: 0, stepBlock: facts.block };
        return UNCLEAR_MS;
      default: {
        const offer = offerOf(step, offered, facts);
        if (offer === null) this.#sayBound(step, facts);
        else await offerAnew(this.#sending.context, this.#row, step, offer, this.#log);
        this.#steppedInBlock = facts.block;
        if (this.#refusal !== null) {
          this.#refusal = { ...this.#refusal, steps: this.#refusal.steps + 1, stepBlock: facts.block };
        }
        this.#since = Date.now();
        this.#send = true;
        return offer === null ? UNAFFORDABLE_MS : 0;
      }
    }
  }

  #sayBound(step: Step, { baseFee, balance }: Facts): void {
    const { operations, gas, maxFee, priorityFee } = this.#latest;
    this.#log.error(
      { step, operations, gas, maxFee, priorityFee, baseFee, balance, ...this.#sending.context.bounds },
      "a bound of what may be offered is reached: the transaction waits as it is",
    );
  }
}

/** Adds a variant with another price or fewer operations, on record before it is sent. */
async function offerAnew(
  context: SigningContext,
  row: OutboxRow,
  step: "raise" | "lower" | "fewer",
  offer: Offer,
  log: Logger,
): Promise<void> {
  const variant = await signVariant(context, row, offer);
  await context.outbox.addVariant(row.nonce, variant);
  row.variants.push(variant);
  context.metrics.transactionSteps.inc({ step });
  const { operations, maxFee } = offer;
  const told = { hash: variant.hash, maxFee, operations, of: row.items.length };
  if (step === "raise") log.warn(told, "a transaction is not mined: its fee is raised");
  else if (step === "lower") log.warn(told, "the node refuses a transaction: its fee is lowered");
  else log.error(told, "no other price helps a transaction: it is offered with fewer operations");
}

/** Gas of the first operations of a row. A batch that ran out of gas as a whole has a multiple. */
function gasOfFirst({ items, variants }: OutboxRow): (operations: number) => bigint {
  const multiple = (variants[0] as Variant).gas / batchGas(items) || 1n;
  return (operations) => (operations === 0 ? EMPTY_GAS : batchGas(items.slice(0, operations)) * multiple);
}

type Block = { number: number; hash: Hex };
type Look = Facts & { newest: Block };

/** Reads from one node the state of the signer and of the variants; null if the node does not answer. */
async function look({ context, rpc }: Sending, { variants }: OutboxRow, log: Logger): Promise<Look | null> {
  const { address } = context.account;
  const byHash = variants.map(({ hash }) => ({ method: "eth_getTransactionByHash", params: [hash] }));
  const calls = [
    { method: "eth_getTransactionCount", params: [address, "latest"] },
    { method: "eth_getBalance", params: [address, "latest"] },
    { method: "eth_getBlockByNumber", params: ["latest", false] },
    ...byHash,
  ];
  type State = [Hex, Hex, { number: Hex; hash: Hex; baseFeePerGas?: Hex }];
  try {
    const answers = await rpc.answers(calls, READ_MS);
    const [used, wei, newest] = answers.slice(0, -byHash.length).map(unwrap) as State;
    // A node that is still indexing answers with an error for a transaction that it does not know.
    const known = answers.slice(-byHash.length).map((answer) => ("error" in answer ? null : answer.result));
    return {
      count: Number(used),
      balance: BigInt(wei),
      block: Number(newest.number),
      baseFee: BigInt(newest.baseFeePerGas ?? "0x0"),
      known: known.some((transaction) => transaction !== null),
      newest: { number: Number(newest.number), hash: newest.hash },
    };
  } catch (error) {
    log.warn({ err: error }, "the signer's nonce and balance could not be read");
    return null;
  }
}

/** The first use of a nonce that was seen, and when (ms). `isForeign`: a later look found the same. */
type SeenUser = { found: NonceUser | null; at: number; isForeign: boolean };

/**
 * Decides which transaction used the nonce. A nonce that is given up wrongly leaves a gap, and no later transaction of the signer is mined.
 * So it is foreign only where two looks find the same foreign transaction in the chain; or, where the node does not show that twice, long
 * after the nonce moved: many nodes have the state of few blocks.
 */
async function whoUsed(
  { context, rpc }: Sending,
  row: OutboxRow,
  before: SeenUser | null,
  log: Logger,
): Promise<SeenUser | null> {
  const now = Date.now();
  if (before !== null && now - before.at < FOREIGN_MS) return before;
  try {
    // Another process may have held the lock meanwhile and offered otherwise: its variants are ours as well.
    const recorded = await context.outbox.variants(row.nonce);
    if (recorded.length > row.variants.length) row.variants = recorded;
    const found = await userOfNonce(rpc, context.account.address, row.nonce);
    if (found !== null && row.variants.some(({ hash }) => hash === found.hash)) {
      log.info(
        { hash: found.hash, block: found.block },
        "a transaction is mined and its receipt is late: it is asked for again",
      );
      return { found, at: now, isForeign: false };
    }
    // A node that cannot show it (any more) does not contradict one that did.
    const contradicts = before !== null && found !== null && !isSameUser(before.found, found);
    if (before === null || contradicts) return { found, at: now, isForeign: false };
    const isForeign = now - before.at >= (found === null ? UNSEEN_FOREIGN_MS : FOREIGN_MS);
    return { ...before, isForeign };
  } catch (error) {
    log.warn({ err: error }, "who used a nonce could not be read");
    return before;
  }
}

type Found =
  | ({ is: "mined" } & PlacedVariant)
  | ({ is: "promised" } & PlacedVariant)
  | { is: "nothing"; newest: number }
  | { is: "without logs" }
  | { is: "unreachable" };

/**
 * The receipt of whichever variant is mined or promised. `given`: one that the node sent with its answer to the newest variant. `quietLooks`: so many
 * were without logs that may have none.
 */
async function findReceipt(
  { rpc }: Sending,
  { items, variants }: OutboxRow,
  given: RawReceipt | null,
  quietLooks: number,
  log: Logger,
): Promise<Found> {
  try {
    const hashes = variants.map((variant) => variant.hash);
    const { receipts, newest } = await findReceipts(rpc, hashes, given);
    for (const [index, placed] of receipts.entries()) {
      if (placed === null) continue;
      const variant = variants[index] as Variant;
      const lacks = lacksLogs(placed.receipt, items.slice(0, variant.operations));
      if (lacks === "no" || (lacks === "perhaps" && quietLooks >= QUIET_LOOKS)) {
        const is = placed.isMined ? "mined" : "promised";
        return { is, variant, batch: readReceipt(placed.receipt, placed.blockTime) };
      }
      if (quietLooks === 0) log.warn({ hash: variant.hash }, "a receipt is without logs: it is read again");
      return { is: "without logs" };
    }
    return { is: "nothing", newest };
  } catch (error) {
    log.warn({ err: error }, "receipts could not be read");
    return { is: "unreachable" };
  }
}
