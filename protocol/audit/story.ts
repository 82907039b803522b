/** The life of one job as its events tell it. Pure. */
import type { Address, Hex } from "viem";
import { isAddressEqual } from "viem";
import { ChainStatus } from "../job-status.ts";
import { UNITS_PER_CREDIT } from "../money.ts";
import type { JobContext } from "./balances.ts";
import { type AnyEvent, type AuditEvent, type EscrowEvent, eventsOf, isEvent, jobOfEvent } from "./event-log.ts";
import { payoutsAfter } from "./payouts.ts";

export type JobStory = {
  jobId: Hex;
  locked: EscrowEvent<"JobLocked">;
  acknowledged: EscrowEvent<"JobAcknowledged">[];
  proven: EscrowEvent<"JobProven"> | null;
  settled: EscrowEvent<"JobSettled"> | null;
  /** JobFailed or JobRefunded. */
  returned: EscrowEvent<"JobFailed" | "JobRefunded"> | null;
  disputed: EscrowEvent<"JobDisputed"> | null;
  votes: AuditEvent<"panel", "Voted">[];
  resolved: EscrowEvent<"DisputeResolved"> | null;
  equivocated: EscrowEvent<"WorkerEquivocated">[];
  slashed: AuditEvent<"registry", "WorkerSlashed"> | null;
  compensated: EscrowEvent<"Compensated">[];
  deferred: EscrowEvent<"PayoutDeferred">[];
  /** State that the job must have after its last event (`JobStatus`). */
  status: number;
  /** Signing key of the worker that holds the job, or did; null if none does. */
  worker: Address | null;
  /** All events of the job, in order. */
  events: AnyEvent[];
};

/** The story of a job; null when its lock is not among the events. */
export function jobStory(jobId: Hex, all: readonly AnyEvent[]): JobStory | null {
  const id = jobId.toLowerCase() as Hex;
  const events = all.filter((event) => jobOfEvent(event) === id);
  const [locked] = eventsOf(events, "escrow", "JobLocked");
  if (locked === undefined) return null;
  const last = <E>(list: E[]): E | null => list.at(-1) ?? null;
  return {
    jobId: id,
    locked,
    acknowledged: eventsOf(events, "escrow", "JobAcknowledged"),
    proven: last(eventsOf(events, "escrow", "JobProven")),
    settled: last(eventsOf(events, "escrow", "JobSettled")),
    returned: last(eventsOf(events, "escrow", "JobFailed", "JobRefunded")),
    disputed: last(eventsOf(events, "escrow", "JobDisputed")),
    votes: eventsOf(events, "panel", "Voted"),
    resolved: last(eventsOf(events, "escrow", "DisputeResolved")),
    equivocated: eventsOf(events, "escrow", "WorkerEquivocated"),
    slashed: last(eventsOf(events, "registry", "WorkerSlashed")),
    compensated: eventsOf(events, "escrow", "Compensated"),
    deferred: eventsOf(events, "escrow", "PayoutDeferred"),
    status: statusAfter(events),
    worker: workerAfter(events),
    events,
  };
}

/** Replays the states. */
function statusAfter(events: readonly AnyEvent[]): number {
  let status: number = ChainStatus.None;
  for (const event of events) {
    if (isEvent(event, "escrow", "JobLocked")) status = ChainStatus.Locked;
    else if (isEvent(event, "escrow", "JobAcknowledged")) status = ChainStatus.Acknowledged;
    else if (isEvent(event, "escrow", "JobProven")) status = ChainStatus.Proven;
    else if (isEvent(event, "escrow", "JobSettled")) status = ChainStatus.Settled;
    else if (isEvent(event, "escrow", "JobFailed")) status = ChainStatus.Failed;
    else if (isEvent(event, "escrow", "JobRefunded")) status = ChainStatus.Refunded;
    else if (isEvent(event, "escrow", "JobDisputed")) status = ChainStatus.Disputed;
    else if (isEvent(event, "escrow", "DisputeResolved", "WorkerEquivocated")) status = event.args.status;
  }
  return status;
}

function workerAfter(events: readonly AnyEvent[]): Address | null {
  let worker: Address | null = null;
  for (const event of events) {
    if (isEvent(event, "escrow", "JobAcknowledged")) worker = event.args.worker;
    // An open job of an equivocator goes back to nobody.
    if (isEvent(event, "escrow", "WorkerEquivocated") && event.args.status === ChainStatus.Locked) worker = null;
  }
  return worker;
}

/** What balances need to know about jobs, from all events that may concern them and the logs of their transactions. */
export function jobContext(events: readonly AnyEvent[], escrow: Address): JobContext {
  const bonds = new Map(
    eventsOf(events, "escrow", "JobDisputed").map(({ args }) => [args.jobId.toLowerCase(), args.bond]),
  );
  const byTransaction = Map.groupBy(events, ({ tx }) => tx);
  return {
    bondOf: (jobId) => bonds.get(jobId.toLowerCase()) ?? 0,
    isForWorker: (event) => {
      const { wallet, payee, paid } = event.args;
      if (!isAddressEqual(wallet, payee)) return true;
      // A worker may be paid at the very wallet of the client: then the tokens themselves moved, and no credits.
      const moved = payoutsAfter(event, byTransaction.get(event.tx) ?? [], escrow);
      return paid >= UNITS_PER_CREDIT && moved.some(({ units }) => units === paid);
    },
  };
}
