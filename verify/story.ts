/** The facts of one job, as its events tell them. Pure. */
import type { Hex } from "viem";
import { ChainStatus, jobState, Ruling } from "../protocol/job-status.ts";
import { decodeJobWord } from "../protocol/words.ts";
import { type AnyEvent, type EscrowEvent, eventsOf, isBefore, jobOfEvent } from "./events.ts";
import type { JobEvidence } from "./evidence.ts";
import { Terms } from "./terms.ts";

/** One dispute of a job; an equivocation can bring a second one. */
export type JobStory = NonNullable<ReturnType<typeof jobStory>>;
export type DisputeStory = JobStory["disputes"][number];

/** The last of a list; null of none. */
const last = <E>(list: readonly E[]): E | null => list.at(-1) ?? null;

/** The story of a job; null when its lock is not among the events. */
export function jobStory(id: Hex, all: readonly AnyEvent[]) {
  const jobId = id.toLowerCase() as Hex;
  /** All events of the job, in order. */
  const events = all.filter((event) => jobOfEvent(event) === jobId);
  const [locked] = eventsOf(events, "escrow", "JobLocked");
  if (locked === undefined) return null;
  const acknowledged = eventsOf(events, "escrow", "JobAcknowledged");
  const settled = last(eventsOf(events, "escrow", "JobSettled"));
  return {
    jobId,
    locked,
    /** The job's word as the lock wrote it. */
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
    earnings: eventsOf(events, "escrow", "EarningsChanged"),
    compensated: eventsOf(events, "escrow", "Compensated"),
    /** State that the job must have after its last event (`JobStatus`). */
    status: last(transitionsOf(events))?.after ?? None,
    /** Signing key of the worker that holds the job, or did; null if none does. A job that settles from Locked has it from its settlement. */
    worker: acknowledged.at(-1)?.args.worker ?? settled?.args.worker ?? null,
    events,
  };
}

function disputesOf(events: readonly AnyEvent[], settled: EscrowEvent<"JobSettled"> | null) {
  const openings = eventsOf(events, "escrow", "JobDisputed");
  return openings.map((opened, i) => {
    const next = openings[i + 1];
    const own = events.filter((event) => isBefore(opened, event) && (next === undefined || isBefore(event, next)));
    return {
      opened,
      joined: eventsOf(own, "escrow", "DisputeJoined")[0] ?? null,
      /** The wallet's dispute key signed: for the opening, or, if the operator opened it, for the join. */
      signed: eventsOf(own, "escrow", "DisputeSigned")[0] ?? null,
      votes: eventsOf(own, "panel", "Voted"),
      resolved: eventsOf(own, "escrow", "DisputeResolved")[0] ?? null,
      /** The escrow held the money: the job was proven and not settled. */
      fromProven: settled === null || isBefore(opened, settled),
    };
  });
}

/** True if the wallet has said that it received the text that the worker signed. The contract compares the first seven bytes. */
export const isConceded = (
  opened: EscrowEvent<"JobDisputed">,
  joined: EscrowEvent<"DisputeJoined"> | null | undefined,
): boolean => joined?.args.receivedHash.slice(0, 16) === opened.args.workerHash.slice(0, 16);

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
  // Also of a job that is over: that costs the worker a slash and changes nothing else.
  WorkerEquivocated: { from: [Acknowledged, Proven, Settled, Failed, Refunded, Disputed], to: null },
};

/** State before and after each event that has a place in the state machine. */
export function transitionsOf(events: readonly AnyEvent[]) {
  let status: number = None;
  return events.flatMap((event) => {
    const transition = event.contract === "escrow" ? TRANSITIONS[event.name] : undefined;
    if (transition === undefined) return [];
    const before = status;
    status = transition.to ?? (event.args as { status: number }).status;
    return [{ event, before, after: status, legal: transition.from.includes(before) }];
  });
}

/** The API's name of a state. */
export const statusName = (status: number): string => jobState(status) ?? "unknown";

/** A ruling in words, as the contracts name it. */
export const rulingOf = (ruling: number): string =>
  Object.entries(Ruling).find(([, number]) => number === ruling)?.[0] ?? `ruling ${ruling}`;

/** True if the job can still change: what holds now may be followed by more. */
export const isOpen = (status: number): boolean =>
  ([Locked, Acknowledged, Proven, Disputed] as number[]).includes(status);

/** All that the checks of one job look at. */
export type Job = JobEvidence & { story: JobStory; terms: Terms };

/** Puts the facts of a job together. Throws when its lock is not in the evidence: without it nothing can be said. */
export function factsOf(evidence: JobEvidence): Job {
  const story = jobStory(evidence.jobId, evidence.events);
  if (story === null) throw new Error(`the events hold no lock of job ${evidence.jobId}`);
  return { ...evidence, jobId: story.jobId, story, terms: new Terms(evidence.configuration, evidence.timeOf) };
}
