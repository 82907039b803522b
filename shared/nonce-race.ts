/** Transactions of an account that several processes use at the same time, each of which asks the node for the next nonce. */
import { BaseError, NonceTooLowError } from "viem";

/** The node took another transaction with this nonce; nothing of this one was kept. */
const LOST = /nonce too low|replacement transaction underpriced|transaction already imported/i;

/** Sends until the nonce is ours. `attempt` asks for a new nonce each time. */
export async function sendInTurn<T>(attempt: () => Promise<T>, tries = 20): Promise<T> {
  for (let left = tries; ; left--) {
    try {
      return await attempt();
    } catch (error) {
      if (left === 1 || !hasLostNonce(error)) throw error;
    }
  }
}

function hasLostNonce(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  return error.walk((one) => one instanceof NonceTooLowError || LOST.test((one as Error).message)) !== null;
}
