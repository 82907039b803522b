/** Reads the facts of a job's disputes from its events. Pure, and without the code for wallets: everybody's page of a dispute uses it. */
import { type Hex, zeroHash } from "viem";
import type { Completion } from "../../../protocol/messages.ts";
import { signedCompletion } from "../../../protocol/words.ts";
import { type AnyEvent, type EscrowEvent, eventsOf, inChainOrder, isBefore } from "../../../verify/events.ts";

/** The facts of a job that a page of its dispute needs, from the chain. */
export type DisputeFacts = {
  /** The Completion that the worker signed, and its signature; null while the job has no proof. */
  signed: { completion: Completion; signature: { r: Hex; vs: Hex } } | null;
  /** The job's cost, credits; null while it has no proof. */
  charge: number | null;
  /** The worker signed two answers: until then (Unix seconds) the wallet disputes without a bond. */
  freeBefore: number | null;
  /** The dispute that is open. */
  open: OpenDispute | null;
};

export type OpenDispute = {
  jobId: Hex;
  byOperator: boolean;
  /** SHA-256 of what its opener says was received. */
  receivedHash: Hex;
  /** Unix seconds. Until `ruleFrom` the wallet may add its own hash to the operator's dispute. */
  ruleFrom: number;
  ruleBefore: number;
  joined: boolean;
};

/** Reads them from the job's events. */
export function disputeFacts(unordered: readonly AnyEvent[]): DisputeFacts {
  const events = inChainOrder(unordered);
  const settled = eventsOf(events, "escrow", "JobSettled").at(-1);
  const proven = eventsOf(events, "escrow", "JobProven").at(-1);
  const disputed = eventsOf(events, "escrow", "JobDisputed").at(-1);
  const resolved = eventsOf(events, "escrow", "DisputeResolved").at(-1);
  const joined = eventsOf(events, "escrow", "DisputeJoined").at(-1);
  const equivocated = eventsOf(events, "escrow", "WorkerEquivocated").findLast(({ args }) => args.disputeBefore > 0);
  const ended = disputed === undefined || (resolved !== undefined && isBefore(disputed, resolved));
  const used = equivocated !== undefined && disputed !== undefined && isBefore(equivocated, disputed);

  return {
    signed: signedIn(settled, proven),
    charge: (settled ?? proven)?.args.credits ?? null,
    freeBefore: equivocated === undefined || used ? null : equivocated.args.disputeBefore,
    open: ended ? null : { ...disputed.args, joined: joined !== undefined && isBefore(disputed, joined) },
  };
}

/** The Completion that the worker signed. The contract has a proven one on record and looks at no signature of it. */
function signedIn(
  settled: EscrowEvent<"JobSettled"> | undefined,
  proven: EscrowEvent<"JobProven"> | undefined,
): DisputeFacts["signed"] {
  if (settled !== undefined) {
    const { r, vs } = settled.args;
    return { completion: signedCompletion(settled.args), signature: { r, vs } };
  }
  if (proven === undefined) return null;
  return { completion: signedCompletion(proven.args), signature: { r: zeroHash, vs: zeroHash } };
}
