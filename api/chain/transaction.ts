import type { Logger } from "pino";
import { type Address, type Hex, keccak256, type LocalAccount } from "viem";
import type { Metrics } from "../metrics.ts";
import type { Broadcaster } from "./broadcast.ts";
import type { Head } from "./head.ts";
import type { Outbox, OutboxRow, Variant } from "./outbox.ts";
import type { RawReceipt } from "./rpc.ts";

const POLL_MS = 100;
/** Pause where the fee is beyond the cap, or beyond what the signer has: only time or a person helps. */
const UNAFFORDABLE_MS = 2_000;
/** Polls for our receipts after the nonce moved, before we believe that another transaction took it. */
const FOREIGN_POLLS = 30;

export type SigningContext = {
  account: LocalAccount;
  chainId: number;
  escrow: Address;
  head: Head;
  outbox: Outbox;
  broadcaster: Broadcaster;
  priorityFee: bigint;
  /** A transaction not mined for this long gets a higher fee, ms. */
  replaceAfterMs: number;
  /** Never offered more than this, wei per gas: beyond it the same bytes are sent again. */
  feeCap: bigint;
  metrics: Metrics;
  logger: Logger;
  /** False while this process may not send: the signer lock is lost. */
  maySend: () => boolean;
  /** Told which jobs' operations the chain took back: what was known of their end is not true any more. */
  takenBack: (jobIds: Hex[]) => Promise<void>;
  /** Told of a defect after which this process must not go on: ends it, for the next one to start clean. */
  fatal: (error: unknown, message: string) => void;
  /** True once this process stops: what is open is left to the next one. */
  stopping: () => boolean;
};

/**
 * What to offer: room for the base fee to double, at most the cap; above `previous` by the 12.5 % nodes ask of a replacement, which alone
 * can come out above the cap.
 */
function fees({ head, ...context }: SigningContext, previous?: Variant): Pick<Variant, "maxFee" | "priorityFee"> {
  const max = (a: bigint, b: bigint) => (a > b ? a : b);
  const min = (a: bigint, b: bigint) => (a < b ? a : b);
  const raise = (fee: bigint) => (fee * 1125n) / 1000n + 1n;
  const priorityFee = max(context.priorityFee, previous ? raise(previous.priorityFee) : 0n);
  const wanted = min(head.block.baseFee * 2n + priorityFee, context.feeCap);
  const maxFee = max(wanted, previous ? raise(previous.maxFee) : 0n);
  return { maxFee, priorityFee: min(priorityFee, maxFee) };
}

/** Signs one form of a transaction at the current fees, or above `previous`. */
export async function signVariant(
  context: SigningContext,
  nonce: number,
  gas: bigint,
  data: Hex,
  previous?: Variant,
): Promise<Variant> {
  const { maxFee, priorityFee } = fees(context, previous);
  const { account, chainId, escrow } = context;
  const raw = await account.signTransaction({
    type: "eip1559",
    chainId,
    nonce,
    gas,
    to: escrow,
    data,
    maxFeePerGas: maxFee,
    maxPriorityFeePerGas: priorityFee,
  });
  return { hash: keccak256(raw), raw, maxFee, priorityFee };
}

/** Outcome of one nonce: mined as one of our variants, or used by a transaction that is not ours. */
export type NonceOutcome = { status: "mined"; receipt: RawReceipt } | { status: "foreign" } | { status: "abandoned" };

/**
 * Brings one recorded transaction to its end: sends, re-sends the same bytes after an ambiguous answer, raises the fee when
 * it is stuck, and looks up the receipts of all variants. Returns only when the outcome is known, or `abandoned` when this
 * process stops (the row stays open for whoever comes next).
 */
export async function settleNonce(context: SigningContext, row: OutboxRow, calldata: Hex): Promise<NonceOutcome> {
  const { broadcaster, logger } = context;
  const log = logger.child({ nonce: row.nonce });
  // Counted from the first sending of the newest variant: sending the same bytes again does not start it anew.
  let since = Date.now();
  let usedPolls = 0;
  let send = true;
  while (!context.stopping()) {
    const latest = row.variants.at(-1) as Variant;
    if (send && context.maySend()) {
      send = false;
      const result = await broadcaster.send(latest.raw);
      if (result.status === "mined") return { status: "mined", receipt: result.receipt };
      if (result.status === "underpriced") {
        const replaced = await replace(context, row, calldata, log);
        since = Date.now();
        await sleep(replaced ? POLL_MS : UNAFFORDABLE_MS);
      }
      if (result.status === "no-funds") {
        log.error({ signer: context.account.address }, `the signer cannot pay gas, fund it: ${result.message}`);
        // Who cannot pay must not offer more.
        since = Date.now();
        await sleep(UNAFFORDABLE_MS);
      }
      if (result.status === "unknown") {
        log.warn({ err: result.error }, "no clear answer to a transaction; the same bytes are sent again");
        await sleep(250);
      }
      if (result.status === "nonce-used" && usedPolls === 0) {
        usedPolls = 1;
        // Another process may have held the lock meanwhile and raised the fee: its variants are ours as well.
        row.variants = await context.outbox.variants(row.nonce);
      }
      send = result.status === "underpriced" || result.status === "no-funds" || result.status === "unknown";
    }
    const polledOut = usedPolls > FOREIGN_POLLS;
    const receipt = await (polledOut ? findUser(context, row, log) : findReceipt(context, row, log));
    if (receipt === "unreachable") {
      // Nothing is known and nothing is decided: an outage of the node is no reason to offer more.
      since = Date.now();
      send = context.maySend();
      await sleep(250);
      continue;
    }
    if (receipt === "foreign") return { status: "foreign" };
    if (receipt) return { status: "mined", receipt };
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

/** Adds a variant at a higher fee; false if that would exceed the cap. */
async function replace(context: SigningContext, row: OutboxRow, calldata: Hex, log: Logger): Promise<boolean> {
  await context.head.refresh().catch((error) => log.warn({ err: error }, "base fee not refreshed"));
  const variant = await signVariant(context, row.nonce, row.gas, calldata, row.variants.at(-1));
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

async function findReceipt(
  context: SigningContext,
  row: OutboxRow,
  log: Logger,
): Promise<RawReceipt | null | "unreachable"> {
  try {
    return await context.broadcaster.receipt(row.variants.map((variant) => variant.hash));
  } catch (error) {
    log.warn({ err: error }, "receipts could not be read");
    return "unreachable";
  }
}

/**
 * Who used the nonce: one of our variants, or a transaction that is not ours, or nobody any more (null). Given up wrongly, the nonce would be
 * a gap that nothing behind it gets over.
 */
async function findUser(
  context: SigningContext,
  row: OutboxRow,
  log: Logger,
): Promise<RawReceipt | "foreign" | null | "unreachable"> {
  try {
    // The count before the receipts: what is ours and was mined by then has a receipt.
    const count = await context.broadcaster.transactionCount(context.account.address);
    const receipt = await findReceipt(context, row, log);
    return receipt === null && count > row.nonce ? "foreign" : receipt;
  } catch (error) {
    log.warn({ err: error }, "the signer's nonce could not be read");
    return "unreachable";
  }
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
