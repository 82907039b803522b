/** Reads of wallets' own lists, which are as long as a wallet makes them: a few at a time, so that nobody else's requests wait for them. */
import type { RequestHandler } from "express";
import { FairLimit } from "../../shared/fair-limit.ts";
import { ApiError } from "../errors.ts";
import { clientOf, onceAnswered, untilClosed } from "./request.ts";

/** Reads of one wallet that may wait. */
const MOST_WAITING = 50;

const reads = new FairLimit({
  each: 2,
  // Each holds a connection to the database, of which jobs need the others.
  all: 8,
  waitingEach: MOST_WAITING,
  refusal: () =>
    new ApiError(
      "rate_limited",
      `More than ${MOST_WAITING} requests for this wallet's lists wait; send them one after the other.`,
      { details: { retry_after: 1 } },
    ),
});

/** Lets a wallet's requests wait for each other, and for those of all wallets; 429 `rate_limited` where too many do. */
export function inTurns(): RequestHandler {
  return async (request, response, next) => {
    const signal = untilClosed(response);
    const read = () =>
      new Promise<void>((over) => {
        // The read is done when its answer is handed over, however slowly its client takes that.
        onceAnswered(response, over);
        next();
      });
    try {
      await reads.run(clientOf(request).wallet, read, { signal });
    } catch (error) {
      // Its client has gone while it waited: then nothing is read for it.
      if (!signal.aborted) throw error;
    }
  };
}
