/** One nonce from its signed bytes to the receipt: sent, sent again, replaced at a higher fee, mined, or used by somebody else. */

import type { Logger } from "pino";
import type { Counter, Histogram } from "prom-client";
import type { Hex, LocalAccount } from "viem";
import { hashOfTransaction } from "../../shared/keccak.ts";
import type { Outbox, OutboxRow, Variant } from "./outbox.ts";
import { type Head, type RawReceipt, type Rpc, RpcError, RpcUnreachable } from "./rpc.ts";

/** What a process needs to send as its signer. */
export type SigningContext = {
  account: LocalAccount;
  chainId: number;
  escrow: Hex;
  head: Head;
  outbox: Outbox;
  priorityFee: bigint;
  /** A transaction not mined for this long gets a higher fee, ms. */
  replaceAfterMs: number;
  /** Never offered more than this, wei per gas: beyond it the same bytes are sent again. */
  feeCap: bigint;
  metrics: {
    batchItems: Histogram;
    confirmationSeconds: Histogram<"kind">;
    operations: Counter<"kind" | "outcome">;
  };
  logger: Logger;
  /** False while this process may not send: the signer lock is lost. */
  maySend: () => boolean;
  /** Told which jobs' operations the chain took back: what was known of their end is not true any more. */
  takenBack: (jobIds: Hex[]) => Promise<void>;
  /** Told of a defect after which this process must not go on: ends it, for the next one to start clean. */
  fatal: (error: unknown, message: string) => void;
};

/** `stopping` is true once this process stops: what is open is left to the next one. */
export type Sending = { context: SigningContext; broadcaster: Broadcaster; stopping: () => boolean };

/** Outcome of one nonce: mined as one of our variants, or used by a transaction that is not ours. `abandoned`: the process stops. */
type NonceOutcome = { status: "mined"; receipt: RawReceipt } | { status: "foreign" } | { status: "abandoned" };

const POLL_MS = 100;
/** Pause after the node did not answer, or not clearly. */
const UNCLEAR_MS = 250;
/** Pause where the fee is beyond the cap, or beyond what the signer has: only time or a person helps. */
const UNAFFORDABLE_MS = 2_000;
/** Polls for our receipts after the nonce moved, before we believe that another transaction took it. */
const FOREIGN_POLLS = 30;

/** Signs one form of a transaction at the current fees, or above those of `previous`. */
export async function signVariant(
  context: SigningContext,
  { nonce, gas }: Pick<OutboxRow, "nonce" | "gas">,
  data: Hex,
  previous?: Variant,
): Promise<Variant> {
  const { maxFee, priorityFee } = fees(context, previous);
  const { account, chainId, escrow: to } = context;
  const offer = { maxFeePerGas: maxFee, maxPriorityFeePerGas: priorityFee };
  const raw = await account.signTransaction({ type: "eip1559", chainId, nonce, gas, to, data, ...offer });
  return { hash: hashOfTransaction(raw), raw, maxFee, priorityFee };
}

/**
 * What to offer: room for the base fee to double, at most the cap; above `previous` by the 12.5 % nodes ask of a replacement, which alone
 * can come out above the cap.
 */
function fees(context: SigningContext, previous?: Variant): Pick<Variant, "maxFee" | "priorityFee"> {
  const max = (a: bigint, b: bigint) => (a > b ? a : b);
  const min = (a: bigint, b: bigint) => (a < b ? a : b);
  const raise = (fee: bigint) => (fee * 1125n) / 1000n + 1n;
  const priorityFee = max(context.priorityFee, previous ? raise(previous.priorityFee) : 0n);
  const wanted = min(context.head.block.baseFee * 2n + priorityFee, context.feeCap);
  const maxFee = max(wanted, previous ? raise(previous.maxFee) : 0n);
  return { maxFee, priorityFee: min(priorityFee, maxFee) };
}

/**
 * Brings one recorded transaction to its end. Returns when the outcome is known, or `abandoned` when this process
 * stops. The row then stays open for the next one.
 */
export async function settleNonce(sending: Sending, row: OutboxRow, calldata: Hex): Promise<NonceOutcome> {
  const { context, broadcaster, stopping } = sending;
  const log = context.logger.child({ nonce: row.nonce });
  // Counted from the first sending of the newest variant: sending the same bytes again does not start it anew.
  let since = Date.now();
  let usedPolls = 0;
  let send = true;
  while (!stopping()) {
    const latest = row.variants.at(-1) as Variant;
    if (send && context.maySend()) {
      const result = await broadcaster.send(latest.raw);
      send = result.status === "underpriced" || result.status === "no-funds" || result.status === "unknown";
      switch (result.status) {
        case "mined":
          return result;
        case "underpriced": {
          const replaced = await replace(context, row, calldata, log);
          since = Date.now();
          await sleep(replaced ? POLL_MS : UNAFFORDABLE_MS);
          break;
        }
        case "no-funds":
          log.error({ signer: context.account.address }, `the signer cannot pay gas, fund it: ${result.message}`);
          // The balance does not cover this fee: a higher one would not help.
          since = Date.now();
          await sleep(UNAFFORDABLE_MS);
          break;
        case "unknown":
          log.warn({ err: result.error }, "no clear answer to a transaction; the same bytes are sent again");
          await sleep(UNCLEAR_MS);
          break;
        case "nonce-used":
          if (usedPolls > 0) break;
          usedPolls = 1;
          // Another process may have held the lock meanwhile and raised the fee: its variants are ours as well.
          row.variants = await context.outbox.variants(row.nonce);
      }
    }
    const polledOut = usedPolls > FOREIGN_POLLS;
    const found = await (polledOut ? findUser(sending, row, log) : findReceipt(sending, row, log));
    if (found === "unreachable") {
      // Nothing is known and nothing is decided: an outage of the node is no reason to offer more.
      since = Date.now();
      send = context.maySend();
      await sleep(UNCLEAR_MS);
      continue;
    }
    if (found === "foreign") return { status: "foreign" };
    if (found) return { status: "mined", receipt: found };
    if (polledOut) {
      log.warn("a reorganisation took back what had used a nonce of ours: the same bytes are sent again");
      usedPolls = 0;
      since = Date.now();
      send = true;
    } else if (usedPolls > 0) usedPolls += 1;
    if (usedPolls === 0 && context.maySend() && Date.now() - since > context.replaceAfterMs) {
      log.warn({ hash: latest.hash }, "a transaction is stuck: its fee is raised");
      await replace(context, row, calldata, log);
      since = Date.now();
      send = true;
    }
    if (!send || !context.maySend()) await sleep(POLL_MS);
  }
  return { status: "abandoned" };
}

/** Adds a variant at a higher fee, on record before it is sent; false if that would exceed the cap. */
async function replace(context: SigningContext, row: OutboxRow, calldata: Hex, log: Logger): Promise<boolean> {
  await context.head
    .refresh()
    .catch((error) => log.warn({ err: error }, "the base fee could not be read; the last one counts"));
  const variant = await signVariant(context, row, calldata, row.variants.at(-1));
  if (variant.maxFee > context.feeCap) {
    log.error(
      { maxFee: variant.maxFee, cap: context.feeCap },
      "the fee cap is reached: the transaction waits as it is",
    );
    return false;
  }
  await context.outbox.addVariant(row.nonce, variant);
  row.variants.push(variant);
  return true;
}

type Found = RawReceipt | null | "unreachable";

async function findReceipt({ broadcaster }: Sending, row: OutboxRow, log: Logger): Promise<Found> {
  try {
    return await broadcaster.receipt(row.variants.map((variant) => variant.hash));
  } catch (error) {
    log.warn({ err: error }, "receipts could not be read");
    return "unreachable";
  }
}

/**
 * Who used the nonce: one of our variants, a transaction that is not ours, or nobody any more (null). A nonce that is given up wrongly
 * leaves a gap, and no later transaction of the signer is mined.
 */
async function findUser(sending: Sending, row: OutboxRow, log: Logger): Promise<Found | "foreign"> {
  try {
    // The count before the receipts: what is ours and was mined by then has a receipt.
    const count = await sending.broadcaster.transactionCount(sending.context.account.address);
    const receipt = await findReceipt(sending, row, log);
    return receipt === null && count > row.nonce ? "foreign" : receipt;
  } catch (error) {
    log.warn({ err: error }, "the signer's nonce could not be read");
    return "unreachable";
  }
}

/** What the node said to a broadcast. `unknown` is not `refused`: the same bytes go out again. */
type BroadcastResult =
  | { status: "mined"; receipt: RawReceipt }
  | { status: "pending" }
  | { status: "nonce-used" }
  | { status: "underpriced" }
  | { status: "no-funds"; message: string }
  | { status: "unknown"; error: Error };

/** How long the node may hold a synchronous sending open; after that receipts are asked for. */
const SYNC_WAIT_MS = 5_000;
// EIP-7966: the transaction was taken, but not mined within the node's own time limit.
const SYNC_TIMEOUT = 4;

// Nodes have no codes for these answers; every client library matches these words. Only the reaction's speed depends on
// them: an answer that is not recognised is "unknown", and receipts decide.
const WORDS = {
  known: /already known|already imported|known transaction|already exists/i,
  nonce: /nonce too low|nonce is too low|nonce.*lower/i,
  price: /underpriced|fee too low|max fee per gas less than block base fee|fee cap less than/i,
  funds: /insufficient funds|insufficient balance/i,
};

/** Sends signed bytes, synchronously where the node has EIP-7966. */
export class Broadcaster {
  readonly #rpc: Rpc;
  #synchronous = true;

  constructor(rpc: Rpc) {
    this.#rpc = rpc;
  }

  async send(raw: Hex): Promise<BroadcastResult> {
    try {
      if (!this.#synchronous) {
        await this.#rpc.request("eth_sendRawTransaction", [raw]);
        return { status: "pending" };
      }
      const receipt = await this.#rpc.request<RawReceipt | null>("eth_sendRawTransactionSync", [raw], SYNC_WAIT_MS);
      return receipt ? { status: "mined", receipt } : { status: "pending" };
    } catch (error) {
      const result = classify(error);
      // Nodes that lack the method say so in many ways. The plain one with the same bytes can do no harm.
      if (this.#synchronous && error instanceof RpcError && result.status === "unknown") {
        this.#synchronous = false;
        return this.send(raw);
      }
      return result;
    }
  }

  /** How many transactions of this sender the chain has: the lowest nonce that is free. */
  async transactionCount(sender: Hex): Promise<number> {
    return Number(await this.#rpc.request<Hex>("eth_getTransactionCount", [sender, "latest"], 5_000));
  }

  /** The receipt of whichever of these transactions was mined, null if none is. */
  async receipt(hashes: readonly Hex[]): Promise<RawReceipt | null> {
    for (const hash of hashes) {
      const receipt = await this.#rpc.request<RawReceipt | null>("eth_getTransactionReceipt", [hash], 5_000);
      if (receipt) return receipt;
    }
    return null;
  }
}

function classify(error: unknown): BroadcastResult {
  if (error instanceof RpcUnreachable) return { status: "unknown", error };
  if (!(error instanceof RpcError)) throw error;
  if (error.code === SYNC_TIMEOUT || WORDS.known.test(error.message)) return { status: "pending" };
  if (WORDS.nonce.test(error.message)) return { status: "nonce-used" };
  if (WORDS.price.test(error.message)) return { status: "underpriced" };
  if (WORDS.funds.test(error.message)) return { status: "no-funds", message: error.message };
  return { status: "unknown", error };
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
