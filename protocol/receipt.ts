import {
  type Address,
  BaseError,
  type Hex,
  type PublicClient,
  TransactionNotFoundError,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
} from "viem";

/** The web application waits with this too: no module of Node's. */
const sleep = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** The calls of a chain that are used here; any client of viem's has them. */
type Reader = Pick<PublicClient, "getTransaction" | "getTransactionCount" | "getTransactionReceipt">;

/** @property timeout Milliseconds after which it is given up. @property interval Milliseconds between two looks. */
export type ReceiptOptions = { timeout?: number; interval?: number };

type Sender = { from: Address; nonce: number };

/** The transaction is not mined, and will or may not be. */
export class NotMined extends Error {
  override name = "NotMined";
  readonly hash: Hex;
  /** Whose nonce another transaction has used; null when only the time is over. */
  readonly replaced: Sender | null;

  constructor(hash: Hex, why: string, { cause, replaced = null }: { cause?: unknown; replaced?: Sender | null } = {}) {
    super(`transaction ${hash} ${why}`, { cause });
    this.hash = hash;
    this.replaced = replaced;
  }
}

/** Nodes of one address can be blocks apart: so many looks in a row must agree that another transaction took the nonce. */
const AGREEING_LOOKS = 8;

/**
 * The receipt of a transaction that was sent, as soon as the chain has it. The node is asked for the receipt itself.
 * viem's wait looks only when a block is new, and can miss the one that counts. A chain that mines on demand may have
 * no other.
 *
 * Rejects with {@link NotMined} when another transaction has used its nonce, or at the end of the time; what the node
 * last said is the error's cause. A receipt says nothing of success: `status` does.
 */
export async function receiptOf(client: Reader, hash: Hex, options: ReceiptOptions = {}): Promise<TransactionReceipt> {
  const { timeout = 120_000, interval = 250 } = options;
  const end = Date.now() + timeout;
  let sender: Sender | null = null;
  let overtaken = 0;
  let failure: unknown;
  for (;;) {
    try {
      // The count is asked for before the receipt: what is mined between the two is found.
      const used: number =
        sender === null ? 0 : await client.getTransactionCount({ address: sender.from, blockTag: "latest" });
      const receipt = await unlessMissing(client.getTransactionReceipt({ hash }));
      if (receipt !== null) return receipt;
      overtaken = sender !== null && used > sender.nonce ? overtaken + 1 : 0;
      if (overtaken >= AGREEING_LOOKS) {
        const why = `was replaced: another transaction of ${sender?.from} with its nonce is mined`;
        throw new NotMined(hash, why, { replaced: sender });
      }
      sender ??= await unlessMissing(client.getTransaction({ hash }));
      failure = undefined;
    } catch (error) {
      if (error instanceof NotMined) throw error;
      // A node that does not answer may answer at the next look.
      failure = error;
    }
    if (Date.now() >= end) {
      const last = failure instanceof BaseError ? `; the node last said: ${failure.shortMessage}` : "";
      throw new NotMined(hash, `is not mined after ${Math.round(timeout / 1000)} s${last}`, { cause: failure });
    }
    await sleep(Math.min(interval, Math.max(0, end - Date.now())));
  }
}

/** Null where the node does not know the transaction or has no receipt of it yet. */
async function unlessMissing<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof TransactionNotFoundError || error instanceof TransactionReceiptNotFoundError) return null;
    throw error;
  }
}
