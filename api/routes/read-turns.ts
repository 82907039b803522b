/** Reads of wallets' own lists, which are as long as a wallet makes them: a few at a time, so that nobody else's requests wait for them. */
import type { RequestHandler } from "express";
import { ApiError } from "../errors.ts";
import { clientOf, onceAnswered } from "./request.ts";

/** Reads of one wallet at once, and those of it that may wait. */
const OF_WALLET = 2;
const MOST_WAITING = 50;
/** Reads of all wallets at once: each holds a connection to the database, of which jobs need the others. */
const OF_ALL = 8;

/** Reads of one wallet. `waiting`: what begins them, the one that has waited longest in front. */
type Line = { running: number; waiting: (() => void)[] };

/** By wallet, the one whose turn comes next in front. */
const lines = new Map<string, Line>();
let running = 0;
let isServing = false;

/** Begins what may begin now. */
function serve(): void {
  // A read can be over before it has begun: then this loop goes on, and none below it.
  if (isServing) return;
  isServing = true;
  for (let next = nextLine(); next !== undefined; next = nextLine()) {
    const [wallet, line] = next;
    lines.delete(wallet);
    lines.set(wallet, line);
    line.running += 1;
    running += 1;
    line.waiting.shift()?.();
  }
  isServing = false;
}

function nextLine(): [string, Line] | undefined {
  if (running >= OF_ALL) return undefined;
  for (const entry of lines) {
    const [, { waiting, running: own }] = entry;
    if (waiting.length > 0 && own < OF_WALLET) return entry;
  }
  return undefined;
}

/**
 * Calls back when it is the wallet's turn, at once if nothing is in its way. The read calls `over` when it is done; later calls do nothing. Throws
 * `rate_limited` where too many of the wallet wait.
 */
function enter(wallet: string, begin: (over: () => void) => void): void {
  const line = lines.get(wallet) ?? { running: 0, waiting: [] };
  if (line.waiting.length >= MOST_WAITING) {
    throw new ApiError(
      "rate_limited",
      `More than ${MOST_WAITING} requests for this wallet's lists wait; send them one after the other.`,
      { details: { retry_after: 1 } },
    );
  }
  let isOver = false;
  const over = (): void => {
    if (isOver) return;
    isOver = true;
    line.running -= 1;
    running -= 1;
    if (line.running === 0 && line.waiting.length === 0) lines.delete(wallet);
    serve();
  };
  line.waiting.push(() => begin(over));
  lines.set(wallet, line);
  serve();
}

/** Lets a wallet's requests wait for each other, and for those of all wallets; 429 `rate_limited` where too many do. */
export function inTurns(): RequestHandler {
  return (request, response, next) => {
    enter(clientOf(request).wallet, (over) => {
      // Its client may have gone while it waited: then nothing is read for it.
      if (response.destroyed) return over();
      // The read is done when its answer is handed over, however slowly its client takes that.
      onceAnswered(response, over);
      next();
    });
  };
}
