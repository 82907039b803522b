/** Every call that could move a job, and what it does from every state. */

import { now } from "./chain.ts";
import { Ruling, sendDispute, sendEquivocation, sendVote } from "./disputes.ts";
import { actingAs } from "./impersonate.ts";
import { type Job, sendAcknowledge, sendComplete, sendFinalize, sendLock, sendProof } from "./jobs.ts";
import { STATES, type State, type Status } from "./states.ts";
import type { Worker, World } from "./world.ts";

/** The status it ends in, "same" for a call without effect on the job and its money, or the error it reverts with. */
export type Outcome = Status | "same" | `${string}_${string}`;
export type Move = {
  name: string;
  /** Seconds after the lock before which the call would be too early. */
  after?: number;
  send: (world: World, job: Job) => Promise<unknown>;
  from: Record<State, Outcome>;
};

const WRONG = "Job_WrongState";
const LATE = "Job_TooLate";
/** A full day of arbitration after the latest opening in these tests. */
const DAY_AND_MORE = 86_400 + 3_600;

/** `exceptions` are the states from which the call does something else than to revert with `error`. */
function from(error: Outcome, exceptions: Partial<Record<State, Outcome>>): Record<State, Outcome> {
  const states = Object.keys(STATES) as State[];
  return Object.fromEntries(states.map((state) => [state, exceptions[state] ?? error])) as Record<State, Outcome>;
}

const offer = async (worker: Worker, attempt: number) => ({ worker, attempt, acknowledgeBy: (await now()) + 1_000 });

const disputable: Partial<Record<State, Outcome>> = {
  Proven: "Disputed",
  "Proven, its dispute rejected": LATE,
  Settled: "Disputed",
  "Settled by finalization": LATE,
  "Settled, its dispute rejected": "Dispute_AlreadyOpened",
  "Settled, its dispute expired": LATE,
};
const unanswered = (end: Status): Partial<Record<State, Outcome>> => ({
  Locked: end,
  "Locked again after an equivocation": end,
  Acknowledged: end,
});

export const MOVES: readonly Move[] = [
  {
    name: "lock",
    send: (world, job) => sendLock(world, { id: job.id }),
    from: from("Job_AlreadyExists", { None: "Locked" }),
  },
  {
    name: "acknowledge, first attempt",
    send: async (world, job) => sendAcknowledge(world, job, await offer(world.worker, 1)),
    from: from(WRONG, {
      Locked: "Acknowledged",
      "Locked again after an equivocation": "Job_AttemptTaken",
      Acknowledged: "same",
    }),
  },
  {
    name: "acknowledge, a rival's higher attempt",
    send: async (world, job) => sendAcknowledge(world, job, await offer(world.rival, 2)),
    from: from(WRONG, unanswered("Acknowledged")),
  },
  {
    name: "complete, first attempt",
    send: (world, job) => sendComplete(world, job),
    from: from(WRONG, {
      Locked: "Settled",
      "Locked again after an equivocation": "Job_AttemptTaken",
      Acknowledged: "Settled",
      Proven: "Settled",
      "Proven, its dispute rejected": "Settled",
      Settled: "same",
      "Settled by finalization": "same",
      "Settled, its dispute rejected": "same",
      "Settled, its dispute expired": "same",
    }),
  },
  {
    name: "complete, a rival's higher attempt",
    send: (world, job) => sendComplete(world, job, { worker: world.rival, attempt: 2 }),
    from: from(WRONG, unanswered("Settled")),
  },
  {
    name: "submitProof",
    send: (world, job) => sendProof(world, job),
    from: from(WRONG, { Acknowledged: "Proven" }),
  },
  {
    name: "finalize",
    after: 30 + 3_600,
    send: (world, job) => sendFinalize(world, job),
    from: from(WRONG, { Proven: "Settled", "Proven, its dispute rejected": "Settled" }),
  },
  {
    name: "fail",
    send: (world, job) => world.escrow.connect(world.gateway).fail(job.id, 0),
    from: from(WRONG, unanswered("Failed")),
  },
  {
    name: "refund by its gateway",
    after: 121,
    send: (world, job) => world.escrow.connect(world.gateway).refund(job.id),
    // The job that does not exist is no gateway's: the time for strangers applies, which began long ago.
    from: from(WRONG, unanswered("Refunded")),
  },
  {
    name: "refund by a stranger",
    after: 150,
    send: (world, job) => world.escrow.connect(world.stranger).refund(job.id),
    from: from(WRONG, unanswered("Refunded")),
  },
  { name: "openDispute by its gateway", send: (world, job) => sendDispute(world, job), from: from(WRONG, disputable) },
  {
    name: "openDispute by its wallet",
    send: (world, job) => sendDispute(world, job, { by: world.client }),
    from: from(WRONG, disputable),
  },
  {
    name: "vote, the first of two",
    send: (world, job) => sendVote(world, job, Ruling.WorkerAtFault, world.arbiters[2]),
    from: from("Panel_NotOpen", { "Disputed after its settlement": "same", "Disputed after its proof": "same" }),
  },
  {
    name: "rule: worker at fault",
    send: async ({ escrow, panel }, job) => escrow.connect(await actingAs(panel)).rule(job.id, Ruling.WorkerAtFault),
    from: from(WRONG, { "Disputed after its settlement": "Refunded", "Disputed after its proof": "Refunded" }),
  },
  {
    name: "rule: gateway at fault",
    send: async ({ escrow, panel }, job) => escrow.connect(await actingAs(panel)).rule(job.id, Ruling.GatewayAtFault),
    from: from(WRONG, { "Disputed after its settlement": "Refunded", "Disputed after its proof": "Refunded" }),
  },
  {
    name: "rule: rejected",
    send: async ({ escrow, panel }, job) => escrow.connect(await actingAs(panel)).rule(job.id, Ruling.Rejected),
    from: from(WRONG, { "Disputed after its settlement": "Settled", "Disputed after its proof": "Proven" }),
  },
  {
    name: "expire",
    after: DAY_AND_MORE,
    send: (world, job) => world.escrow.connect(world.stranger).expire(job.id),
    from: from(WRONG, { "Disputed after its settlement": "Settled", "Disputed after its proof": "Refunded" }),
  },
  {
    name: "proveEquivocation",
    send: (world, job) => sendEquivocation(world, job),
    from: from("Refunded", {
      None: WRONG,
      Locked: WRONG,
      "Locked again after an equivocation": WRONG,
      Acknowledged: "Locked",
      "Settled, its dispute expired": LATE,
      Failed: "Failed",
      // It never had a worker.
      Refunded: WRONG,
      "Refunded, the worker at fault": "Registry_AlreadySlashed",
      "Refunded after its proof, the dispute expired": LATE,
      "Refunded after an equivocation": "Registry_AlreadySlashed",
    }),
  },
  {
    name: "collectDebt",
    send: (world, job) => world.escrow.connect(world.stranger).collectDebt(job.id),
    from: from("Dispute_NoDebt", {}),
  },
];
