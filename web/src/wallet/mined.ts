import {
  type Address,
  type Hex,
  isAddressEqual,
  type PublicClient,
  type Transaction,
  type TransactionReceipt,
} from "viem";
import { NotMined, receiptOf } from "../../../protocol/receipt.ts";

/** People let a transaction wait in the wallet, and fees can fall late: what is mined later is found in the wallet alone. */
const WAIT_MS = 3_600_000;
/** Blocks looked through, back from the newest, for what took a transaction's place. */
const SEARCHED_BLOCKS = 500n;

/** A call as it was sent, without any of the chain's currency. */
export type Sent = { hash: Hex; from: Address; to: Address; data: Hex };

type Reader = Pick<
  PublicClient,
  "getBlock" | "getBlockNumber" | "getTransaction" | "getTransactionCount" | "getTransactionReceipt" | "pollingInterval"
>;

/** The wallet's owner put another transaction in the place of this one, which can never be mined now. */
export class Replaced extends Error {
  override name = "Replaced";
  /** The transaction that was mined instead. */
  readonly by: Hex;
  /** Whether that one does nothing: wallets cancel by sending nothing to oneself. */
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
 * The receipt of a call, under another hash where the wallet sent it again with another fee. Rejects with {@link Replaced} when its
 * owner cancelled it or sent something else instead, and with `NotMined` when neither it nor what replaced it is found.
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

/** The mined transaction of this sender with this nonce; null when no block of late has it. */
async function findMined(client: Reader, of: { from: Address; nonce: number }): Promise<Transaction | null> {
  const newest = await client.getBlockNumber({ cacheTime: 0 });
  for (let number = newest; number >= 0n && newest - number < SEARCHED_BLOCKS; number -= 1n) {
    const { transactions } = await client.getBlock({ blockNumber: number, includeTransactions: true });
    const found = transactions.find(({ from, nonce }) => nonce === of.nonce && isAddressEqual(from, of.from));
    if (found !== undefined) return found;
  }
  return null;
}
