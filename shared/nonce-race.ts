/** Transactions of an account that several processes use at the same time, each of which asks the node for the next nonce. */
import { setTimeout as sleep } from "node:timers/promises";
import { BaseError, NonceTooLowError } from "viem";

/**
 * The node has another transaction with this nonce, or this very one by another process; it kept nothing of this one. In the words of geth and Besu,
 * of Nethermind before 1.35, and of Erigon (`test/support/node-profiles.ts` names their sources); anvil's are "transaction already imported".
 */
const LOST = new RegExp(
  [
    "nonce too low|already known|known transaction|replacement transaction underpriced",
    "OldNonce|AlreadyKnown|ReplacementNotAllowed",
    "existing txn with same hash|could not replace existing tx",
    "transaction already imported",
  ].join("|"),
  "i",
);
/** Another process may send several in a row, and some nodes count a transaction only with its block. */
const TRIES = 50;
const PAUSE_MS = 100;

/** Sends until the nonce is ours, for about five seconds. `attempt` asks for a new nonce each time. */
export async function sendInTurn<T>(attempt: () => Promise<T>): Promise<T> {
  for (let left = TRIES; ; left--) {
    try {
      return await attempt();
    } catch (error) {
      if (left === 1 || !hasLostNonce(error)) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

function hasLostNonce(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  return error.walk((one) => one instanceof NonceTooLowError || LOST.test((one as Error).message)) !== null;
}
