/** What disputes and equivocations cost operator and treasury: who pays when, how much, and within which bounds. */
import { type Address, isAddressEqual } from "viem";
import { toUnits, UNITS_PER_CREDIT } from "../money.ts";
import { Ruling } from "../ruling.ts";
import { dayOf } from "./balances.ts";
import { wasPunished } from "./check-slash.ts";
import { type AnyEvent, type EscrowEvent, eventsOf, inChainOrder, isBefore, isEvent } from "./event-log.ts";
import { type Checks, type JobEvidence, wrongFields } from "./evidence.ts";
import { payoutsAfter, showPayouts, takePayout } from "./payouts.ts";
import type { DisputeStory, JobStory } from "./story.ts";
import { compensationCapAt, operatorSequenceBefore, type Place, reserveBefore, treasuryAt, workerAt } from "./terms.ts";

/** Charge in dispute: of the settlement, or what finalization of the proof would charge. */
export const disputedCredits = ({ proven, settled }: JobStory, fromProven: boolean): number =>
  (fromProven ? proven?.args.credits : settled?.args.credits) ?? 0;

/** What the treasury pays for the job so far, token units. */
type Compensation = { granted: bigint; paid: bigint; toWorker: boolean };
/** What the end of a dispute costs: credits of the operator's reserve, and what the treasury's grant must come to. */
type Cost = { operator: number; treasury: bigint; toWorker: boolean };
type Resolved = EscrowEvent<"DisputeResolved">;
type Compensated = EscrowEvent<"Compensated">;

/** Walks through all events of the job that take or give money after its charge. */
export function checkCompensations(checks: Checks, story: JobStory, evidence: JobEvidence): void {
  let compensation: Compensation = { granted: 0n, paid: 0n, toWorker: false };
  const reserve = [...story.reserve];
  const raise = (id: string, cause: AnyEvent, treasury: bigint, toWorker: boolean) => {
    const raised = treasury > compensation.granted;
    if (raised) compensation = { ...compensation, granted: treasury, toWorker };
    const grant = raised ? compensation.granted - compensation.paid : 0n;
    const first = story.compensated.find((event) => event.tx === cause.tx && isBefore(cause, event));
    const demanded = first === undefined ? 0n : first.args.paid + first.args.owed;
    checks.add(
      id,
      demanded === grant,
      grant === 0n
        ? "the treasury owed nothing"
        : `the treasury owed ${grant} token units: ${first?.args.paid} paid, ${first?.args.owed} left as debt`,
      `Compensated.paid and Compensated.owed sum to ${demanded}, the treasury should owe ${grant} token units`,
    );
  };
  for (const event of story.events) {
    const opened = story.disputes.find((one) => sameEvent(one.opened, event));
    const ended = story.disputes.find(({ resolved }) => resolved !== null && sameEvent(resolved, event));
    if (opened !== undefined) {
      const bond = operatorBond(story, opened);
      if (bond > 0) checkReserve(checks, story, evidence, reserve, { reserve: -bond, held: bond });
    } else if (ended !== undefined) {
      const resolved = event as AnyEvent & Resolved;
      const bond = operatorBond(story, ended);
      const bondBack = resolved.args.ruling === Ruling.Rejected ? 0 : bond;
      const cost = costOf(story, ended, resolved, evidence, { compensation, bondBack });
      if (bond > 0) checkReserve(checks, story, evidence, reserve, { reserve: bondBack, held: -bond });
      checkBondPayout(checks, story, ended, resolved, evidence);
      if (cost.operator > 0) checkReserve(checks, story, evidence, reserve, { reserve: -cost.operator, held: 0 });
      checkCharge(checks, story, resolved, evidence, cost);
      raise("dispute.compensation", resolved, cost.treasury, cost.toWorker);
    } else if (isEvent(event, "escrow", "WorkerEquivocated")) {
      const { settled } = story;
      // No vote, so no more than what the protocol had of this job.
      const charged = settled !== null && isBefore(settled, event) ? settled.args.credits : 0;
      if (charged > 0) raise("equivocation.compensation", event, BigInt(charged * story.word.feeBps), false);
    } else if (isEvent(event, "escrow", "Compensated")) {
      checkPayment(checks, story, event, evidence, compensation);
      compensation = { ...compensation, paid: compensation.paid + event.args.paid };
    }
  }
  for (const { tx, args } of reserve) {
    const says = `ReserveChanged.reserve became ${args.reserve} in ${tx} for this job, and nothing of the job changed it`;
    checks.add("reserve.after", false, "", says);
  }
}

const sameEvent = (a: Place, b: Place) => a.block === b.block && a.logIndex === b.logIndex;

/** Credits of the operator's reserve that its dispute of a proven job holds. */
const operatorBond = (story: JobStory, { opened, fromProven }: DisputeStory): number =>
  opened.args.byOperator && fromProven ? disputedCredits(story, true) : 0;

/** Who pays what when a dispute ends (the table in DisputeLogic.sol). */
function costOf(
  story: JobStory,
  { fromProven }: DisputeStory,
  resolved: Resolved,
  evidence: JobEvidence,
  { compensation, bondBack }: { compensation: Compensation; bondBack: number },
): Cost {
  const { ruling } = resolved.args;
  const { feeBps, operator } = story.word;
  const credits = disputedCredits(story, fromProven);
  const total = toUnits(credits);
  const nothing: Cost = { operator: 0, treasury: 0n, toWorker: false };
  if (ruling === Ruling.Rejected) return nothing;
  const reserve = reserveBefore(evidence.configuration, operator, resolved).reserve + bondBack;
  if (fromProven) {
    if (ruling !== Ruling.GatewayAtFault) return nothing;
    const charged = Math.min(credits, reserve);
    return {
      operator: charged,
      treasury: BigInt(credits - charged) * (UNITS_PER_CREDIT - BigInt(feeBps)),
      toWorker: true,
    };
  }
  if (ruling === Ruling.GatewayAtFault) {
    const missing = Number((total - compensation.granted) / UNITS_PER_CREDIT);
    const charged = Math.min(missing, reserve);
    return { ...nothing, operator: charged, treasury: total - toUnits(charged) };
  }
  const full = ruling === Ruling.WorkerAtFault && wasPunished(story, resolved, evidence);
  return { ...nothing, treasury: full ? total : BigInt(credits * feeBps) };
}

/** The next change of the operator's reserve for the job is this one. */
function checkReserve(
  checks: Checks,
  { word, jobId }: JobStory,
  { configuration }: JobEvidence,
  left: JobStory["reserve"],
  change: { reserve: number; held: number },
): void {
  const event = left.shift();
  if (event === undefined) {
    const says = `the reserve of operator ${word.operator} should have changed by ${change.reserve} credits for job ${jobId}; no ReserveChanged says so`;
    checks.add("reserve.after", false, "", says);
    return;
  }
  const before = reserveBefore(configuration, word.operator, event);
  checks.fields(
    "reserve.after",
    "ReserveChanged",
    event.args,
    {
      operator: word.operator,
      sequence: operatorSequenceBefore(configuration, word.operator, event) + 1,
      reserve: before.reserve + change.reserve,
      held: before.held + change.held,
    },
    `the operator's reserve changed by ${change.reserve} credits, its held bonds by ${change.held}`,
  );
}

/** Where the job's worker is paid. */
const payoutOf = ({ worker }: JobStory, { configuration }: JobEvidence, place: Place): Address | null =>
  worker === null ? null : (workerAt(configuration, worker, place)?.payout ?? null);

/** A rejected bond: the wallet's goes to the treasury, the operator's to the worker it doubted. */
function checkBondPayout(
  checks: Checks,
  story: JobStory,
  { opened, fromProven }: DisputeStory,
  resolved: Resolved,
  evidence: JobEvidence,
): void {
  const { byOperator, bond } = opened.args;
  if (resolved.args.ruling !== Ruling.Rejected || bond === 0) return;
  const { events, addresses, configuration } = evidence;
  const logs = events.filter(({ tx }) => tx === resolved.tx);
  const left = payoutsAfter(resolved, logs, addresses.escrow);
  const units = toUnits(byOperator ? disputedCredits(story, fromProven) : evidence.disputeBond);
  const payee = byOperator ? payoutOf(story, evidence, resolved) : treasuryAt(configuration, resolved);
  checks.add(
    "payout.bond",
    takePayout(left, payee, units) !== null,
    `the bond of ${units} token units went to the ${byOperator ? "worker" : "treasury"} at ${payee}`,
    `the bond of ${units} token units should have gone to ${payee}; ${showPayouts(left)}`,
  );
}

/** What the operator's reserve paid, to the wallet as credits or to the worker as tokens. */
function checkCharge(checks: Checks, story: JobStory, resolved: Resolved, evidence: JobEvidence, cost: Cost): void {
  const { wallet } = story.locked.args;
  const event = story.charged.find(({ tx }) => tx === resolved.tx);
  if (event === undefined || cost.operator === 0) {
    if (event === undefined && cost.operator === 0) return;
    const says = `OperatorCharged.credits is ${event?.args.credits ?? "nowhere"}, it should be ${cost.operator}`;
    checks.add("operator.charge", false, "", says);
    return;
  }
  const payee = cost.toWorker ? payoutOf(story, evidence, resolved) : wallet;
  const wrong = wrongFields("OperatorCharged", event.args, { wallet, payee, credits: cost.operator });
  if (cost.toWorker) {
    const logs = evidence.events.filter(({ tx }) => tx === event.tx);
    const left = payoutsAfter(event, logs, evidence.addresses.escrow);
    const fee = BigInt(cost.operator * story.word.feeBps);
    const treasury = treasuryAt(evidence.configuration, event);
    for (const [to, units] of [[payee, toUnits(cost.operator) - fee] as const, [treasury, fee] as const]) {
      if (units > 0n && takePayout(left, to, units) === null) {
        wrong.push(`${units} token units should have gone to ${to}; ${showPayouts(left)}`);
      }
    }
  }
  const good = `the operator's reserve paid ${cost.operator} credits to the ${cost.toWorker ? "worker" : "wallet"}`;
  checks.add("operator.charge", wrong.length === 0, good, wrong.join("; "));
}

/** One payment of the treasury: what arrived, what is left of the debt, whom it went to, and the day's cap. */
function checkPayment(
  checks: Checks,
  story: JobStory,
  event: AnyEvent & Compensated,
  evidence: JobEvidence,
  { granted, paid: before, toWorker }: Compensation,
): void {
  const { events, addresses, configuration } = evidence;
  const { wallet } = story.locked.args;
  const { paid } = event.args;
  const payee = toWorker ? payoutOf(story, evidence, event) : wallet;
  const owed = granted - before - paid;
  checks.fields(
    "compensation.debt",
    "Compensated",
    event.args,
    { wallet, payee, owed },
    `${owed} token units of the debt remain`,
  );

  const logs = events.filter(({ tx }) => tx === event.tx);
  const treasury = treasuryAt(configuration, event);
  const arrived = eventsOf(logs, "stablecoin", "Transfer").some(
    (one) =>
      isBefore(one, event) &&
      isAddressEqual(one.args.to, addresses.escrow) &&
      treasury !== null &&
      isAddressEqual(one.args.from, treasury) &&
      one.args.value === paid,
  );
  const told = eventsOf(logs, "treasury", "CompensationPaid")
    .filter((one) => isBefore(one, event))
    .at(-1);
  const wrong =
    paid === 0n || told === undefined
      ? []
      : wrongFields("CompensationPaid", told.args, { units: paid, jobId: story.jobId });
  if (paid > 0n && !arrived)
    wrong.push(`Compensated.paid is ${paid}, but no such transfer from the treasury ${treasury} is there`);
  checks.add(
    "compensation.tokens",
    wrong.length === 0,
    `${paid} token units arrived from the treasury`,
    wrong.join("; "),
  );

  // A worker is paid in tokens; of a wallet's compensation the fraction of a credit waits as tokens.
  const units = toWorker ? paid : paid % UNITS_PER_CREDIT;
  const left = payoutsAfter(event, logs, addresses.escrow);
  if (units > 0n) {
    checks.add(
      "compensation.payout",
      takePayout(left, payee, units) !== null,
      `${units} token units are for ${payee}`,
      `${units} token units should be for ${payee}; ${showPayouts(left)}`,
    );
  }
  const all = inChainOrder([...evidence.related, ...events]);
  const most = allowance(all, event, {
    operator: story.word.operator,
    cap: compensationCapAt(configuration, event),
    timeOf: evidence.timeOf,
  });
  checks.add(
    "compensation.cap",
    paid <= most,
    `${paid} token units are within the day's cap`,
    `Compensated.paid is ${paid}, but the day's cap allowed ${most} token units`,
  );
}

/**
 * Token units that the treasury could be charged before a payment: what is left of the day's cap, and of the quarter of it for the job's operator.
 * @param events All compensations of that day, and the locks of their jobs.
 */
export function allowance(
  events: readonly AnyEvent[],
  event: Compensated | (AnyEvent & Compensated),
  { operator, cap, timeOf }: { operator: number; cap: bigint; timeOf: (block: bigint) => number },
): bigint {
  const day = dayOf(timeOf(event.block));
  const operators = new Map(
    eventsOf(events, "escrow", "JobLocked").map(({ args }) => [
      args.jobId.toLowerCase(),
      Number((args.job >> 232n) & 0xffn),
    ]),
  );
  const earlier = eventsOf(events, "escrow", "Compensated").filter(
    (one) => isBefore(one, event) && dayOf(timeOf(one.block)) === day,
  );
  const sum = (list: Compensated[]) => list.reduce((total, { args }) => total + args.paid, 0n);
  const own = earlier.filter(({ args }) => operators.get(args.jobId.toLowerCase()) === operator);
  const left = [cap - sum(earlier), cap / 4n - sum(own)];
  return left.reduce((a, b) => (b < a ? b : a), cap);
}
