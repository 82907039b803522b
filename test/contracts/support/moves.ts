/** Every call that could move a job, and what it does from every state. */
import { actingAs, now } from "./chain.ts";
import { nameDisputeKey, sendDisputeByKey } from "./dispute-keys.ts";
import { Ruling, sendDispute, sendEquivocation, sendJoin, sendVote } from "./disputes.ts";
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
/** From then on votes count on every dispute in these tests: the operator's dispute of a proven job waits longest. */
const VOTES = 30 + 3_600;
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
  Acknowledged: end,
});
/** A ruling on each kind of dispute: of a settled job and of a proven one. */
const disputes = (settled: Outcome, proven: Outcome): Partial<Record<State, Outcome>> => ({
  "Disputed after its settlement": settled,
  "Disputed after its settlement by its wallet": settled,
  "Disputed after its settlement, its worker equivocated": settled,
  "Disputed after an equivocation": settled,
  "Disputed again after an equivocation": settled,
  "Disputed after its proof": proven,
  "Disputed after its proof by its wallet": proven,
});
/** The wallet joins the operator's dispute. */
const joinable: Partial<Record<State, Outcome>> = {
  ...disputes("Dispute_AlreadyJoined", "Dispute_AlreadyJoined"),
  "Disputed after its settlement": "Disputed",
  "Disputed after its settlement, its worker equivocated": "Disputed",
  "Disputed after its proof": "Disputed",
};
const RULINGS = [
  ["worker at fault", Ruling.WorkerAtFault, "Refunded", "Refunded"],
  ["gateway at fault", Ruling.GatewayAtFault, "Refunded", "Refunded"],
  ["rejected", Ruling.Rejected, "Settled", "Proven"],
] as const;
/** States that equivocations brought about: a second slash is refused. */
const SLASHED: Partial<Record<State, Outcome>> = {
  "Settled, its worker equivocated": "Registry_AlreadySlashed",
  "Settled, its dispute after an equivocation rejected": "Registry_AlreadySlashed",
  "Disputed after its settlement, its worker equivocated": "Registry_AlreadySlashed",
  "Disputed after an equivocation": "Registry_AlreadySlashed",
  "Disputed again after an equivocation": "Registry_AlreadySlashed",
  "Refunded, the worker at fault": "Registry_AlreadySlashed",
  "Refunded after its acknowledgement, its worker equivocated": "Registry_AlreadySlashed",
  "Refunded after its proof, its worker equivocated": "Registry_AlreadySlashed",
  "Refunded after its proof, its worker equivocated in the dispute": "Registry_AlreadySlashed",
};

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
      Acknowledged: "same",
    }),
  },
  {
    name: "acknowledge, a rival's higher attempt",
    send: async (world, job) => sendAcknowledge(world, job, await offer(world.rival, 2)),
    from: from(WRONG, unanswered("Acknowledged")),
  },
  {
    name: "complete",
    send: (world, job) => sendComplete(world, job),
    from: from(WRONG, {
      Locked: "Settled",
      Acknowledged: "Settled",
      Proven: "Settled",
      "Proven, its dispute rejected": "Settled",
      Settled: "same",
      "Settled by finalization": "same",
      "Settled, its dispute rejected": "same",
      "Settled, its dispute expired": "same",
      "Settled, its worker equivocated": "same",
      "Settled, its dispute after an equivocation rejected": "same",
      // It never had a worker.
      Refunded: "Job_NotTheWorker",
    }),
  },
  {
    name: "complete by another signer of the operator",
    send: (world, job) => sendComplete(world, job, { gateway: world.secondGateway, worker: world.rival }),
    from: from("Job_NotTheWorker", { None: WRONG, Locked: "Settled" }),
  },
  {
    name: "complete by a signer of another operator",
    send: (world, job) => sendComplete(world, job, { gateway: world.otherGateway }),
    from: from("Job_NotItsOperator", { None: WRONG }),
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
    name: "fail by another signer of the operator",
    send: (world, job) => world.escrow.connect(world.secondGateway).fail(job.id, 0),
    from: from(WRONG, unanswered("Failed")),
  },
  {
    name: "fail by a signer of another operator",
    send: (world, job) => world.escrow.connect(world.otherGateway).fail(job.id, 0),
    from: from("Job_NotItsOperator", { None: WRONG }),
  },
  {
    name: "refund by another signer of the operator",
    after: 121,
    send: (world, job) => world.escrow.connect(world.secondGateway).refund(job.id),
    // The job that does not exist is no operator's: the time for strangers applies, which began long ago.
    from: from(WRONG, unanswered("Refunded")),
  },
  {
    name: "refund by a stranger",
    after: 150,
    send: (world, job) => world.escrow.connect(world.stranger).refund(job.id),
    from: from(WRONG, unanswered("Refunded")),
  },
  {
    name: "openDispute by its operator",
    send: (world, job) => sendDispute(world, job),
    from: from(WRONG, {
      ...disputable,
      "Settled, its worker equivocated": "Dispute_NotAParty",
      "Settled, its dispute after an equivocation rejected": "Dispute_NotAParty",
    }),
  },
  {
    name: "openDispute by its wallet",
    send: (world, job) => sendDispute(world, job, { by: world.client }),
    from: from(WRONG, {
      ...disputable,
      ...joinable,
      "Settled, its worker equivocated": "Disputed",
      "Settled, its dispute after an equivocation rejected": "Dispute_AlreadyOpened",
    }),
  },
  {
    name: "disputeByKey",
    send: async (world, job) => {
      await nameDisputeKey(world);
      return await sendDisputeByKey(world, job);
    },
    from: from(WRONG, {
      None: "Dispute_NotSigned",
      ...disputable,
      ...joinable,
      "Settled, its worker equivocated": "Disputed",
      "Settled, its dispute after an equivocation rejected": "Dispute_AlreadyOpened",
    }),
  },
  {
    name: "joinDispute",
    send: (world, job) => sendJoin(world, job),
    from: from(WRONG, joinable),
  },
  {
    name: "vote, the first of two",
    after: VOTES,
    send: (world, job) => sendVote(world, job, Ruling.WorkerAtFault, world.arbiters[2]),
    from: from("Panel_NotOpen", disputes("same", "same")),
  },
  ...RULINGS.map(([name, ruling, settled, proven]) => ({
    name: `rule: ${name}`,
    after: VOTES,
    send: async ({ escrow, panel }: World, job: Job) => escrow.connect(await actingAs(panel)).rule(job.id, ruling),
    from: from(WRONG, disputes(settled, proven)),
  })),
  {
    name: "expire",
    after: DAY_AND_MORE,
    send: (world, job) => world.escrow.connect(world.stranger).expire(job.id),
    from: from(WRONG, disputes("Settled", "Refunded")),
  },
  {
    name: "proveEquivocation",
    send: (world, job) => sendEquivocation(world, job),
    from: from("Settled", {
      ...SLASHED,
      None: WRONG,
      Locked: WRONG,
      Acknowledged: "Refunded",
      Proven: "Refunded",
      "Proven, its dispute rejected": "Refunded",
      "Settled, its dispute expired": LATE,
      "Disputed after its settlement": "Disputed",
      "Disputed after its settlement by its wallet": "Disputed",
      "Disputed after its proof": "Refunded",
      "Disputed after its proof by its wallet": "Refunded",
      Failed: "Failed",
      // It never had a worker.
      Refunded: WRONG,
      "Refunded, the gateway at fault": "Refunded",
      "Refunded after its proof, the dispute expired": LATE,
    }),
  },
  {
    name: "collectDebt",
    send: (world, job) => world.escrow.connect(world.stranger).collectDebt(job.id),
    from: from("Dispute_NoDebt", {}),
  },
];
