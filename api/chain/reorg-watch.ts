import type { Hex } from "viem";
import type { OutboxRow } from "./outbox.ts";
import type { Rpc } from "./rpc.ts";
import type { SigningContext } from "./transaction.ts";

const LOOK_MS = 2_000;
/** Deepest reorganisation after which what was mined is looked at again. */
const DEPTH = 64;

type Block = { number: Hex; hash: Hex };

/** Notes that a transaction is not on the chain any more. */
export async function takeBack({ outbox, takenBack }: SigningContext, row: OutboxRow): Promise<void> {
  await takenBack(row.items.map((item) => item.jobId));
  await outbox.markUnmined(row.nonce);
}

/**
 * Notices when the chain takes transactions of ours back: the signer's nonce falls below what we saw mined. The very same bytes
 * are then brought to their end again; whatever was sent after them waits for that by its nonce.
 */
export function watchReorganisations(
  context: SigningContext,
  rpc: Rpc,
  again: (row: OutboxRow) => Promise<void>,
): () => void {
  const { account, outbox, logger } = context;
  const busy = new Set<number>();
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;

  let newest: Block | undefined;
  const blockAt = (tag: string): Promise<Block | null> => rpc.request("eth_getBlockByNumber", [tag, false]);

  /**
   * A block that was the newest is another one now. Transactions may be back already, but in later blocks, where an item can fail
   * that had succeeded (a lock that is younger than its answer): jobs whose settlement was seen are looked at once more.
   */
  const lookAgain = async (): Promise<void> => {
    const before = newest;
    newest = (await blockAt("latest")) ?? undefined;
    if (before === undefined || (await blockAt(before.number))?.hash === before.hash) return;
    const rows = await outbox.minedAbove(Number(before.number) - DEPTH);
    logger.warn({ block: Number(before.number), transactions: rows.length }, "the chain was reorganised");
    await context.takenBack(rows.flatMap((row) => row.items.map((item) => item.jobId)));
  };

  const look = async (): Promise<void> => {
    await lookAgain();
    const count = Number(await rpc.request<Hex>("eth_getTransactionCount", [account.address, "latest"]));
    const lost = (await outbox.minedFrom(count)).filter((row) => !busy.has(row.nonce));
    if (lost.length === 0) return;
    logger.warn(
      { nonces: lost.map((row) => row.nonce) },
      "a reorganisation took transactions of ours out of the chain: the same bytes go out again",
    );
    for (const row of lost) {
      busy.add(row.nonce);
      await takeBack(context, row);
      again(row)
        .catch((error) => logger.error({ err: error, nonce: row.nonce }, "a transaction could not be brought back"))
        .finally(() => busy.delete(row.nonce));
    }
  };
  const loop = async (): Promise<void> => {
    try {
      if (context.maySend()) await look();
    } catch (error) {
      logger.warn({ err: error }, "reorganisations could not be looked for");
    }
    if (!stopped) timer = setTimeout(() => void loop(), LOOK_MS).unref();
  };
  timer = setTimeout(() => void loop(), LOOK_MS).unref();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
