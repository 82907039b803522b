/** The verdict on a job, as its page shows it: what it cost and why, line by line with the events behind it, when, and whose the money is. Pure. */
import { type Address, type Hex, isAddressEqual } from "viem";
import { UNITS_PER_CREDIT } from "../../../protocol/money.ts";
import { FLAT_TOKENS, payouts, quote } from "../../../protocol/pricing.ts";
import { decodeUsageWord } from "../../../protocol/words.ts";
import type { JobAudit } from "../../../verify/audit-job.ts";
import type { Check } from "../../../verify/checks.ts";
import { type AnyEvent, isEvent, jobOfEvent } from "../../../verify/events.ts";
import type { JobEvidence } from "../../../verify/evidence.ts";
import { payoutsAfter } from "../../../verify/payouts.ts";
import { jobStory } from "../../../verify/story.ts";
import { capital, count, credits, creditsOf } from "../ui/format.ts";
import { inWords } from "./in-words.ts";

/** One line of the verdict: a part of the audit's checks, and the events that they look at. */
export type VerdictLine = {
  title: string;
  says: string;
  holds: boolean;
  checks: readonly Check[];
  events: readonly EventBehind[];
};

/** An event that a line rests on, in words. */
export type EventBehind = Pick<AnyEvent, "name" | "block" | "logIndex" | "tx"> & ReturnType<typeof inWords>;

/** Something that happened, or the next thing that ends; Unix seconds. `tx`: null for what a signature dates, and for what is to come. */
export type Moment = { title: string; at: number; tx: Hex | null };

/** A part of the locked credits, in token units. */
export type Share = { to: string; units: bigint };

export type Verdict = {
  audit: JobAudit;
  headline: string;
  lines: readonly VerdictLine[];
  moments: readonly Moment[];
  /** The window that ends next, by the contract's times. */
  deadline: Moment | null;
  shares: readonly Share[];
  /** Token units that came back to the client after the charge, from the operator's reserve and the treasury. */
  givenBack: bigint;
};

type Facts = { audit: JobAudit; story: NonNullable<ReturnType<typeof jobStory>>; evidence: JobEvidence };

export function verdictOf(evidence: JobEvidence, audit: JobAudit): Verdict {
  const story = jobStory(evidence.jobId, evidence.events);
  if (story === null) throw new Error("an audit has the job's lock");
  const facts = { audit, story, evidence };
  const lines = linesOf(facts);
  const givenBack = givenBackIn(facts);
  return {
    audit,
    headline: headlineOf(audit, lines, givenBack),
    lines,
    moments: momentsOf(facts),
    deadline: deadlineOf(facts),
    shares: sharesOf(audit),
    givenBack,
  };
}

/** The lines of a verdict: the checks with these ids and the events with these names belong to each. The last line takes all others. */
const SUBJECTS: readonly { title: string; ids: RegExp; events: readonly string[]; says: (facts: Facts) => string }[] = [
  {
    title: "Charge",
    ids: /^settlement\.(?!time)/,
    events: ["JobSettled"],
    says: ({ audit }) => `${priceOf(audit)} = ${credits(audit.credits_charged)}`,
  },
  {
    title: "Split",
    ids: /^payout\.(?!bond)/,
    events: ["JobSettled", "Transfer", "PayoutDeferred"],
    says: ({ audit }) => splitOf(audit),
  },
  {
    title: "Return",
    ids: /^return\./,
    events: ["JobFailed", "JobRefunded"],
    says: ({ audit }) => `all ${credits(audit.credits_locked)} came back, by a call that was allowed`,
  },
  {
    title: "Signatures",
    ids: /^proof\.(?!time)/,
    events: ["JobAcknowledged", "JobProven", "JobSettled"],
    says: ({ audit }) =>
      audit.proof_hash === null
        ? "the worker that took it was fit to"
        : "a registered worker signed this answer's hash",
  },
  {
    title: "Lock",
    ids: /^lock\./,
    events: ["JobLocked", "JobAuthorized"],
    says: ({ audit }) => `${credits(audit.credits_locked)}, at the prices of that time and with the wallet's consent`,
  },
  {
    title: "Times",
    ids: /^(proof|settlement)\.time$/,
    events: ["JobLocked", "JobProven", "JobSettled"],
    says: timesOf,
  },
  {
    title: "Dispute",
    ids: /^(dispute|equivocation|slash|operator|reserve|compensation|payout)\./,
    events: [
      "JobDisputed",
      "DisputeJoined",
      "DisputeSigned",
      "Voted",
      "DisputeResolved",
      "WorkerEquivocated",
      "WorkerSlashed",
      "OperatorCharged",
      "ReserveChanged",
      "EarningsChanged",
      "Compensated",
    ],
    says: () => "who opened it, when, the votes and what followed are as the contracts demand",
  },
  {
    title: "Account",
    ids: /./,
    events: [],
    says: () => "the wallet's balance follows from its history, and the escrow has the job stored as its events say",
  },
];

/** One line a subject that was checked; what does not hold comes first, with the reason. */
function linesOf(facts: Facts): VerdictLine[] {
  let left = facts.audit.checks;
  const own = eventsOf(facts);
  const lines = SUBJECTS.flatMap(({ title, ids, events, says }) => {
    const checks = left.filter(({ id }) => ids.test(id));
    left = left.filter(({ id }) => !ids.test(id));
    if (checks.length === 0) return [];
    const failed = checks.filter(({ holds }) => !holds);
    return {
      title,
      says: capital(failed.length === 0 ? says(facts) : failed.map((check) => check.says).join("; ")),
      holds: failed.length === 0,
      checks,
      events: own
        .filter(({ name }) => (events.length === 0 ? name.startsWith("Job") : events.includes(name)))
        .map((event) => ({ ...event, ...inWords(event) })),
    };
  });
  return lines.toSorted((a, b) => Number(a.holds) - Number(b.holds));
}

/** The job's own events, and the transfers of its settlement. */
function eventsOf({ evidence, story: { jobId, settled } }: Facts): AnyEvent[] {
  const { events, addresses } = evidence;
  const logs = events.filter(({ tx }) => tx === settled?.tx);
  const paid = settled === null ? [] : payoutsAfter(settled, logs, addresses.escrow).map(({ logIndex }) => logIndex);
  // The treasury is paid once for all jobs of a transaction.
  const isFee = (event: AnyEvent) =>
    isEvent(event, "stablecoin", "Transfer") && addresses.treasury.some((one) => isAddressEqual(one, event.args.to));
  return events.filter(
    (event) =>
      jobOfEvent(event) === jobId || (event.tx === settled?.tx && (paid.includes(event.logIndex) || isFee(event))),
  );
}

function timesOf({ audit, story, evidence: { timeOf } }: Facts): string {
  const after = (at: number) => {
    const passed = at - timeOf(story.locked.block);
    return passed <= 0 ? "within a second" : `after ${count(passed)} s`;
  };
  const proof = story.settled ?? story.proven;
  if (proof === null) return "";
  const ended = audit.settlement_tx === null ? "proven" : "settled";
  return `locked before the work, answered ${after(answeredAt(story))}, ${ended} ${after(timeOf(proof.block))}`;
}

/** When the worker says that its answer was complete. */
const answeredAt = ({ settled, proven }: Facts["story"]): number =>
  decodeUsageWord((settled ?? proven)?.args.usage ?? 0n).completedAt;

/** The parts of the charge for worker, operator and treasury, in words. */
function splitOf({ fee_bps: fee, operator_share: share }: JobAudit): string {
  // Each is divided once: what is left of a difference of two quotients is no short number.
  const rest = `${(fee * (20 - share)) / 2_000} % to the treasury`;
  const operator = share === 0 ? "" : `${(fee * share) / 2_000} % to the operator, `;
  return `${(10_000 - fee) / 100} % to the worker, ${operator}${rest}`;
}

/** `max(40, ⌈900 × 20 ÷ 1,000⌉)`. */
function priceOf(audit: JobAudit): string {
  const { billed_tokens: tokens, credits_locked: locked } = audit;
  const { credits_per_request: flat, credits_per_1k_tokens: rate } = audit;
  if (tokens === null) return "";
  const price =
    tokens <= FLAT_TOKENS
      ? `the flat price of ${flat} for ${count(tokens)} tokens`
      : `max(${flat}, ⌈${count(tokens)} × ${rate} ÷ 1,000⌉)`;
  const full = quote(tokens, { creditsPerRequest: flat, creditsPer1kTokens: rate });
  return full > audit.credits_charged ? `${price}, but no more than the ${locked} that were locked` : price;
}

/** The job's cost and the reason for it, in one sentence; or the fault that the audit found. */
function headlineOf(audit: JobAudit, lines: readonly VerdictLine[], givenBack: bigint): string {
  if (!audit.holds) {
    const wrong = lines.filter(({ holds }) => !holds).map(({ title }) => title.toLowerCase());
    return `What the chain says of this job does not fit together. Look at: ${wrong.join(", ")}.`;
  }
  if (audit.billed_tokens !== null) {
    const charge = `${credits(audit.credits_charged)}, ${priceOf(audit)}; ${splitOf(audit)}.`;
    // No event shows whether the text that arrived is the signed one.
    if (audit.status === "disputed") return `Charge in dispute: ${charge} It is what the worker signed for.`;
    if (audit.status !== "refunded") return `Charge correct: ${charge}`;
    const back = givenBack === 0n ? "The charge is to come back" : `${creditsOf(givenBack)} came back`;
    return `${back}: a dispute ended in the client's favour. The charge was ${charge}`;
  }
  return audit.open ? `${credits(audit.credits_locked)} are locked; nothing is charged yet.` : "Nothing was charged.";
}

const MOMENTS: Record<string, string> = {
  JobLocked: "Locked",
  JobAcknowledged: "Taken by a worker",
  JobProven: "Proven by its worker",
  JobSettled: "Settled",
  JobFailed: "Failed",
  JobRefunded: "Refunded",
  WorkerEquivocated: "Worker signed two answers",
  JobDisputed: "Dispute opened",
  DisputeJoined: "Wallet joined the dispute",
  DisputeResolved: "Dispute ended",
  Compensated: "Treasury charged for it",
};

function momentsOf({ story, evidence: { timeOf } }: Facts): Moment[] {
  const moments = story.events.flatMap(({ name, block, tx }): Moment[] => {
    const title = MOMENTS[name];
    return title === undefined ? [] : [{ title, at: timeOf(block), tx }];
  });
  if (story.settled === null && story.proven === null) return moments;
  // A signature's time is no block's: it stands before the proof that shows it.
  const before = moments.findIndex(({ title }) => title === MOMENTS["JobProven"] || title === MOMENTS["JobSettled"]);
  return moments.toSpliced(before, 0, { title: "Answered and signed", at: answeredAt(story), tx: null });
}

/** By the contract's windows: what its state leads to if nobody does anything. */
function deadlineOf({ audit: { status }, story, evidence: { timeOf, windows } }: Facts): Moment | null {
  const { locked, proven, settled, disputes, equivocated } = story;
  const dispute = disputes.at(-1);
  const next = (title: string, at: number): Moment => ({ title, at, tx: null });
  if (status === "pending" || status === "processing") {
    return next("Refund, if unanswered", timeOf(locked.block) + windows.completion);
  }
  if (status === "settling" && proven !== null) return next("Payable by anyone", proven.args.finalizeFrom);
  if (status === "disputed" && dispute !== undefined) return next("Ruling due", dispute.opened.args.ruleBefore);
  if (status !== "settled" || settled === null) return null;
  // Two answers of one worker: the wallet can dispute for longer. A charge that was ruled on stands.
  const longer = equivocated?.args.disputeBefore ?? 0;
  if (longer > 0 && (dispute === undefined || timeOf(dispute.opened.block) < timeOf((equivocated ?? settled).block))) {
    return next("The wallet can dispute until", longer);
  }
  if (dispute !== undefined) return null;
  return next("The wallet can dispute until", timeOf(settled.block) + windows.dispute + windows.inclusion);
}

/** Token units of the operator and the treasury that the client already got back after a fault. */
function givenBackIn({ story: { locked, charged, compensated } }: Facts): bigint {
  const isClient = ({ args }: { args: { payee: Address } }) => isAddressEqual(args.payee, locked.args.wallet);
  const reserve = charged.filter(isClient).reduce((sum, { args }) => sum + BigInt(args.credits), 0n);
  return compensated.filter(isClient).reduce((sum, { args }) => sum + args.paid, reserve * UNITS_PER_CREDIT);
}

/** The shares into which the locked credits went; all of them, in the order in which the bar shows them. */
function sharesOf(audit: JobAudit): Share[] {
  const { credits_locked: locked, credits_charged: charged, open } = audit;
  const rest = BigInt(locked - charged) * 10_000n;
  if (audit.billed_tokens === null) return [{ to: open ? "Held in escrow" : "Returned", units: rest }];
  const fee = { feeBps: audit.fee_bps, operatorShare: audit.operator_share };
  const { workerUnits, operatorUnits, treasuryUnits } = payouts(charged, fee);
  return [
    { to: "Worker", units: workerUnits },
    ...(operatorUnits > 0n ? [{ to: "Operator", units: operatorUnits }] : []),
    { to: "Treasury", units: treasuryUnits },
    { to: "Returned", units: rest },
  ];
}
