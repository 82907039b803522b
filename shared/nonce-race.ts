/** Transactions of an account that several processes use at the same time, each of which asks the node for the next nonce. */
import { BaseError, NonceTooLowError } from "viem";
import { retry } from "./retry.ts";

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
const PATIENCE = { pauseMs: 100, timeoutMs: 15_000 };

/** Sends until the nonce is ours. `attempt` asks for a new nonce each time. */
export const sendInTurn = <T>(attempt: () => Promise<T>): Promise<T> => retry(attempt, hasLostNonce, PATIENCE);

function hasLostNonce(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  return error.walk((one) => one instanceof NonceTooLowError || LOST.test((one as Error).message)) !== null;
}
