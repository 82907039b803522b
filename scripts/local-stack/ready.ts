import { setTimeout as sleep } from "node:timers/promises";
import { GivenUp, type StackError } from "./errors.ts";
import type { Part } from "./part.ts";

export type Waiting = {
  part: Part;
  /** Ends the wait when the stack is stopped or another part died. */
  abort: AbortSignal;
  timeoutMs: number;
  failure: (how: string) => StackError;
};

/** Asks again until `check` says yes; fails when the part ends, time is up, or the start is given up. */
export async function untilReady(check: () => Promise<boolean>, waiting: Waiting): Promise<void> {
  const deadline = Date.now() + waiting.timeoutMs;
  for (;;) {
    if (waiting.abort.aborted) throw new GivenUp();
    if (waiting.part.hasExited()) throw waiting.failure((await waiting.part.exited).how);
    if (await check()) return;
    if (Date.now() > deadline) throw waiting.failure(`was not ready after ${waiting.timeoutMs / 1000} s`);
    await sleep(40);
  }
}

/** Does the address answer 200? No connection yet is an ordinary "no". */
export async function answersOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}
