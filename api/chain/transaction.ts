/** One nonce from its signed bytes to the receipt: sent, sent again, offered otherwise, mined, or used by somebody else. */

import type { Logger } from "pino";
import type { Counter, Histogram } from "prom-client";
import type { Hex, LocalAccount } from "viem";
import { hashOfTransaction } from "../../shared/keccak.ts";
import { type NonceUser, userOfNonce } from "./nonce-user.ts";
import {
  type Bounds,
  type Facts,
  loweredFees,
  marketFees,
  type Refusal,
  raisedFees,
  type Step,
  stepAfterRefusal,
  stepOfStuck,
} from "./offers.ts";
import { batchCalldata, batchGas, lacksLogs, type Operation } from "./operations.ts";
import type { Offer, Outbox, OutboxRow, Variant } from "./outbox.ts";
import { type Head, type RawReceipt, type Rpc, RpcError, RpcUnreachable } from "./rpc.ts";

/** What a process needs to send as its signer. */
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
    /** What was done with transactions that were refused or not mined: raise, lower, fewer, foreign. */
    transactionSteps: Counter<"step">;
  };
  logger: Logger;
  /** False while this process may not send: the signer lock is lost. */
  maySend: () => boolean;
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

/** Outcome of one nonce: mined as one of our variants, or used by a transaction that is not ours; the sender's `count` then. `abandoned`: the process stops. */
type NonceOutcome =
  | { status: "mined"; receipt: RawReceipt; variant: Variant }
  | { status: "foreign"; count: number }
  | { status: "abandoned" };

const POLL_MS = 100;
/** Pause after the node did not answer, or not clearly, or refused. */
const UNCLEAR_MS = 250;
/** Pause where the fee is beyond a bound, or beyond what the signer has: only time or a person helps. */
const UNAFFORDABLE_MS = 2_000;
/** Between the two looks that must find the same foreign transaction; a reorganisation may take it back meanwhile. */
const FOREIGN_MS = 3_000;
/** The same where the node cannot show who used the nonce: receipts of one address can be that late. */
const UNSEEN_FOREIGN_MS = 30_000;
/** So many looks at a receipt without logs are believed where its operations may have left none. */
const QUIET_LOOKS = 20;
/** Gas of a transaction that only uses up its nonce. On some rollups the data costs gas as well; what is not used is not paid. */
const EMPTY_GAS = 100_000n;
const READ_MS = 5_000;

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
 * stops. The row then stays open for the next one.
 */
export async function settleNonce(sending: Sending, row: OutboxRow): Promise<NonceOutcome> {
  const { context, broadcaster, stopping } = sending;
  const log = context.logger.child({ nonce: row.nonce });
  // Counted from the first sending of the newest variant: sending the same bytes again does not start it anew.
  let since = Date.now();
  let send = true;
  let refusal = null as Refusal | null;
  let raisedInBlock = -1;
  let quietLooks = 0;
  let user = null as SeenUser | null;
  while (!stopping()) {
    const latest = row.variants.at(-1) as Variant;
    let refused = false;
    let pause = POLL_MS;
    if (send && context.maySend()) {
      const result = await broadcaster.send(latest.raw);
      if (result.status === "mined" && lacksLogs(result.receipt, row.items.slice(0, latest.operations)) === "no") {
        return { ...result, variant: latest };
      }
      if (result.status === "taken") refusal = null;
      if (result.status === "refused") {
        refused = true;
        log.warn({ err: result.error }, "the node did not take a transaction: the chain is asked why");
      }
      if (result.status === "unclear") {
        log.warn({ err: result.error }, "no clear answer to a transaction; the same bytes are sent again");
        pause = UNCLEAR_MS;
      }
      send = refused || result.status === "unclear";
    }
    const found = await findReceipt(sending, row, quietLooks, log);
    if (found === "unreachable") {
      // Nothing is known and nothing is decided: an outage of the node is no reason to offer more.
      since = Date.now();
      send = context.maySend();
      await sleep(UNCLEAR_MS);
      continue;
    }
    if (found === "without logs") quietLooks += 1;
    else if (found !== null) return { status: "mined", ...found };
    const isStuck = Date.now() - since > context.replaceAfterMs;
    const nextStep = (nonce: number, offer: Offer, facts: Facts): Step => {
      if (refused) return stepAfterRefusal({ nonce, offer, mostGas: sending.mostGas() }, facts, refusal, Date.now());
      if (isStuck) return stepOfStuck(nonce, offer, facts, raisedInBlock);
      return facts.count > nonce ? "used" : "waits";
    };
    if (found === null && context.maySend() && (refused || isStuck || user !== null)) {
      const facts = await look(sending, latest, log);
      if (facts === null) {
        send = context.maySend();
        await sleep(UNCLEAR_MS);
        continue;
      }
      const { nonce } = row;
      if (user !== null && facts.count <= nonce) {
        // A node that is behind the block in which the nonce was used says nothing of it.
        if (facts.block >= (user.found?.block ?? 0)) {
          log.warn("a reorganisation took back what had used a nonce of ours: the same bytes are sent again");
          user = null;
          send = true;
        }
        await sleep(POLL_MS);
        continue;
      }
      const step = nextStep(nonce, latest, facts);
      switch (step) {
        case "used":
          send = false;
          user = await whoUsed(sending, row, user, log);
          if (user?.isForeign) return { status: "foreign", count: facts.count };
          break;
        case "waits":
          // A node that has the bytes says so as it refuses them.
          send = false;
          refusal = null;
          break;
        case "early":
          pause = UNCLEAR_MS;
          // Refused for the gap before it perhaps: what is wrong with it shows when it is the next one.
          since = Date.now();
          break;
        case "poor":
          log.error(
            { signer: context.account.address, balance: String(facts.balance) },
            "the signer cannot pay gas, fund it",
          );
          since = Date.now();
          pause = UNAFFORDABLE_MS;
          break;
        case "again":
          refusal ??= { block: facts.block, at: Date.now(), steps: 0, stepBlock: facts.block };
          pause = UNCLEAR_MS;
          break;
        default: {
          const added = await offerAnew(sending, row, step, facts, log);
          raisedInBlock = facts.block;
          if (refusal !== null) refusal = { ...refusal, steps: refusal.steps + 1, stepBlock: facts.block };
          since = Date.now();
          send = true;
          pause = added ? 0 : UNAFFORDABLE_MS;
        }
      }
    }
    if (pause > 0 && (!send || !context.maySend() || pause > POLL_MS)) await sleep(pause);
  }
  return { status: "abandoned" };
}

/** Adds a variant with another price or fewer operations, on record before it is sent; false if a bound does not allow it. */
async function offerAnew(
  { context, mostGas }: Sending,
  row: OutboxRow,
  step: Step,
  facts: Facts,
  log: Logger,
): Promise<boolean> {
  const { bounds } = context;
  const latest = row.variants.at(-1) as Variant;
  const offer =
    step === "fewer"
      ? fewer(row, latest, facts.baseFee, { bounds, mostGas: mostGas() })
      : otherFees(step, latest, facts.baseFee, bounds);
  if (offer === null) {
    log.error(
      { step, maxFee: latest.maxFee, priorityFee: latest.priorityFee, ...bounds },
      "a bound of what may be offered is reached: the transaction waits as it is",
    );
    return false;
  }
  const variant = await signVariant(context, row, offer);
  await context.outbox.addVariant(row.nonce, variant);
  row.variants.push(variant);
  context.metrics.transactionSteps.inc({ step });
  const { operations, maxFee } = offer;
  const told = { hash: variant.hash, maxFee, operations, of: row.items.length };
  if (step === "raise") log.warn(told, "a transaction is not mined: its fee is raised");
  else if (step === "lower") log.warn(told, "the node refuses a transaction: its fee is lowered");
  else log.error(told, "the node takes no transaction like this one: it is offered with fewer operations");
  return true;
}

function otherFees(step: Step, latest: Variant, baseFee: bigint, bounds: Bounds): Offer | null {
  const { operations, gas } = latest;
  const fees = step === "raise" ? raisedFees(latest, baseFee, bounds) : loweredFees(latest, baseFee, bounds);
  return fees === null ? null : { operations, gas, ...fees };
}

/** Half of the operations, or as many as fit in the gas that the node is known to take; in the end none. */
function fewer(
  { items, variants }: OutboxRow,
  latest: Variant,
  baseFee: bigint,
  { bounds, mostGas }: { bounds: Bounds; mostGas: bigint | null },
): Offer {
  // A batch that ran out of gas as a whole has a multiple.
  const multiple = (variants[0] as Variant).gas / batchGas(items);
  const gasOf = (count: number): bigint =>
    count === 0 ? EMPTY_GAS : batchGas(items.slice(0, count)) * (multiple || 1n);
  let operations = Math.floor(latest.operations / 2);
  while (mostGas !== null && operations > 0 && gasOf(operations) > mostGas) operations -= 1;
  const gas = gasOf(operations);
  return { operations, gas, ...marketFees(baseFee, gas, bounds) };
}

/** What one node shows of the signer and the transaction; null where it does not answer. */
async function look({ context, rpc }: Sending, { hash }: Variant, log: Logger): Promise<Facts | null> {
  const { address } = context.account;
  try {
    const [count, balance, block, known] = await rpc.batch<
      [Hex, Hex, { number: Hex; baseFeePerGas?: Hex }, { blockNumber: Hex | null } | null]
    >(
      [
        { method: "eth_getTransactionCount", params: [address, "latest"] },
        { method: "eth_getBalance", params: [address, "latest"] },
        { method: "eth_getBlockByNumber", params: ["latest", false] },
        { method: "eth_getTransactionByHash", params: [hash] },
      ],
      READ_MS,
    );
    return {
      count: Number(count),
      balance: BigInt(balance),
      block: Number(block.number),
      baseFee: BigInt(block.baseFeePerGas ?? "0x0"),
      known: known !== null,
    };
  } catch (error) {
    log.warn({ err: error }, "the signer's nonce and balance could not be read");
    return null;
  }
}

/** Who was first seen to have used a nonce, and when (ms). `isForeign`: a later look found the same. */
type SeenUser = { found: NonceUser | null; at: number; isForeign: boolean };

/**
 * Who used the nonce. A nonce that is given up wrongly leaves a gap, and no later transaction of the signer is mined. So it is foreign only where
 * two looks find the same foreign transaction in the chain; or, where the node cannot show that, long after the nonce moved.
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
    // A node that cannot show the block does not contradict one that did.
    if (before !== null && found === null && before.found !== null) return before;
    const isSame = before?.found?.hash === found?.hash && before?.found?.block === found?.block;
    if (before === null || !isSame) return { found, at: now, isForeign: false };
    const isForeign = now - before.at >= (found === null ? UNSEEN_FOREIGN_MS : FOREIGN_MS);
    return { ...before, isForeign };
  } catch (error) {
    log.warn({ err: error }, "who used a nonce could not be read");
    return before;
  }
}

type Found = { receipt: RawReceipt; variant: Variant } | null | "without logs" | "unreachable";

/** The receipt of whichever variant was mined. `quietLooks`: so many were without logs that may have none. */
async function findReceipt({ broadcaster }: Sending, row: OutboxRow, quietLooks: number, log: Logger): Promise<Found> {
  try {
    const receipts = await broadcaster.receipts(row.variants.map((variant) => variant.hash));
    for (const [index, receipt] of receipts.entries()) {
      if (!receipt?.blockNumber) continue;
      const variant = row.variants[index] as Variant;
      const lacks = lacksLogs(receipt, row.items.slice(0, variant.operations));
      if (lacks === "no" || (lacks === "perhaps" && quietLooks >= QUIET_LOOKS)) return { receipt, variant };
      if (quietLooks === 0) log.warn({ hash: variant.hash }, "a receipt is without logs: it is read again");
      return "without logs";
    }
    return null;
  } catch (error) {
    log.warn({ err: error }, "receipts could not be read");
    return "unreachable";
  }
}

/** What the node did with a broadcast. `refused` says nothing of the reason, and `unclear` not even that. */
type BroadcastResult =
  | { status: "mined"; receipt: RawReceipt }
  | { status: "taken" }
  | { status: "refused"; error: RpcError }
  | { status: "unclear"; error: Error };

/** How long the node may hold a synchronous sending open; after that receipts are asked for. */
const SYNC_WAIT_MS = 5_000;
/** EIP-7966: the transaction was taken, but not mined within the node's own time limit. */
const SYNC_TIMEOUT = 4;

/** Sends signed bytes, synchronously where the node has EIP-7966. */
export class Broadcaster {
  readonly #rpc: Rpc;
  #synchronous = true;

  constructor(rpc: Rpc) {
    this.#rpc = rpc;
  }

  async send(raw: Hex): Promise<BroadcastResult> {
    if (!this.#synchronous) return this.#try("eth_sendRawTransaction", raw);
    const result = await this.#try("eth_sendRawTransactionSync", raw);
    if (result.status !== "refused") return result;
    // Nodes that lack the method say so in many ways. The plain one with the same bytes can do no harm.
    const plain = await this.#try("eth_sendRawTransaction", raw);
    if (plain.status === "taken") this.#synchronous = false;
    return plain;
  }

  async #try(method: string, raw: Hex): Promise<BroadcastResult> {
    try {
      const answer = await this.#rpc.request<RawReceipt | Hex | null>(method, [raw], SYNC_WAIT_MS);
      return typeof answer === "object" && answer !== null ? { status: "mined", receipt: answer } : { status: "taken" };
    } catch (error) {
      if (error instanceof RpcUnreachable) return { status: "unclear", error };
      if (!(error instanceof RpcError)) throw error;
      return error.code === SYNC_TIMEOUT ? { status: "taken" } : { status: "refused", error };
    }
  }

  /** Receipts of these transactions, in their order; null for one that is not mined. */
  async receipts(hashes: readonly Hex[]): Promise<(RawReceipt | null)[]> {
    const calls = hashes.map((hash) => ({ method: "eth_getTransactionReceipt", params: [hash] }));
    return this.#rpc.batch<(RawReceipt | null)[]>(calls, READ_MS);
  }
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
