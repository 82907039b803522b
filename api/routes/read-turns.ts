/** Reads of a wallet's own lists, which are as long as it makes them: a few at a time, so that nobody else's requests wait for them. */
import type { RequestHandler } from "express";
import type { Address } from "viem";
import { ApiError } from "../errors.ts";
import { clientOf } from "./request.ts";

/** Reads of one wallet at once, and those that may wait for them. */
const AT_ONCE = 2;
const MOST_WAITING = 50;

/** `start` of those that wait, the longest first. */
type Line = { running: number; waiting: (() => void)[] };

/** Lets a wallet's requests wait for each other; 429 `rate_limited` where too many do. */
export function inTurns(): RequestHandler {
  const lines = new Map<Address, Line>();

  const over = (wallet: Address, line: Line): void => {
    line.running -= 1;
    const next = line.waiting.shift();
    if (next !== undefined) next();
    else if (line.running === 0) lines.delete(wallet);
  };

  return (request, response, next) => {
    const { wallet } = clientOf(request);
    const line = lines.get(wallet) ?? { running: 0, waiting: [] };
    lines.set(wallet, line);
    const start = (): void => {
      line.running += 1;
      // Its client may have gone while it waited: then nothing is read for it.
      if (response.destroyed) return over(wallet, line);
      response.once("close", () => over(wallet, line));
      next();
    };
    if (line.running < AT_ONCE) return start();
    if (line.waiting.length < MOST_WAITING) return void line.waiting.push(start);
    throw new ApiError(
      "rate_limited",
      `More than ${MOST_WAITING} requests for this wallet's lists wait; send them one after the other.`,
      {
        details: { retry_after: 1 },
      },
    );
  };
}
