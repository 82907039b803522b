import {
  type Address,
  type Client,
  type Hex,
  isAddressEqual,
  type PublicClient,
  type Transaction,
  type TransactionReceipt,
} from "viem";
import { getBlock, getBlockNumber, getTransaction, getTransactionCount, getTransactionReceipt } from "viem/actions";
import { NotMined, receiptOf } from "../../../protocol/receipt.ts";

/** People let a transaction wait in the wallet, and fees can fall late: what is mined later is found in the wallet alone. */
const WAIT_MS = 3_600_000;
/** Nodes of one address can be so many blocks behind the newest that one of them told of. */
const BLOCKS_BEHIND = 3n;

/** A call as it was sent, without any of the chain's currency. */
export type Sent = { hash: Hex; from: Address; to: Address; data: Hex };

type Reader = Pick<
  PublicClient,
  "getBlock" | "getBlockNumber" | "getTransaction" | "getTransactionCount" | "getTransactionReceipt" | "pollingInterval"
>;

/** A client with what is asked for here: viem's public client brings a page each action there is. */
export const chainOf = (client: Client): Reader =>
  ({
    pollingInterval: client.pollingInterval,
    getBlock: (of: Parameters<typeof getBlock>[1]) => getBlock(client, of),
    getBlockNumber: (of: Parameters<typeof getBlockNumber>[1]) => getBlockNumber(client, of),
    getTransaction: (of: Parameters<typeof getTransaction>[1]) => getTransaction(client, of),
    getTransactionCount: (of: Parameters<typeof getTransactionCount>[1]) => getTransactionCount(client, of),
    getTransactionReceipt: (of: Parameters<typeof getTransactionReceipt>[1]) => getTransactionReceipt(client, of),
  }) as Reader;

/** The wallet's owner put another transaction in the place of this one, which can never be mined now. */
export class Replaced extends Error {
  override name = "Replaced";
  /** The transaction that was mined instead. */
  readonly by: Hex;
  /** True if `by` does nothing: wallets cancel a transaction by sending nothing to their own address. */
  readonly cancelled: boolean;

  constructor(by: Hex, cancelled: boolean) {
    super(
      cancelled
        ? `It was cancelled: transaction ${by}, which does nothing, took its place.`
        : `It was replaced: transaction ${by}, which does something else, took its place.`,
    );
    this.by = by;
    this.cancelled = cancelled;
  }
}

/**
 * The receipt of a call, also under another hash if the wallet sent it again with another fee. Rejects with {@link
 * Replaced} when its owner cancelled it or sent something else instead. Rejects with `NotMined` when neither it nor
 * what replaced it is found.
 */
export async function mined(client: Reader, sent: Sent): Promise<TransactionReceipt> {
  const options = { timeout: WAIT_MS, interval: Math.min(client.pollingInterval, 1_000) };
  try {
    return await receiptOf(client, sent.hash, options);
  } catch (error) {
    if (!(error instanceof NotMined) || error.replaced === null) throw error;
    const by = await findMined(client, error.replaced);
    if (by === null) throw error;
    const { from, to, data } = sent;
    if (by.to !== null && isAddressEqual(by.to, to) && by.input === data && by.value === 0n) {
      return await receiptOf(client, by.hash, options);
    }
    throw new Replaced(by.hash, by.to !== null && isAddressEqual(by.to, from) && by.value === 0n && by.input === "0x");
  }
}

type Nonce = { from: Address; nonce: number };

/** The mined transaction of this sender with this nonce; null when it is not found, for whatever reason. */
async function findMined(client: Reader, of: Nonce): Promise<Transaction | null> {
  try {
    const number = await blockOf(client, of);
    if (number === null) return null;
    const { transactions } = await client.getBlock({ blockNumber: number, includeTransactions: true });
    return transactions.find(({ from, nonce }) => nonce === of.nonce && isAddressEqual(from, of.from)) ?? null;
  } catch {
    // That the transaction was replaced is known; by what, is not. The caller says so.
    return null;
  }
}

/**
 * The first block whose end has the nonce used, by bisection. What took a transaction's place is young, so the search
 * goes back from the newest block in steps that double. A node without old state is asked for little of it. Null when
 * no newest block has it.
 */
async function blockOf(client: Reader, { from, nonce }: Nonce): Promise<bigint | null> {
  const isUsed = async (blockNumber: bigint): Promise<boolean> => {
    try {
      return (await client.getTransactionCount({ address: from, blockNumber })) > nonce;
    } catch {
      // Too new for this node, or so old that it has forgotten the state: looked for on the other side. The block found tells the truth.
      return false;
    }
  };
  const newest = await client.getBlockNumber({ cacheTime: 0 });
  let used = newest;
  while (!(await isUsed(used))) {
    if (used === 0n || used === newest - BLOCKS_BEHIND) return null;
    used -= 1n;
  }
  let unused = -1n;
  for (let step = 1n; step <= used; step *= 2n) {
    const before = used - step;
    if (!(await isUsed(before))) {
      unused = before;
      break;
    }
    used = before;
  }
  while (used - unused > 1n) {
    const middle = (used + unused) / 2n;
    if (await isUsed(middle)) used = middle;
    else unused = middle;
  }
  return used;
}
