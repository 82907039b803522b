/** Checks the costs of disputes and equivocations for worker, operator and treasury: who pays when, how much, and within which bounds. */
import type { Address } from "viem";
import { Ruling } from "../protocol/job-status.ts";
import { toUnits, UNITS_PER_CREDIT, usdgText } from "../protocol/money.ts";
import { payouts } from "../protocol/pricing.ts";
import { decodeJobWord } from "../protocol/words.ts";
import { dayOf } from "./accounts.ts";
import { type Checks, wrongFields } from "./checks.ts";
import { type AnyEvent, type EscrowEvent, eventsOf, inChainOrder, isBefore, isEvent, type Place } from "./events.ts";
import { payoutsAfter, showPayouts, takePayout } from "./payouts.ts";
import { type DisputeStory, isConceded, type Job, type JobStory } from "./story.ts";

type Resolved = EscrowEvent<"DisputeResolved">;
type Compensated = EscrowEvent<"Compensated">;
/** The token units that the treasury must pay for the job, and those that it has paid so far. */
type Debt = { granted: bigint; paid: bigint; toWorker: boolean };
/** The cost of a dispute's end: credits of the operator's reserve, and the token units that the treasury's grant must come to. */
type Cost = { operator: number; treasury: bigint; toWorker: boolean };

/** Base units of SVC in one unit of stake. */
const STAKE_UNIT = 10n ** 12n;

/** Charge in dispute: of the settlement, or what finalization of the proof would charge. */
export const disputedCredits = ({ proven, settled }: JobStory, fromProven: boolean): number =>
  (fromProven ? proven?.args.credits : settled?.args.credits) ?? 0;

/** All logs of an event's transaction. */
const logsOf = ({ events }: Job, { tx }: { tx: string }): AnyEvent[] => events.filter((event) => event.tx === tx);

/** The amount of a slash at this place, where the stake is large enough. */
const slashAmount = ({ terms }: Job, place: Place): bigint | null => terms.stake(place)?.slashAmount ?? null;

/** Checks the slash of the worker: its amount, and that each ruling against the worker and each equivocation had one. */
export function checkSlash(checks: Checks, job: Job): void {
  const { slashed, equivocated, disputes, worker: held } = job.story;
  const convicted = disputes.find(({ resolved }) => resolved?.args.ruling === Ruling.WorkerAtFault)?.resolved ?? null;
  const cause = equivocated ?? convicted;
  if (slashed === null) {
    const says = "the worker was ruled at fault, but no slash is recorded for this job";
    if (cause !== null) checks.note("slash.exists", [says], "");
    return;
  }
  const { args, tx } = slashed;
  const due = slashAmount(job, slashed);
  const worker = job.terms.worker(args.signer, slashed);
  const had = worker?.stake ?? 0n;
  const amount = due !== null && had >= due ? due : had;
  const wrong = wrongFields("WorkerSlashed", args, {
    worker: worker?.id ?? null,
    signer: held,
    sequence: (worker?.sequence ?? 0) + 1,
    amount,
    stake: had - amount,
    equivocation: equivocated !== null && equivocated.tx === tx,
  });
  if (cause === null || cause.tx !== tx) wrong.push("nothing in its transaction convicts the worker");
  const transfer = { from: job.addresses.registry, to: job.terms.treasury(slashed), value: amount * STAKE_UNIT };
  const transfers = eventsOf(logsOf(job, slashed), "serviceToken", "Transfer");
  const svc = (units: bigint) => `${Number(units) / 1e6} SVC`;
  if (amount !== 0n && !transfers.some((one) => wrongFields("", one.args, transfer).length === 0)) {
    wrong.push(`no transfer of ${svc(amount)} from the registry to the treasury is there`);
  }
  const good = `worker ${args.signer} lost ${svc(amount)} to the treasury; ${svc(had - amount)} are left`;
  checks.note("slash.amount", wrong, good);
}

/**
 * Checks the operator's part of a job's fee after the settlement: a dispute holds it, a rejection gives it back, else the treasury has it.
 */
export function checkEarnings(checks: Checks, job: Job): void {
  const { story, terms, addresses, timeOf } = job;
  const { settled, word, locked } = story;
  const part = settled === null ? 0n : payouts(settled.args.credits, word).operatorUnits;
  const changes = [...story.earnings];
  let at: "earned" | "disputed" | "forfeited" = "earned";
  const move = (cause: AnyEvent, to: typeof at): void => {
    if (part === 0n || at === "forfeited") return;
    at = to;
    const event = changes.shift();
    if (event === undefined) {
      const says = `${usdgText(part)} of operator ${word.operator}'s earnings should have become ${to} with ${cause.name} in ${cause.tx}; no EarningsChanged says so`;
      checks.note("operator.earnings", [says], "");
      return;
    }
    const { operator } = word;
    const wrong = wrongFields("EarningsChanged", event.args, {
      operator,
      sequence: terms.operatorSequence(operator, event) + 1,
      day: dayOf(timeOf(locked.block)),
      disputed: to === "disputed" ? part : 0n,
    });
    if (event.tx !== cause.tx) wrong.push(`EarningsChanged is in ${event.tx}, but ${cause.name} in ${cause.tx}`);
    const left = payoutsAfter(event as AnyEvent, logsOf(job, event), addresses.escrow);
    const treasury = terms.treasury(event);
    if (to === "forfeited" && takePayout(left, treasury, part) === null)
      wrong.push(`${usdgText(part)} should have gone to ${treasury}; ${showPayouts(left)}`);
    checks.note("operator.earnings", wrong, `the operator's part of the fee, ${usdgText(part)}, is ${to}`);
  };
  for (const event of story.events) {
    const opened = story.disputes.find((one) => isSame(one.opened, event));
    const ended = story.disputes.find(({ resolved }) => resolved !== null && isSame(resolved, event));
    if (opened?.fromProven === false) move(event, "disputed");
    else if (ended?.fromProven === false) {
      move(event, ended.resolved?.args.ruling === Ruling.Rejected ? "earned" : "forfeited");
    } else if (isEvent(event, "escrow", "WorkerEquivocated") && settled !== null && isBefore(settled, event)) {
      move(event, "forfeited");
    }
  }
  for (const { tx } of changes) {
    const says = `EarningsChanged is in ${tx}, and nothing of the job changed its operator's earnings`;
    checks.note("operator.earnings", [says], "");
  }
}

/** Walks through all events of the job that take or give money after its charge. */
export function checkCompensations(checks: Checks, job: Job): void {
  const { story } = job;
  const reserve = [...story.reserve];
  let debt: Debt = { granted: 0n, paid: 0n, toWorker: false };
  for (const event of story.events) {
    const opened = story.disputes.find((one) => isSame(one.opened, event));
    const ended = story.disputes.find(({ resolved }) => resolved !== null && isSame(resolved, event));
    if (opened !== undefined) {
      const bond = operatorBond(job, opened);
      if (bond > 0) checkReserve(checks, job, reserve.shift(), { reserve: -bond, held: bond });
    } else if (ended !== undefined) {
      const resolved = event as AnyEvent & Resolved;
      const bond = operatorBond(job, ended);
      const isLost = resolved.args.ruling === Ruling.Rejected && !isConceded(ended.opened, ended.joined);
      const bondBack = isLost ? 0 : bond;
      const cost = costOf(job, ended, { granted: debt.granted, bondBack });
      if (bond > 0) checkReserve(checks, job, reserve.shift(), { reserve: bondBack, held: -bond });
      checkBondPayout(checks, job, ended);
      if (cost.operator > 0) checkReserve(checks, job, reserve.shift(), { reserve: -cost.operator, held: 0 });
      checkOperatorCharge(checks, job, resolved, cost);
      const granted = checkGrant(checks, job, {
        id: "dispute.compensation",
        cause: resolved,
        debt,
        due: cost.treasury,
      });
      if (granted > debt.granted) debt = { ...debt, granted, toWorker: cost.toWorker };
    } else if (isEvent(event, "escrow", "WorkerEquivocated")) {
      const { settled } = story;
      // No vote, so no more than what the protocol had of this job.
      if (settled === null || !isBefore(settled, event)) continue;
      const due = BigInt(settled.args.credits * story.word.feeBps);
      const granted = checkGrant(checks, job, { id: "equivocation.compensation", cause: event, debt, due });
      if (granted > debt.granted) debt = { ...debt, granted, toWorker: false };
    } else if (isEvent(event, "escrow", "Compensated")) {
      checkPayment(checks, job, event, debt);
      debt = { ...debt, paid: debt.paid + event.args.paid };
    }
  }
  for (const { tx, args } of reserve) {
    const says = `ReserveChanged.reserve became ${args.reserve} in ${tx} for this job, and nothing of the job changed it`;
    checks.note("reserve.after", [says], "");
  }
}

const isSame = (a: Place, b: Place) => a.block === b.block && a.logIndex === b.logIndex;

/** Credits of the operator's reserve that its dispute of a proven job holds. */
const operatorBond = ({ story, disputeBond }: Job, { opened, fromProven }: DisputeStory): number =>
  opened.args.byOperator && fromProven ? Math.min(disputedCredits(story, true), disputeBond) : 0;

/** The payments that the end of a dispute demands (the table in DisputeLogic.sol). */
function costOf(job: Job, dispute: DisputeStory, before: { granted: bigint; bondBack: number }): Cost {
  const { story, terms } = job;
  const { resolved, fromProven } = dispute;
  const { feeBps, operator } = story.word;
  const credits = disputedCredits(story, fromProven);
  const nothing: Cost = { operator: 0, treasury: 0n, toWorker: false };
  if (resolved === null || resolved.args.ruling === Ruling.Rejected) return nothing;
  const { ruling } = resolved.args;
  const reserve = terms.reserve(operator, resolved).reserve + before.bondBack;
  if (fromProven) {
    if (ruling !== Ruling.GatewayAtFault) return nothing;
    const charged = Math.min(credits, reserve, job.disputeBond);
    const treasury = BigInt(credits - charged) * (UNITS_PER_CREDIT - BigInt(feeBps));
    return { operator: charged, treasury, toWorker: true };
  }
  const total = toUnits(credits);
  if (ruling === Ruling.GatewayAtFault) {
    const charged = Math.min(Number((total - before.granted) / UNITS_PER_CREDIT), reserve);
    return { ...nothing, operator: charged, treasury: total - toUnits(charged) };
  }
  const { slashed } = story;
  // The worker's slash covers the whole charge only if it took its full amount.
  const punished = slashed !== null && isBefore(slashed, resolved) && slashed.args.amount === slashAmount(job, slashed);
  return { ...nothing, treasury: ruling === Ruling.WorkerAtFault && punished ? total : BigInt(credits * feeBps) };
}

/** The operator's reserve changed for the job by this, and by the next event that says so. */
function checkReserve(
  checks: Checks,
  { story, terms }: Job,
  event: JobStory["reserve"][number] | undefined,
  change: { reserve: number; held: number },
): void {
  const { operator } = story.word;
  if (event === undefined) {
    const says = `the reserve of operator ${operator} should have changed by ${change.reserve} credits for job ${story.jobId}; no ReserveChanged says so`;
    checks.note("reserve.after", [says], "");
    return;
  }
  const before = terms.reserve(operator, event);
  checks.note(
    "reserve.after",
    wrongFields("ReserveChanged", event.args, {
      operator,
      sequence: terms.operatorSequence(operator, event) + 1,
      reserve: before.reserve + change.reserve,
      held: before.held + change.held,
    }),
    `the operator's reserve changed by ${change.reserve} credits, its held bonds by ${change.held}`,
  );
}

/** The address at which the job's worker is paid. */
const workerPayout = ({ story, terms }: Job, place: Place): Address | null =>
  story.worker === null ? null : (terms.worker(story.worker, place)?.payout ?? null);

/** A rejected bond: the wallet's goes to the treasury, the operator's to the worker it doubted. */
function checkBondPayout(checks: Checks, job: Job, { opened, joined, resolved, fromProven }: DisputeStory): void {
  const { byOperator, bond } = opened.args;
  if (resolved === null || resolved.args.ruling !== Ruling.Rejected || bond === 0) return;
  if (isConceded(opened, joined)) return;
  const left = payoutsAfter(resolved, logsOf(job, resolved), job.addresses.escrow);
  const units = toUnits(Math.min(disputedCredits(job.story, fromProven), job.disputeBond));
  const payee = byOperator ? workerPayout(job, resolved) : job.terms.treasury(resolved);
  checks.add(
    "payout.bond",
    takePayout(left, payee, units) !== null,
    `the bond of ${usdgText(units)} went to the ${byOperator ? "worker" : "treasury"} at ${payee}`,
    `the bond of ${usdgText(units)} should have gone to ${payee}; ${showPayouts(left)}`,
  );
}

/** Checks the payment of the operator's reserve, to the wallet as credits or to the worker as tokens. */
function checkOperatorCharge(checks: Checks, job: Job, resolved: Resolved, cost: Cost): void {
  const { story, terms, addresses } = job;
  const { wallet } = story.locked.args;
  const event = story.charged.find(({ tx }) => tx === resolved.tx);
  if (event === undefined || cost.operator === 0) {
    if (event === undefined && cost.operator === 0) return;
    const says = `OperatorCharged.credits is ${event?.args.credits ?? "nowhere"}, it should be ${cost.operator}`;
    checks.note("operator.charge", [says], "");
    return;
  }
  const payee = cost.toWorker ? workerPayout(job, resolved) : wallet;
  const wrong = wrongFields("OperatorCharged", event.args, { wallet, payee, credits: cost.operator });
  if (cost.toWorker) {
    const left = payoutsAfter(event, logsOf(job, event), addresses.escrow);
    const fee = BigInt(cost.operator * story.word.feeBps);
    const shares = [[payee, toUnits(cost.operator) - fee] as const, [terms.treasury(event), fee] as const];
    for (const [to, units] of shares) {
      if (units > 0n && takePayout(left, to, units) === null) {
        wrong.push(`${usdgText(units)} should have gone to ${to}; ${showPayouts(left)}`);
      }
    }
  }
  const to = cost.toWorker ? "worker" : "wallet";
  checks.note("operator.charge", wrong, `the operator's reserve paid ${cost.operator} credits to the ${to}`);
}

/** Checks the treasury's whole debt after `cause`; a later cause only adds what an earlier one did not grant. */
function checkGrant(
  checks: Checks,
  { story }: Job,
  { id, cause, debt, due }: { id: string; cause: AnyEvent; debt: Debt; due: bigint },
): bigint {
  const grant = due > debt.granted ? due - debt.paid : 0n;
  const first = story.compensated.find((event) => event.tx === cause.tx && isBefore(cause, event));
  const demanded = first === undefined ? 0n : first.args.paid + first.args.owed;
  checks.add(
    id,
    demanded === grant,
    grant === 0n
      ? "the treasury owed nothing"
      : `the treasury owed ${usdgText(grant)}: ${usdgText(first?.args.paid ?? 0n)} paid, ${usdgText(first?.args.owed ?? 0n)} left as debt`,
    `Compensated.paid and Compensated.owed sum to ${usdgText(demanded)}, the treasury should owe ${usdgText(grant)}`,
  );
  return due;
}

/** One payment of the treasury: what arrived, what is left of the debt, whom it went to, and the day's cap. */
function checkPayment(checks: Checks, job: Job, event: AnyEvent & Compensated, debt: Debt): void {
  const { story, terms, addresses } = job;
  const { wallet } = story.locked.args;
  const { paid } = event.args;
  const payee = debt.toWorker ? workerPayout(job, event) : wallet;
  const owed = debt.granted - debt.paid - paid;
  const fee = BigInt((story.settled?.args.credits ?? 0) * story.word.feeBps);
  const capped = debt.toWorker || debt.granted > fee;
  const stated = wrongFields("Compensated", event.args, { wallet, payee, owed, capped });
  checks.note("compensation.debt", stated, `${usdgText(owed)} of the debt remain`);

  const logs = logsOf(job, event);
  const earlier = logs.filter((one) => isBefore(one, event));
  const treasury = terms.treasury(event);
  const transfer = { from: treasury, to: addresses.escrow, value: paid };
  const arrived = eventsOf(earlier, "stablecoin", "Transfer").some(
    ({ args }) => wrongFields("", args, transfer).length === 0,
  );
  const told = eventsOf(earlier, "treasury", "CompensationPaid").at(-1);
  const wrong: string[] = [];
  if (paid > 0n && told !== undefined) {
    wrong.push(...wrongFields("CompensationPaid", told.args, { units: paid, jobId: story.jobId }));
  }
  if (paid > 0n && !arrived) {
    wrong.push(`Compensated.paid is ${paid}, but no such transfer from the treasury ${treasury} is there`);
  }
  checks.note("compensation.tokens", wrong, `${usdgText(paid)} arrived from the treasury`);

  // A worker is paid in tokens; of a wallet's compensation the fraction of a credit waits as tokens.
  const units = debt.toWorker ? paid : paid % UNITS_PER_CREDIT;
  if (units > 0n) {
    const left = payoutsAfter(event, logs, addresses.escrow);
    checks.add(
      "compensation.payout",
      takePayout(left, payee, units) !== null,
      `${usdgText(units)} are for ${payee}`,
      `${usdgText(units)} should be for ${payee}; ${showPayouts(left)}`,
    );
  }
  const beyond = beyondCap(event, inChainOrder([...job.related, ...job.events]), job);
  const within = capped ? "are within the day's cap" : "give back the job's own fee, which no cap counts";
  checks.note("compensation.cap", beyond, `${usdgText(paid)} ${within}`);
}

/**
 * Says by how much a payment is above what was left of the day's cap, and of the quarter of it for the job's operator; empty if it is not.
 * @param events All compensations of that day, and the locks of their jobs.
 */
export function beyondCap(
  event: Compensated,
  events: readonly AnyEvent[],
  { terms, timeOf }: Pick<Job, "terms" | "timeOf">,
): string[] {
  if (!event.args.capped) return [];
  const day = dayOf(timeOf(event.block));
  const operators = new Map(
    eventsOf(events, "escrow", "JobLocked").map(({ args }) => [
      args.jobId.toLowerCase(),
      decodeJobWord(args.job).operator,
    ]),
  );
  const operatorOf = ({ args }: Compensated) => operators.get(args.jobId.toLowerCase());
  const earlier = eventsOf(events, "escrow", "Compensated").filter(
    (one) => one.args.capped && isBefore(one, event) && dayOf(timeOf(one.block)) === day,
  );
  const sum = (list: Compensated[]) => list.reduce((total, { args }) => total + args.paid, 0n);
  const own = earlier.filter((one) => operatorOf(one) === operatorOf(event));
  const cap = terms.compensationCap(event);
  const [forAll, forOperator] = [cap - sum(earlier), cap / 4n - sum(own)];
  const most = forAll < forOperator ? forAll : forOperator;
  return event.args.paid <= most
    ? []
    : [`Compensated.paid is ${usdgText(event.args.paid)}, but the day's cap allowed ${usdgText(most)}`];
}
