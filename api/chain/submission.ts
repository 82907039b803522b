import type { Hex } from "viem";
import type { NewJob } from "../store/new-jobs.ts";
import type { Operation } from "./operations.ts";
import type { Outcome } from "./outcome.ts";
import type { Pending } from "./queue.ts";

/** The operation did not leave this process: nothing happened on chain, nothing will. */
export class NotSent extends Error {
  constructor(reason: string, cause?: unknown) {
    super(`the operation was not sent: ${reason}`, { cause });
    this.name = "NotSent";
  }
}

/** A submitted operation. `sent`: hash of the transaction it left in. `mined`: its outcome. Both reject only with NotSent. */
export type Submission = { sent: Promise<Hex>; mined: Promise<Outcome> };

/** The other side of a submission: a queued operation and how to tell its submitter. */
export type Waiting = Pending & {
  /** A new job, whose row is written with the transaction. */
  job: NewJob | null;
  sent: (hash: Hex) => void;
  mined: (outcome: Outcome) => void;
  reject: (error: NotSent) => void;
};

/** Both sides of one operation. */
export function newSubmission(operation: Operation, job: NewJob | null): { submission: Submission; waiting: Waiting } {
  const sent = Promise.withResolvers<Hex>();
  const mined = Promise.withResolvers<Outcome>();
  // A caller may care for one of the two only; the other must not end the process as an unhandled rejection.
  sent.promise.catch(() => {});
  mined.promise.catch(() => {});
  return {
    submission: { sent: sent.promise, mined: mined.promise },
    waiting: {
      operation,
      job,
      queuedAt: Date.now(),
      tries: 0,
      sent: sent.resolve,
      mined: mined.resolve,
      reject: (error) => {
        sent.reject(error);
        mined.reject(error);
      },
    },
  };
}
