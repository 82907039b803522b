/**
 * The money of a range of blocks: every job accounted for, every wallet replayed, the ledger held against the tokens. Pure.
 *
 * A range is looked at in pieces, each as large as memory allows: what a piece leaves to the next one is plain data (`RangeProgress`).
 */
import type { Address, Hex } from "viem";
import { isNoJob, toApiJobId } from "../protocol/job-id.ts";
import { Ruling } from "../protocol/job-status.ts";
import { toUnits, UNITS_PER_CREDIT, usdgText } from "../protocol/money.ts";
import { type AccountWord, decodeJobWord } from "../protocol/words.ts";
import { groupBy } from "../shared/group-by.ts";
import {
  dayOf,
  isBalanceEvent,
  type JobContext,
  jobContext,
  liabilityChange,
  replayBalances,
  walletOf,
} from "./accounts.ts";
import { beyondCap } from "./check-compensation.ts";
import { checkMoney, checkOrder, splitOf } from "./check-money.ts";
import { isEmptyAnswer } from "./check-proof.ts";
import { Checks, MissingEvent, wrongFields } from "./checks.ts";
import { type AnyEvent, type EscrowEvent, eventsOf, isEvent, jobOfEvent, sameAddress } from "./events.ts";
import type { BlocksEvidence, Ledger } from "./evidence.ts";
import { feesByTransaction } from "./payouts.ts";
import { isConceded, isOpen, type JobStory, jobStory } from "./story.ts";
import { Terms } from "./terms.ts";

/** A check lists this many findings; it only counts the others. */
const LISTED = 1_000;

const NOTHING_COUNTED = {
  touched: 0,
  settled: 0,
  empty: 0 as number | undefined,
  returned: 0,
  deposited: 0,
  withdrawn: 0,
  charged: 0,
  locked: 0,
  reserves: 0,
  earnings: 0 as number | undefined,
  compensations: 0,
  movements: 0,
  claims: 0,
};

/** The payouts that wait for a payee. `known`: the sum is whole, because nothing waited before the range, or the payee has made a claim in it. */
type Waiting = { units: bigint; claims: number | null; known: boolean };

/** An operator's earnings by the jobs of a day. `known`: the sum is whole, because nothing was owed before the range, or an event in it says it. */
type Earned = { units: bigint; known: boolean };

/** The findings so far, and the state with which the audit goes on at the next block. */
export type RangeProgress = {
  from: bigint;
  /** The first block that was not looked at. */
  next: bigint;
  /** Before the range. */
  opening: Ledger;
  /** As the events so far lead to. */
  ledger: Ledger;
  /** Tokens that came in and have an entry in the ledger, token units. */
  entered: bigint;
  arrived: bigint;
  left: bigint;
  /** By wallet, lower case. */
  accounts: Record<string, AccountWord>;
  /** Events of the jobs that are not over. */
  open: Record<Hex, AnyEvent[]>;
  /** By payee, lower case. */
  waiting: Record<string, Waiting>;
  /** By operator and UTC day; a range that an earlier version began has none. */
  earned?: Record<string, Earned>;
  /** Compensations of the last UTC day that had one, and the locks of their jobs. */
  compensated: AnyEvent[];
  counts: typeof NOTHING_COUNTED;
  wrong: Record<string, { count: number; says: string[] }>;
};

export type RangeAudit = ReturnType<typeof concludeRange>;

/** The evidence of some blocks with what every check asks of it. */
type Blocks = BlocksEvidence & {
  progress: RangeProgress;
  terms: Terms;
  context: JobContext;
  logsOf: (tx: Hex) => readonly AnyEvent[];
};

/** An audit that has looked at nothing yet. */
export function beginRange(from: bigint, opening: Ledger): RangeProgress {
  return {
    from,
    next: from,
    opening,
    ledger: { ...opening },
    entered: 0n,
    arrived: 0n,
    left: 0n,
    accounts: {},
    open: {},
    waiting: {},
    earned: {},
    compensated: [],
    counts: { ...NOTHING_COUNTED },
    wrong: {},
  };
}

/** Looks at the next blocks. */
export function auditBlocks(progress: RangeProgress, evidence: BlocksEvidence): void {
  const { events, escrow } = evidence;
  const earlier = [...Object.values(progress.open).flat(), ...evidence.earlier];
  const byTransaction = groupBy(events, ({ tx }) => tx);
  const blocks: Blocks = {
    ...evidence,
    earlier,
    progress,
    terms: new Terms(evidence.configuration, evidence.timeOf),
    context: jobContext([...earlier, ...events], escrow),
    logsOf: (tx) => byTransaction.get(tx) ?? [],
  };
  const stories = storiesOf(blocks);
  // Checked anew for the whole configuration: an audit that goes on later has more of its events.
  delete progress.wrong["configuration.history"];
  note(progress, "configuration.history", blocks.terms.gaps());
  presuming(progress, "jobs.money", () => checkJobs(blocks, stories));
  presuming(progress, "wallets.balance", () => checkWallets(blocks));
  presuming(progress, "operators.reserve", () => checkReserves(blocks));
  presuming(progress, "operators.earnings", () => checkEarned(blocks));
  checkCap(blocks);
  followTokens(blocks);
  presuming(progress, "ledger.credits", () => followLedger(blocks));
  checkMovements(blocks);
  checkClaims(blocks);
  countBlocks(blocks, stories);
  progress.next = evidence.to + 1n;
}

/** Concludes the checks of all blocks that were looked at. `closing`: the escrow's own figures at the last one. */
export function concludeRange(progress: RangeProgress, closing: Ledger) {
  const { counts, wrong } = progress;
  const checks = new Checks();
  const noteEach = (id: string, good: string): void => {
    const { count, says } = wrong[id] ?? { count: 0, says: [] };
    checks.noteEach(id, count > says.length ? [...says, `and ${count - says.length} more`] : says, good);
  };
  noteEach("configuration.history", "no event is missing that decides what was in force");
  noteEach("jobs.money", `the money of all ${counts.touched} jobs is accounted for`);
  const wallets = Object.keys(progress.accounts).length;
  noteEach("wallets.balance", `the accounts of all ${wallets} wallets follow from their events`);
  noteEach("operators.reserve", `all ${counts.reserves} changes of operators' reserves are explained`);
  noteEach("operators.earnings", `all ${counts.earnings ?? 0} changes of operators' earnings are explained`);
  noteEach("treasury.cap", `all ${counts.compensations} compensations are within the day's cap`);
  if (wrong["ledger.credits"] === undefined) checkLedger(checks, progress, closing);
  else noteEach("ledger.credits", "");
  noteEach("tokens.accounts", `all ${counts.movements} deposits, withdrawals and claims moved their tokens`);
  noteEach("payees.claims", `all ${counts.claims} claims took what waited for their payees`);
  const surplus = checkTokens(checks, progress, closing);
  const { touched, settled, empty, returned, deposited, withdrawn, charged, locked } = counts;
  const open = Object.entries(progress.open).filter(([jobId, events]) => {
    const story = jobStory(jobId as Hex, events);
    return story !== null && isUnfinished(story);
  });
  return {
    from_block: Number(progress.from),
    to_block: Number(progress.next - 1n),
    // A range that an earlier version began has no count of them.
    jobs: { touched, settled, empty: empty ?? 0, returned, open: open.length },
    credits: { deposited, withdrawn, charged, locked },
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

function note({ wrong }: RangeProgress, id: string, found: readonly string[]): void {
  if (found.length === 0) return;
  wrong[id] ??= { count: 0, says: [] };
  const entry = wrong[id];
  entry.count += found.length;
  entry.says.push(...found.slice(0, LISTED - entry.says.length));
}

/** Runs checks that presuppose events of other jobs; one that is not there fails as `id`. */
function presuming(progress: RangeProgress, id: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof MissingEvent)) throw error;
    note(progress, id, [error.message]);
  }
}

/** The jobs that these blocks touch. */
function storiesOf({ events, earlier }: Blocks): JobStory[] {
  const touched = new Set(events.flatMap((event) => jobOfEvent(event) ?? []));
  const all = groupBy([...earlier, ...events], jobOfEvent);
  return [...touched].flatMap((jobId) => jobStory(jobId, all.get(jobId) ?? []) ?? []);
}

const isUnfinished = ({ settled, returned, disputes }: JobStory): boolean =>
  settled === null && returned === null && disputes.every(({ resolved }) => resolved === null);

/** The rules of a single job's money (`checkMoney`), for all of them. */
function checkJobs(blocks: Blocks, stories: readonly JobStory[]): void {
  const { progress, earlier, events, from } = blocks;
  const split = splitOf(eventsOf([...earlier, ...events], "escrow", "JobLocked"));
  const feesOf = feesByTransaction(blocks.logsOf, { escrow: blocks.escrow, splitOf: split });
  for (const story of stories) {
    const own = new Checks();
    checkOrder(own, story);
    // If the job was settled before this range, the payouts of its settlement are not among the events.
    const before = story.settled !== null && story.settled.block < from;
    if (!before) checkMoney(own, story, { ...blocks, splitOf: split, feesOf });
    const wrong = own.list.filter(({ holds }) => !holds).map(({ says }) => `${toApiJobId(story.jobId)}: ${says}`);
    note(progress, "jobs.money", wrong);
  }
}

function checkWallets({ progress, events, openingOf, context }: Blocks): void {
  const byWallet = groupBy(events.filter(isBalanceEvent), (event) => walletOf(event).toLowerCase());
  for (const [wallet, history] of byWallet) {
    const opening = progress.accounts[wallet] ?? openingOf(wallet as Address);
    const { gaps, closing } = replayBalances(opening, history, context);
    progress.accounts[wallet] = closing;
    const wrong = gaps.map(({ event, says }) => `${event.name} of ${wallet} in ${event.tx}: ${says}`);
    note(progress, "wallets.balance", wrong);
  }
}

/** Counts the jobs and credits of these blocks, and keeps the jobs that are not over. */
function countBlocks({ progress, events, from }: Blocks, stories: readonly JobStory[]): void {
  const { counts } = progress;
  for (const story of stories) {
    const isNew = !story.events.some(({ block }) => block >= progress.from && block < from);
    const counted = (event: { block: bigint } | null) => event !== null && (isNew || event.block >= from);
    if (isNew) counts.touched += 1;
    if (counted(story.settled)) {
      counts.settled += 1;
      if (isEmptyAnswer(story.settled?.args.proofHash)) counts.empty = (counts.empty ?? 0) + 1;
    }
    if (counted(story.returned)) counts.returned += 1;
    if (isOpen(story.status)) progress.open[story.jobId] = [...story.events];
    else delete progress.open[story.jobId];
  }
  const credits = (name: "Deposited" | "Withdrawn" | "JobSettled" | "JobLocked") =>
    eventsOf(events, "escrow", name).reduce((sum, { args }) => sum + args.credits, 0);
  counts.deposited += credits("Deposited");
  counts.withdrawn += credits("Withdrawn");
  counts.charged += credits("JobSettled");
  counts.locked += credits("JobLocked");
}

/** By how much a ReserveChanged changed the reserve of its operator, and the bonds held of it. */
function reserveChange({ terms }: Blocks, event: EscrowEvent<"ReserveChanged">): { reserve: number; held: number } {
  const before = terms.reserve(event.args.operator, event);
  return { reserve: event.args.reserve - before.reserve, held: event.args.held - before.held };
}

/** Reserves: events without a gap; a dispute moves what its own events say, and without one tokens moved. */
function checkReserves(blocks: Blocks): void {
  const changes = eventsOf(blocks.events, "escrow", "ReserveChanged");
  const wrong = changes.flatMap((event) => {
    const { operator, sequence, reserve, held, jobId } = event.args;
    const says: string[] = [];
    const expected = blocks.terms.operatorSequence(operator, event) + 1;
    if (sequence !== expected) says.push(`ReserveChanged.sequence is ${sequence}, it should be ${expected}`);
    const change = reserveChange(blocks, event);
    const logs = blocks.logsOf(event.tx);
    const explained = isNoJob(jobId)
      ? change.held === 0 && movedFor(change.reserve, logs, blocks.escrow)
      : reserveCauses(jobId, logs, blocks.context).some((one) => wrongFields("", one, change).length === 0);
    if (!explained) {
      const after = `ReserveChanged.reserve is ${reserve} after ${reserve - change.reserve}, ReserveChanged.held is ${held} after ${held - change.held}`;
      says.push(`${after}: nothing in its transaction explains it`);
    }
    return says.map((one) => `operator ${operator} in ${event.tx}: ${one}`);
  });
  blocks.progress.counts.reserves += changes.length;
  note(blocks.progress, "operators.reserve", wrong);
}

/** True if the tokens of these credits came in, or went out if the credits are negative. */
function movedFor(credits: number, logs: readonly AnyEvent[], escrow: Address): boolean {
  const units = toUnits(Math.abs(credits));
  return eventsOf(logs, "stablecoin", "Transfer").some(
    ({ args }) => args.value === units && sameAddress(credits > 0 ? args.to : args.from, escrow),
  );
}

/** The changes of the operator's reserve by the events of a job. */
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
      const opened = context.disputeOf(event);
      const { bond } = opened.args;
      const isLost = event.args.ruling === Ruling.Rejected && !isConceded(opened, context.joinOf(event));
      return { reserve: isLost ? 0 : bond, held: -bond };
    });
}

/** Earnings: settlements add to them, disputes move what their jobs earned, and a withdrawal takes all of its days. */
function checkEarned({ progress, terms, events, context }: Blocks): void {
  const { opening } = progress;
  progress.earned ??= {};
  const { earned } = progress;
  const of = (operator: number, day: number): Earned =>
    (earned[`${operator}:${day}`] ??= { units: 0n, known: opening.claimableUnits === 0n });
  const changes = eventsOf(events, "escrow", "JobSettled", "EarningsChanged", "EarningsWithdrawn");
  const wrong: string[] = [];
  for (const event of changes as unknown as AnyEvent[]) {
    if (isEvent(event, "escrow", "JobSettled")) {
      const { operator, lockedAt } = decodeJobWord(context.lockOf(event.args.jobId).args.job);
      of(operator, dayOf(lockedAt)).units += context.earnedBy(event);
      continue;
    }
    if (!isEvent(event, "escrow", "EarningsChanged", "EarningsWithdrawn")) continue;
    const { name, tx } = event;
    const { operator } = event.args;
    const says = wrongFields(name, event.args, { sequence: terms.operatorSequence(operator, event) + 1 });
    if (isEvent(event, "escrow", "EarningsChanged")) {
      const { lockedAt, ...word } = decodeJobWord(context.lockOf(event.args.jobId).args.job);
      const day = of(word.operator, dayOf(lockedAt));
      const { change, disputed } = context.partMoved(event);
      const expected = { operator: word.operator, day: dayOf(lockedAt), disputed };
      const wanted = day.known ? { ...expected, units: day.units + change } : expected;
      says.push(...wrongFields(name, event.args, wanted));
      Object.assign(day, { units: event.args.units, known: true });
    } else {
      const { firstDay, lastDay } = event.args as EscrowEvent<"EarningsWithdrawn">["args"];
      const days = Array.from({ length: lastDay - firstDay + 1 }, (_, i) => of(operator, firstDay + i));
      const units = days.reduce((sum, day) => sum + day.units, 0n);
      if (days.every(({ known }) => known)) says.push(...wrongFields(name, event.args, { units }));
      for (const day of days) Object.assign(day, { units: 0n, known: true });
    }
    wrong.push(...says.map((one) => `operator ${operator} in ${tx}: ${one}`));
  }
  const moved = eventsOf(events, "escrow", "EarningsChanged", "EarningsWithdrawn");
  progress.counts.earnings = (progress.counts.earnings ?? 0) + moved.length;
  note(progress, "operators.earnings", wrong);
}

/** Checks that the treasury was charged at most its cap on each UTC day, as far as the range has the day. */
function checkCap(blocks: Blocks): void {
  const { progress, events, earlier, timeOf } = blocks;
  const paid = eventsOf(events, "escrow", "Compensated");
  progress.counts.compensations += paid.length;
  const newest = paid.at(-1);
  if (newest === undefined) return;
  const locks = (list: readonly AnyEvent[]) => list.filter((event) => isEvent(event, "escrow", "JobLocked"));
  const known = [...progress.compensated, ...locks(earlier), ...events];
  const wrong = paid.flatMap((event) => beyondCap(event, known, blocks).map((says) => `in ${event.tx}: ${says}`));
  note(progress, "treasury.cap", wrong);
  const today = eventsOf(known, "escrow", "Compensated").filter(
    ({ block }) => dayOf(timeOf(block)) === dayOf(timeOf(newest.block)),
  );
  const jobs = new Set(today.map((event) => jobOfEvent(event as AnyEvent)));
  progress.compensated = [...locks(known).filter((lock) => jobs.has(jobOfEvent(lock))), ...(today as AnyEvent[])];
}

/** The tokens that moved, and those of them that the ledger has. */
function followTokens(blocks: Blocks): void {
  const { progress, events, escrow } = blocks;
  for (const event of events) {
    if (isEvent(event, "stablecoin", "Transfer")) {
      const { from, to, value } = event.args;
      if (sameAddress(to, escrow)) progress.arrived += value;
      if (sameAddress(from, escrow)) progress.left += value;
    } else if (isEvent(event, "escrow", "Deposited")) progress.entered += toUnits(event.args.credits);
    else if (isEvent(event, "escrow", "Compensated")) progress.entered += event.args.paid;
    else if (isEvent(event, "escrow", "ReserveChanged") && isNoJob(event.args.jobId)) {
      const funded = reserveChange(blocks, event).reserve;
      if (funded > 0) progress.entered += toUnits(funded);
    }
  }
  progress.ledger.tokenUnits = progress.opening.tokenUnits + progress.arrived - progress.left;
}

/** Carries the ledger on by the events of these blocks. */
function followLedger(blocks: Blocks): void {
  const { progress, events, context } = blocks;
  const { ledger } = progress;
  for (const event of events) {
    const change = liabilityChange(event, context);
    ledger.credits += BigInt(change.credits);
    ledger.claimableUnits += change.units;
    if (!isEvent(event, "escrow", "ReserveChanged")) continue;
    const { reserve, held } = reserveChange(blocks, event);
    ledger.credits += BigInt(reserve + held);
  }
}

function checkLedger(checks: Checks, { opening, ledger }: RangeProgress, closing: Ledger): void {
  checks.add(
    "ledger.credits",
    ledger.credits === closing.credits,
    `credits owed went from ${opening.credits} to ${closing.credits}, as the events say`,
    `the events lead from ${opening.credits} credits owed to ${ledger.credits}; the escrow says ${closing.credits}`,
  );
  checks.add(
    "ledger.claimable",
    ledger.claimableUnits === closing.claimableUnits,
    `${usdgText(closing.claimableUnits)} wait for payees and operators, as the events say`,
    `the events lead to ${usdgText(ledger.claimableUnits)} for payees and operators; the escrow says ${usdgText(closing.claimableUnits)}`,
  );
}

/** Each deposit, withdrawal and claim has its transfer, earnings included. */
function checkMovements({ progress, events, escrow, logsOf }: Blocks): void {
  const moves = eventsOf(events, "escrow", "Deposited", "Withdrawn", "PayoutClaimed", "EarningsWithdrawn");
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
  progress.counts.movements += moves.length;
  note(progress, "tokens.accounts", wrong);
}

/** A claim takes all that waits for its payee, and payees' claims are numbered. */
function checkClaims({ progress, events }: Blocks): void {
  const { waiting, opening } = progress;
  const nobody: Waiting = { units: 0n, claims: null, known: opening.claimableUnits === 0n };
  const wrong: string[] = [];
  const changes = eventsOf(events, "escrow", "PayoutDeferred", "PayoutClaimed");
  for (const { tx, args } of changes) {
    const payee = args.payee.toLowerCase();
    const before = waiting[payee] ?? nobody;
    if (!("sequence" in args)) {
      waiting[payee] = { ...before, units: before.units + args.units };
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
    waiting[payee] = { units: 0n, claims: sequence, known: true };
  }
  progress.counts.claims += changes.filter(({ args }) => "sequence" in args).length;
  note(progress, "payees.claims", wrong);
}

/** Holds the tokens against the ledger; returns what is held beyond it. */
function checkTokens(checks: Checks, progress: RangeProgress, closing: Ledger): bigint {
  const { opening, ledger, arrived, left, entered } = progress;
  checks.add(
    "tokens.transfers",
    ledger.tokenUnits === closing.tokenUnits,
    `${usdgText(arrived)} came in, ${usdgText(left)} went out: ${usdgText(closing.tokenUnits)} are held`,
    `${usdgText(opening.tokenUnits)} + ${usdgText(arrived)} - ${usdgText(left)} should leave ${usdgText(ledger.tokenUnits)}; ${usdgText(closing.tokenUnits)} are held`,
  );
  const due = (ledger: Ledger) => ledger.credits * UNITS_PER_CREDIT + ledger.claimableUnits;
  const surplus = closing.tokenUnits - due(closing);
  checks.add(
    "tokens.solvency",
    surplus >= 0n,
    `the escrow holds the ${usdgText(due(closing))} it owes${surplus > 0n ? ` and ${usdgText(surplus)} more` : ""}`,
    `the escrow owes ${usdgText(due(closing))} and holds ${usdgText(closing.tokenUnits)}: ${usdgText(-surplus)} are missing`,
  );
  // Nothing of the ledger's own moves the difference; only tokens that somebody sent without a deposit do.
  const given = arrived - entered;
  const grown = surplus - (opening.tokenUnits - due(opening));
  checks.add(
    "tokens.surplus",
    grown === given && given >= 0n,
    given === 0n
      ? "every token that moved has its entry in the ledger"
      : `${usdgText(given)} were sent to the escrow without a deposit`,
    `tokens and ledger moved apart by ${usdgText(grown - given)} in this range`,
  );
  return surplus;
}
