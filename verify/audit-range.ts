/** The money of a range of blocks: every job accounted for, every wallet replayed, the ledger held against the tokens. Pure. */
import { type Address, type Hex, isAddressEqual } from "viem";
import { toApiJobId } from "../protocol/job-id.ts";
import { Ruling } from "../protocol/job-status.ts";
import { toUnits, UNITS_PER_CREDIT } from "../protocol/money.ts";
import { isBalanceEvent, type JobContext, jobContext, liabilityChange, replayBalances, walletOf } from "./accounts.ts";
import { beyondCap } from "./check-compensation.ts";
import { checkMoney, checkOrder, splitOf } from "./check-money.ts";
import { Checks, wrongFields } from "./checks.ts";
import { type AnyEvent, type EscrowEvent, eventsOf, isEvent, isNoJob, jobOfEvent } from "./events.ts";
import type { Ledger, RangeEvidence } from "./evidence.ts";
import { type JobStory, jobStory } from "./story.ts";
import { Terms } from "./terms.ts";

export type RangeAudit = ReturnType<typeof auditRange>;

/** The evidence with what every check asks of it. */
type Range = RangeEvidence & { terms: Terms; context: JobContext; logsOf: (tx: Hex) => readonly AnyEvent[] };

/** Audits a range. A job that is wrong is named; those that are right are counted. */
export function auditRange(evidence: RangeEvidence) {
  const { events, earlier, escrow, closing } = evidence;
  const byTransaction = Map.groupBy(events, ({ tx }) => tx);
  const range: Range = {
    ...evidence,
    terms: new Terms(evidence.configuration, evidence.timeOf),
    context: jobContext([...earlier, ...events], escrow),
    logsOf: (tx) => byTransaction.get(tx) ?? [],
  };
  const checks = new Checks();
  const stories = storiesOf(evidence);
  checks.presuming("jobs.money", () => checkJobs(checks, range, stories));
  checks.presuming("wallets.balance", () => checkWallets(checks, range));
  checks.presuming("operators.reserve", () => checkReserves(checks, range));
  checkCap(checks, range);
  checks.presuming("ledger.credits", () => checkLedger(checks, range));
  checkMovements(checks, range);
  checkClaims(checks, range);
  const surplus = checkTokens(checks, range);
  const credits = (name: "Deposited" | "Withdrawn" | "JobSettled" | "JobLocked") =>
    eventsOf(events, "escrow", name).reduce((sum, { args }) => sum + args.credits, 0);
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
      deposited: credits("Deposited"),
      withdrawn: credits("Withdrawn"),
      charged: credits("JobSettled"),
      locked: credits("JobLocked"),
    },
    ledger: {
      credits_owed: String(closing.credits),
      claimable_units: String(closing.claimableUnits),
      tokens_held: String(closing.tokenUnits),
      surplus_units: String(surplus),
    },
    holds: checks.holds,
    checks: checks.list,
  };
}

/** The jobs that the range touches. */
function storiesOf({ events, earlier }: RangeEvidence): JobStory[] {
  const all = Map.groupBy([...earlier, ...events], jobOfEvent);
  const touched = new Set(events.flatMap((event) => jobOfEvent(event) ?? []));
  return [...touched].flatMap((jobId) => jobStory(jobId, all.get(jobId) ?? []) ?? []);
}

const isUnfinished = ({ settled, returned, disputes }: JobStory): boolean =>
  settled === null && returned === null && disputes.every(({ resolved }) => resolved === null);

/** The rules of a single job's money (`checkMoney`), for all of them. */
function checkJobs(checks: Checks, range: Range, stories: readonly JobStory[]): void {
  const { earlier, events, from } = range;
  const split = splitOf(eventsOf([...earlier, ...events], "escrow", "JobLocked"));
  const wrong = stories.flatMap((story) => {
    const own = new Checks();
    checkOrder(own, story);
    // What a settlement before the range paid out is not among the events.
    const before = story.settled !== null && story.settled.block < from;
    if (!before) checkMoney(own, story, { ...range, splitOf: split });
    return own.list.filter(({ holds }) => !holds).map(({ says }) => `${toApiJobId(story.jobId)}: ${says}`);
  });
  checks.noteEach("jobs.money", wrong, `the money of all ${stories.length} jobs is accounted for`);
}

function checkWallets(checks: Checks, { events, openingOf, context }: Range): void {
  const byWallet = Map.groupBy(events.filter(isBalanceEvent), (event) => walletOf(event).toLowerCase() as Address);
  const wrong = [...byWallet].flatMap(([wallet, history]) =>
    replayBalances(openingOf(wallet), history, context).map(
      ({ event, says }) => `${event.name} of ${wallet} in ${event.tx}: ${says}`,
    ),
  );
  checks.noteEach("wallets.balance", wrong, `the accounts of all ${byWallet.size} wallets follow from their events`);
}

/** By how much a ReserveChanged changed the reserve of its operator, and the bonds held of it. */
function reserveChange({ terms }: Range, event: EscrowEvent<"ReserveChanged">): { reserve: number; held: number } {
  const before = terms.reserve(event.args.operator, event);
  return { reserve: event.args.reserve - before.reserve, held: event.args.held - before.held };
}

/** Reserves: events without a gap; a dispute moves what its own events say, and without one tokens moved. */
function checkReserves(checks: Checks, range: Range): void {
  const changes = eventsOf(range.events, "escrow", "ReserveChanged");
  const wrong = changes.flatMap((event) => {
    const { operator, sequence, reserve, held, jobId } = event.args;
    const says: string[] = [];
    const expected = range.terms.operatorSequence(operator, event) + 1;
    if (sequence !== expected) says.push(`ReserveChanged.sequence is ${sequence}, it should be ${expected}`);
    const change = reserveChange(range, event);
    const logs = range.logsOf(event.tx);
    const explained = isNoJob(jobId)
      ? change.held === 0 && movedFor(change.reserve, logs, range.escrow)
      : reserveCauses(jobId, logs, range.context).some((one) => wrongFields("", one, change).length === 0);
    if (!explained) {
      const after = `ReserveChanged.reserve is ${reserve} after ${reserve - change.reserve}, ReserveChanged.held is ${held} after ${held - change.held}`;
      says.push(`${after}: nothing in its transaction explains it`);
    }
    return says.map((one) => `operator ${operator} in ${event.tx}: ${one}`);
  });
  checks.noteEach("operators.reserve", wrong, `all ${changes.length} changes of operators' reserves are explained`);
}

/** Whether the tokens of these credits came in, or went out. */
function movedFor(credits: number, logs: readonly AnyEvent[], escrow: Address): boolean {
  const units = toUnits(Math.abs(credits));
  return eventsOf(logs, "stablecoin", "Transfer").some(
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
    .filter((event) => jobOfEvent(event) === jobId.toLowerCase())
    .flatMap((event) => {
      if (isEvent(event, "escrow", "JobDisputed")) return { reserve: -event.args.bond, held: event.args.bond };
      if (isEvent(event, "escrow", "OperatorCharged")) return { reserve: -event.args.credits, held: 0 };
      if (!isEvent(event, "escrow", "DisputeResolved")) return [];
      const { bond } = context.disputeOf(event).args;
      return { reserve: event.args.ruling === Ruling.Rejected ? 0 : bond, held: -bond };
    });
}

/** What the treasury was charged on each UTC day, as far as the range has the day. */
function checkCap(checks: Checks, range: Range): void {
  const { events, earlier } = range;
  const known = [...earlier.filter((event) => isEvent(event, "escrow", "JobLocked")), ...events];
  const paid = eventsOf(events, "escrow", "Compensated");
  const wrong = paid.flatMap((event) => beyondCap(event, known, range).map((says) => `in ${event.tx}: ${says}`));
  checks.noteEach("treasury.cap", wrong, `all ${paid.length} compensations are within the day's cap`);
}

function checkLedger(checks: Checks, range: Range): void {
  const { events, opening, closing, context } = range;
  let [credits, units] = [opening.credits, opening.claimableUnits];
  for (const event of events) {
    const change = liabilityChange(event, context);
    credits += BigInt(change.credits);
    units += change.units;
    if (!isEvent(event, "escrow", "ReserveChanged")) continue;
    const { reserve, held } = reserveChange(range, event);
    credits += BigInt(reserve + held);
  }
  checks.add(
    "ledger.credits",
    credits === closing.credits,
    `credits owed went from ${opening.credits} to ${closing.credits}, as the events say`,
    `the events lead from ${opening.credits} credits owed to ${credits}; the escrow says ${closing.credits}`,
  );
  checks.add(
    "ledger.claimable",
    units === closing.claimableUnits,
    `${closing.claimableUnits} token units wait for payees, as the events say`,
    `the events lead to ${units} claimable token units; the escrow says ${closing.claimableUnits}`,
  );
}

/** Each deposit, withdrawal and claim has its transfer. */
function checkMovements(checks: Checks, { events, escrow, logsOf }: Range): void {
  const moves = eventsOf(events, "escrow", "Deposited", "Withdrawn", "PayoutClaimed");
  const wrong = moves.flatMap(({ name, tx, args }) => {
    const [amount, value] =
      "units" in args ? (["units", args.units] as const) : (["credits", toUnits(args.credits)] as const);
    const [who, other] =
      "receiver" in args ? (["receiver", args.receiver] as const) : (["wallet", args.wallet] as const);
    const moved = who === "receiver" ? { from: escrow, to: other, value } : { from: other, to: escrow, value };
    const transfers = eventsOf(logsOf(tx), "stablecoin", "Transfer");
    if (transfers.some((one) => wrongFields("", one.args, moved).length === 0)) return [];
    const shown = (args as Record<string, unknown>)[amount];
    return [`${name}.${amount} is ${shown}, ${name}.${who} is ${other} in ${tx}: no such transfer is there`];
  });
  checks.noteEach("tokens.accounts", wrong, `all ${moves.length} deposits, withdrawals and claims moved their tokens`);
}

/** A claim takes all that waits for its payee, and payees' claims are numbered. */
function checkClaims(checks: Checks, { events, opening }: Range): void {
  // What waited for whom before the range is known when nothing did, and of a payee after its first claim.
  type Waiting = { units: bigint; claims: number | null; known: boolean };
  const nobody: Waiting = { units: 0n, claims: null, known: opening.claimableUnits === 0n };
  const waiting = new Map<string, Waiting>();
  const wrong: string[] = [];
  const changes = eventsOf(events, "escrow", "PayoutDeferred", "PayoutClaimed");
  for (const { tx, args } of changes) {
    const payee = args.payee.toLowerCase();
    const before = waiting.get(payee) ?? nobody;
    if (!("sequence" in args)) {
      waiting.set(payee, { ...before, units: before.units + args.units });
      continue;
    }
    const { units, sequence } = args;
    if (before.known ? units !== before.units : units < before.units) {
      wrong.push(
        `PayoutClaimed.units is ${units} in ${tx}; PayoutClaimed.payee is ${args.payee}, for whom ${before.units} waited`,
      );
    }
    // Claims of earlier ranges are numbered, too.
    if (before.claims === null ? sequence < 1 : sequence !== before.claims + 1) {
      wrong.push(`PayoutClaimed.sequence is ${sequence} in ${tx}, the payee's one before is ${before.claims ?? 0}`);
    }
    waiting.set(payee, { units: 0n, claims: sequence, known: true });
  }
  const claims = changes.filter(({ args }) => "sequence" in args).length;
  checks.noteEach("payees.claims", wrong, `all ${claims} claims took what waited for their payees`);
}

const sum = (list: readonly bigint[]): bigint => list.reduce((a, b) => a + b, 0n);

/** Holds the tokens against the ledger; returns what is held beyond it. */
function checkTokens(checks: Checks, range: Range): bigint {
  const { events, escrow, opening, closing } = range;
  const transfers = eventsOf(events, "stablecoin", "Transfer").map(({ args }) => args);
  const arrived = sum(transfers.filter(({ to }) => isAddressEqual(to, escrow)).map(({ value }) => value));
  const left = sum(transfers.filter(({ from }) => isAddressEqual(from, escrow)).map(({ value }) => value));
  const held = opening.tokenUnits + arrived - left;
  checks.add(
    "tokens.transfers",
    held === closing.tokenUnits,
    `${arrived} token units came in, ${left} went out: ${closing.tokenUnits} are held`,
    `${opening.tokenUnits} + ${arrived} - ${left} token units should leave ${held}; ${closing.tokenUnits} are held`,
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
  const funded = eventsOf(events, "escrow", "ReserveChanged")
    .filter(({ args }) => isNoJob(args.jobId))
    .map((event) => reserveChange(range, event).reserve);
  const given =
    arrived -
    sum([
      ...eventsOf(events, "escrow", "Deposited").map(({ args }) => toUnits(args.credits)),
      ...eventsOf(events, "escrow", "Compensated").map(({ args }) => args.paid),
      ...funded.filter((credits) => credits > 0).map(toUnits),
    ]);
  const grown = surplus - (opening.tokenUnits - due(opening));
  checks.add(
    "tokens.surplus",
    grown === given && given >= 0n,
    given === 0n
      ? "every token that moved has its entry in the ledger"
      : `${given} token units were sent to the escrow without a deposit`,
    `tokens and ledger moved apart by ${grown - given} token units in this range`,
  );
  return surplus;
}
