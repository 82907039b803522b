/** The money of a range of blocks: every job accounted for, every wallet replayed, the ledger held against the tokens. Pure. */
import { type Address, type Hex, isAddressEqual } from "viem";
import { toApiJobId } from "../job-id.ts";
import { toUnits, UNITS_PER_CREDIT } from "../money.ts";
import { decodeJobWord } from "../words.ts";
import { isBalanceEvent, type JobContext, liabilityChange, REJECTED, replayBalances, walletOf } from "./balances.ts";
import { allowance } from "./check-compensation.ts";
import { type AnyEvent, eventsOf, isEvent, isNoJob, jobOfEvent } from "./event-log.ts";
import { type Check, Checks, type Ledger, type RangeEvidence, wrongFields } from "./evidence.ts";
import { feeProblems, jobProblems, storiesOf } from "./range-jobs.ts";
import { type JobStory, jobContext } from "./story.ts";
import { compensationCapAt, operatorSequenceBefore, reserveBefore } from "./terms.ts";

export type { Ledger, RangeEvidence } from "./evidence.ts";

export type RangeAudit = {
  from_block: number;
  to_block: number;
  jobs: { touched: number; settled: number; returned: number; open: number };
  credits: { deposited: number; withdrawn: number; charged: number; locked: number };
  ledger: { credits_owed: string; claimable_units: string; tokens_held: string; surplus_units: string };
  holds: boolean;
  checks: Check[];
};

/** Audits a range. A job that is wrong is named; those that are right are counted. */
export function auditRange(evidence: RangeEvidence): RangeAudit {
  const { events, earlier, escrow, closing } = evidence;
  const checks = new Checks();
  const context = jobContext([...earlier, ...events], escrow);
  const stories = storiesOf(evidence);
  checks.presuming("jobs.money", () => checkJobs(checks, evidence, stories));
  checks.presuming("wallets.balance", () => checkWallets(checks, evidence, context));
  checks.presuming("operators.reserve", () => checkReserves(checks, evidence, context));
  checkCap(checks, evidence);
  checks.presuming("ledger.credits", () => checkLedger(checks, evidence, context));
  checkMovements(checks, evidence);
  checkClaims(checks, evidence);
  const surplus = checkTokens(checks, evidence);
  const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0);
  return {
    from_block: Number(evidence.from),
    to_block: Number(evidence.to),
    jobs: {
      touched: stories.length,
      settled: stories.filter(({ settled }) => settled !== null).length,
      returned: stories.filter(({ returned }) => returned !== null).length,
      open: stories.filter(isUnfinished).length,
    },
    credits: {
      deposited: sum(eventsOf(events, "escrow", "Deposited").map(({ args }) => args.credits)),
      withdrawn: sum(eventsOf(events, "escrow", "Withdrawn").map(({ args }) => args.credits)),
      charged: sum(eventsOf(events, "escrow", "JobSettled").map(({ args }) => args.credits)),
      locked: sum(eventsOf(events, "escrow", "JobLocked").map(({ args }) => args.credits)),
    },
    ledger: {
      credits_owed: String(closing.credits),
      claimable_units: String(closing.claimableUnits),
      tokens_held: String(closing.tokenUnits),
      surplus_units: String(surplus),
    },
    holds: checks.list.every(({ holds }) => holds),
    checks: checks.list,
  };
}

const isUnfinished = ({ settled, returned, disputes }: JobStory): boolean =>
  settled === null && returned === null && disputes.every(({ resolved }) => resolved === null);

/** Notes what is wrong one by one, or that nothing is. */
function note(checks: Checks, id: string, wrong: readonly string[], good: string): void {
  for (const says of wrong) checks.add(id, false, "", says);
  if (wrong.length === 0) checks.add(id, true, good, "");
}

function checkJobs(checks: Checks, evidence: RangeEvidence, stories: readonly JobStory[]): void {
  const byTransaction = Map.groupBy(evidence.events, ({ tx }) => tx) as Map<Hex, AnyEvent[]>;
  const wrong = stories.flatMap((story) =>
    jobProblems(story, evidence, byTransaction).map((says) => `${toApiJobId(story.jobId)}: ${says}`),
  );
  note(
    checks,
    "jobs.money",
    [...wrong, ...feeProblems(evidence, byTransaction)],
    `the money of all ${stories.length} jobs is accounted for`,
  );
}

function checkWallets(checks: Checks, { events, openingOf }: RangeEvidence, context: JobContext): void {
  const byWallet = Map.groupBy(events.filter(isBalanceEvent), (event) => walletOf(event).toLowerCase() as Address);
  const wrong = [...byWallet].flatMap(([wallet, history]) =>
    replayBalances(openingOf(wallet), history, context).map(
      ({ event, says }) => `${event.name} of ${wallet} in ${event.tx}: ${says}`,
    ),
  );
  note(checks, "wallets.balance", wrong, `the accounts of all ${byWallet.size} wallets follow from their events`);
}

/** Reserves: events without a gap; a dispute moves what its own events say, and without one tokens moved. */
function checkReserves(checks: Checks, { events, configuration, escrow }: RangeEvidence, context: JobContext): void {
  const changes = eventsOf(events, "escrow", "ReserveChanged");
  const wrong = changes.flatMap((event) => {
    const { operator, sequence, reserve, held, jobId } = event.args;
    const before = reserveBefore(configuration, operator, event);
    const expected = operatorSequenceBefore(configuration, operator, event) + 1;
    const says: string[] = [];
    if (sequence !== expected) says.push(`ReserveChanged.sequence is ${sequence}, it should be ${expected}`);
    const change = { reserve: reserve - before.reserve, held: held - before.held };
    const logs = events.filter(({ tx }) => tx === event.tx);
    const explained = isNoJob(jobId)
      ? change.held === 0 && movedFor(change.reserve, logs, escrow)
      : reserveCauses(jobId, logs, context).some((one) => one.reserve === change.reserve && one.held === change.held);
    if (!explained) {
      const after = `ReserveChanged.reserve is ${reserve} after ${before.reserve}, ReserveChanged.held is ${held} after ${before.held}`;
      says.push(`${after}: nothing in its transaction explains it`);
    }
    return says.map((one) => `operator ${operator} in ${event.tx}: ${one}`);
  });
  note(checks, "operators.reserve", wrong, `all ${changes.length} changes of operators' reserves are explained`);
}

/** Whether the tokens of these credits came in, or went out. */
function movedFor(credits: number, logs: readonly AnyEvent[], escrow: Address): boolean {
  const units = toUnits(Math.abs(credits));
  const transfers = eventsOf(logs, "stablecoin", "Transfer");
  return transfers.some(
    ({ args }) => args.value === units && isAddressEqual(credits > 0 ? args.to : args.from, escrow),
  );
}

/** How the events of a job change its operator's reserve. */
function reserveCauses(
  jobId: Hex,
  logs: readonly AnyEvent[],
  context: JobContext,
): { reserve: number; held: number }[] {
  return logs
    .filter((event) => jobOfEvent(event) === jobId)
    .flatMap((event) => {
      if (isEvent(event, "escrow", "JobDisputed")) return { reserve: -event.args.bond, held: event.args.bond };
      if (isEvent(event, "escrow", "OperatorCharged")) return { reserve: -event.args.credits, held: 0 };
      if (!isEvent(event, "escrow", "DisputeResolved")) return [];
      const { bond } = context.disputeOf(event).args;
      return { reserve: event.args.ruling === REJECTED ? 0 : bond, held: -bond };
    });
}

/** What the treasury was charged on each UTC day, as far as the range has the day. */
function checkCap(checks: Checks, { events, earlier, configuration, timeOf }: RangeEvidence): void {
  const known = [...earlier.filter((event) => isEvent(event, "escrow", "JobLocked")), ...events];
  const operators = new Map(
    eventsOf(known, "escrow", "JobLocked").map(({ args }) => [args.jobId, decodeJobWord(args.job).operator]),
  );
  const paid = eventsOf(events, "escrow", "Compensated");
  const wrong = paid.flatMap((event) => {
    const operator = operators.get(event.args.jobId) ?? 0;
    const most = allowance(known, event, { operator, cap: compensationCapAt(configuration, event), timeOf });
    return event.args.paid <= most
      ? []
      : [`Compensated.paid in ${event.tx} is ${event.args.paid}, but the day's cap allowed ${most} token units`];
  });
  note(checks, "treasury.cap", wrong, `all ${paid.length} compensations are within the day's cap`);
}

function checkLedger(checks: Checks, evidence: RangeEvidence, context: JobContext): void {
  const { events, opening, closing } = evidence;
  const change = events.reduce(
    (sum, event) => {
      const { credits, units } = liabilityChange(event, context);
      return { credits: sum.credits + BigInt(credits), units: sum.units + units };
    },
    { credits: BigInt(reserveChange(evidence)), units: 0n },
  );
  checks.add(
    "ledger.credits",
    opening.credits + change.credits === closing.credits,
    `credits owed went from ${opening.credits} to ${closing.credits}, as the events say`,
    `the events lead from ${opening.credits} credits owed to ${opening.credits + change.credits}; the escrow says ${closing.credits}`,
  );
  checks.add(
    "ledger.claimable",
    opening.claimableUnits + change.units === closing.claimableUnits,
    `${closing.claimableUnits} token units wait for payees, as the events say`,
    `the events lead to ${opening.claimableUnits + change.units} claimable token units; the escrow says ${closing.claimableUnits}`,
  );
}

/** Credits by which all operators' reserves and held bonds changed. */
function reserveChange({ events, configuration }: RangeEvidence): number {
  return eventsOf(events, "escrow", "ReserveChanged").reduce((sum, event) => {
    const before = reserveBefore(configuration, event.args.operator, event);
    return sum + event.args.reserve + event.args.held - before.reserve - before.held;
  }, 0);
}

/** Each deposit, withdrawal and claim has its transfer. */
function checkMovements(checks: Checks, { events, escrow }: RangeEvidence): void {
  const transfers = Map.groupBy(eventsOf(events, "stablecoin", "Transfer"), ({ tx }) => tx);
  const list = [
    ...eventsOf(events, "escrow", "Deposited").map(({ tx, args: { wallet, credits } }) => ({
      tx,
      says: `Deposited.credits is ${credits}, Deposited.wallet is ${wallet}`,
      moved: { from: wallet, to: escrow, value: toUnits(credits) },
    })),
    ...eventsOf(events, "escrow", "Withdrawn").map(({ tx, args: { receiver, credits } }) => ({
      tx,
      says: `Withdrawn.credits is ${credits}, Withdrawn.receiver is ${receiver}`,
      moved: { from: escrow, to: receiver, value: toUnits(credits) },
    })),
    ...eventsOf(events, "escrow", "PayoutClaimed").map(({ tx, args: { receiver, units } }) => ({
      tx,
      says: `PayoutClaimed.units is ${units}, PayoutClaimed.receiver is ${receiver}`,
      moved: { from: escrow, to: receiver, value: units },
    })),
  ];
  const wrong = list.flatMap(({ tx, says, moved }) =>
    transfers.get(tx)?.some(({ args }) => wrongFields("", args, moved).length === 0)
      ? []
      : [`${says} in ${tx}: no such transfer is there`],
  );
  note(checks, "tokens.accounts", wrong, `all ${list.length} deposits, withdrawals and claims moved their tokens`);
}

/** A claim takes all that waits for its payee, and payees' claims are numbered. */
function checkClaims(checks: Checks, { events, opening }: RangeEvidence): void {
  // What waited for whom before the range is known when nothing did, and of a payee after its first claim.
  type Waiting = { units: bigint; claims: number | null; known: boolean };
  const fresh = opening.claimableUnits === 0n;
  const waiting = new Map<string, Waiting>();
  const of = (payee: Address): Waiting => waiting.get(payee.toLowerCase()) ?? { units: 0n, claims: null, known: fresh };
  const wrong: string[] = [];
  let count = 0;
  for (const event of events) {
    if (isEvent(event, "escrow", "PayoutDeferred")) {
      const { payee, units } = event.args;
      const before = of(payee);
      waiting.set(payee.toLowerCase(), { ...before, units: before.units + units });
    } else if (isEvent(event, "escrow", "PayoutClaimed")) {
      count += 1;
      const { payee, units, sequence } = event.args;
      const { units: waited, claims, known } = of(payee);
      if (known ? units !== waited : units < waited) {
        wrong.push(
          `PayoutClaimed.units is ${units} in ${event.tx}; PayoutClaimed.payee is ${payee}, for whom ${waited} waited`,
        );
      }
      // Claims of earlier ranges are numbered, too.
      if (claims === null ? sequence < 1 : sequence !== claims + 1) {
        wrong.push(`PayoutClaimed.sequence is ${sequence} in ${event.tx}, the payee's one before is ${claims ?? 0}`);
      }
      waiting.set(payee.toLowerCase(), { units: 0n, claims: sequence, known: true });
    }
  }
  note(checks, "payees.claims", wrong, `all ${count} claims took what waited for their payees`);
}

/** Holds the tokens against the ledger; returns what is held beyond it. */
function checkTokens(checks: Checks, evidence: RangeEvidence): bigint {
  const { events, escrow, opening, closing } = evidence;
  const transfers = eventsOf(events, "stablecoin", "Transfer");
  const sum = (list: bigint[]) => list.reduce((a, b) => a + b, 0n);
  const arrived = sum(transfers.filter(({ args }) => isAddressEqual(args.to, escrow)).map(({ args }) => args.value));
  const left = sum(transfers.filter(({ args }) => isAddressEqual(args.from, escrow)).map(({ args }) => args.value));
  checks.add(
    "tokens.transfers",
    opening.tokenUnits + arrived - left === closing.tokenUnits,
    `${arrived} token units came in, ${left} went out: ${closing.tokenUnits} are held`,
    `${opening.tokenUnits} + ${arrived} - ${left} token units should leave ${opening.tokenUnits + arrived - left}; ${closing.tokenUnits} are held`,
  );
  const due = (ledger: Ledger) => ledger.credits * UNITS_PER_CREDIT + ledger.claimableUnits;
  const surplus = closing.tokenUnits - due(closing);
  checks.add(
    "tokens.solvency",
    surplus >= 0n,
    `the escrow holds the ${due(closing)} token units it owes${surplus > 0n ? ` and ${surplus} more` : ""}`,
    `the escrow owes ${due(closing)} token units and holds ${closing.tokenUnits}: ${-surplus} are missing`,
  );
  // Nothing of the ledger's own moves the difference; only tokens that somebody sent without a deposit do.
  const caused = sum([
    ...eventsOf(events, "escrow", "Deposited").map(({ args }) => toUnits(args.credits)),
    ...eventsOf(events, "escrow", "Compensated").map(({ args }) => args.paid),
    ...fundings(evidence).map(toUnits),
  ]);
  const given = arrived - caused;
  checks.add(
    "tokens.surplus",
    surplus - (opening.tokenUnits - due(opening)) === given && given >= 0n,
    given === 0n
      ? "every token that moved has its entry in the ledger"
      : `${given} token units were sent to the escrow without a deposit`,
    `tokens and ledger moved apart by ${surplus - (opening.tokenUnits - due(opening)) - given} token units in this range`,
  );
  return surplus;
}

/** Credits that were bought for operators' reserves. */
function fundings({ events, configuration }: RangeEvidence): number[] {
  return eventsOf(events, "escrow", "ReserveChanged")
    .filter(({ args }) => isNoJob(args.jobId))
    .map((event) => event.args.reserve - reserveBefore(configuration, event.args.operator, event).reserve)
    .filter((credits) => credits > 0);
}
