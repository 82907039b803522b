/** The life of one job as its events tell it. Pure. */
import type { Address, Hex } from "viem";
import { isAddressEqual } from "viem";
import { ChainStatus } from "../job-status.ts";
import { UNITS_PER_CREDIT } from "../money.ts";
import { decodeJobWord, type JobWord } from "../words.ts";
import type { JobContext } from "./balances.ts";
import { type AnyEvent, type AuditEvent, type EscrowEvent, eventsOf, isBefore, jobOfEvent } from "./event-log.ts";
import { MissingEvent } from "./evidence.ts";
import { payoutsAfter } from "./payouts.ts";

/** One dispute of a job; an equivocation can bring a second one. */
export type DisputeStory = {
  opened: EscrowEvent<"JobDisputed">;
  joined: EscrowEvent<"DisputeJoined"> | null;
  votes: AuditEvent<"panel", "Voted">[];
  resolved: EscrowEvent<"DisputeResolved"> | null;
  /** The escrow held the money: the job was proven and not settled. */
  fromProven: boolean;
};

export type JobStory = {
  jobId: Hex;
  locked: EscrowEvent<"JobLocked">;
  /** The job's word as the lock wrote it. */
  word: JobWord;
  authorized: EscrowEvent<"JobAuthorized"> | null;
  acknowledged: EscrowEvent<"JobAcknowledged">[];
  proven: EscrowEvent<"JobProven"> | null;
  settled: EscrowEvent<"JobSettled"> | null;
  /** JobFailed or JobRefunded. */
  returned: EscrowEvent<"JobFailed" | "JobRefunded"> | null;
  disputes: DisputeStory[];
  equivocated: EscrowEvent<"WorkerEquivocated"> | null;
  slashed: AuditEvent<"registry", "WorkerSlashed"> | null;
  charged: EscrowEvent<"OperatorCharged">[];
  reserve: EscrowEvent<"ReserveChanged">[];
  compensated: EscrowEvent<"Compensated">[];
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
  const acknowledged = eventsOf(events, "escrow", "JobAcknowledged");
  const settled = last(eventsOf(events, "escrow", "JobSettled"));
  return {
    jobId: id,
    locked,
    word: decodeJobWord(locked.args.job),
    authorized: last(eventsOf(events, "escrow", "JobAuthorized")),
    acknowledged,
    proven: last(eventsOf(events, "escrow", "JobProven")),
    settled,
    returned: last(eventsOf(events, "escrow", "JobFailed", "JobRefunded")),
    disputes: disputesOf(events, settled),
    equivocated: last(eventsOf(events, "escrow", "WorkerEquivocated")),
    slashed: last(eventsOf(events, "registry", "WorkerSlashed")),
    charged: eventsOf(events, "escrow", "OperatorCharged"),
    reserve: eventsOf(events, "escrow", "ReserveChanged"),
    compensated: eventsOf(events, "escrow", "Compensated"),
    status: statusAfter(events),
    // A job that settles from Locked has its worker from its settlement.
    worker: acknowledged.at(-1)?.args.worker ?? settled?.args.worker ?? null,
    events,
  };
}

function disputesOf(events: readonly AnyEvent[], settled: EscrowEvent<"JobSettled"> | null): DisputeStory[] {
  const openings = eventsOf(events, "escrow", "JobDisputed");
  return openings.map((opened, i) => {
    const next = openings[i + 1];
    const own = events.filter((event) => isBefore(opened, event) && (next === undefined || isBefore(event, next)));
    return {
      opened,
      joined: eventsOf(own, "escrow", "DisputeJoined")[0] ?? null,
      votes: eventsOf(own, "panel", "Voted"),
      resolved: eventsOf(own, "escrow", "DisputeResolved")[0] ?? null,
      fromProven: settled === null || isBefore(opened, settled),
    };
  });
}

const { None, Locked, Acknowledged, Proven, Settled, Failed, Refunded, Disputed } = ChainStatus;

/** From which states an event can happen, and where it leads. Null: the event says it itself. */
const TRANSITIONS: Record<string, { from: readonly number[]; to: number | null }> = {
  JobLocked: { from: [None], to: Locked },
  JobAcknowledged: { from: [Locked, Acknowledged], to: Acknowledged },
  JobProven: { from: [Acknowledged], to: Proven },
  JobSettled: { from: [Locked, Acknowledged, Proven], to: Settled },
  JobFailed: { from: [Locked, Acknowledged], to: Failed },
  // After an equivocation that said so itself.
  JobRefunded: { from: [Locked, Acknowledged, Refunded], to: Refunded },
  JobDisputed: { from: [Settled, Proven], to: Disputed },
  DisputeJoined: { from: [Disputed], to: Disputed },
  DisputeResolved: { from: [Disputed, Refunded], to: null },
  WorkerEquivocated: { from: [Acknowledged, Proven, Settled, Disputed], to: null },
};

/** State before and after each event that has a place in the state machine. */
export function transitionsOf(
  events: readonly AnyEvent[],
): { event: AnyEvent; before: number; after: number; legal: boolean }[] {
  let status: number = None;
  return events.flatMap((event) => {
    const transition = event.contract === "escrow" ? TRANSITIONS[event.name] : undefined;
    if (transition === undefined) return [];
    const before = status;
    status = transition.to ?? (event.args as { status: number }).status;
    return [{ event, before, after: status, legal: transition.from.includes(before) }];
  });
}

const statusAfter = (events: readonly AnyEvent[]): number => transitionsOf(events).at(-1)?.after ?? None;

/** What accounts need to know about jobs, from all events that may concern them and the logs of their transactions. */
export function jobContext(events: readonly AnyEvent[], escrow: Address): JobContext {
  const locks = new Map(
    eventsOf(events, "escrow", "JobLocked").map((lock) => [lock.args.jobId.toLowerCase(), lock] as const),
  );
  const disputes = Map.groupBy(eventsOf(events, "escrow", "JobDisputed"), ({ args }) => args.jobId.toLowerCase());
  const byTransaction = Map.groupBy(events, ({ tx }) => tx);
  return {
    lockOf: (jobId) => locks.get(jobId.toLowerCase()) ?? absent(`the lock of job ${jobId}`),
    disputeOf: (resolved) =>
      disputes.get(resolved.args.jobId.toLowerCase())?.findLast((opened) => isBefore(opened, resolved)) ??
      absent(`the dispute of job ${resolved.args.jobId}`),
    isForWorker: (event) => {
      const { wallet, payee } = event.args;
      if (!isAddressEqual(wallet, payee)) return true;
      // A worker may be paid at the very wallet of the client: then the tokens themselves moved, and no credits.
      const moved = payoutsAfter(event, byTransaction.get(event.tx) ?? [], escrow);
      if (event.name === "OperatorCharged") return moved.length > 0;
      const { paid } = (event as EscrowEvent<"Compensated">).args;
      return paid >= UNITS_PER_CREDIT && moved.some(({ units }) => units === paid);
    },
  };
}

function absent(what: string): never {
  throw new MissingEvent(`${what} is not among the events`);
}
