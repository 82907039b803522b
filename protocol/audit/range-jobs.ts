import type { Hex } from "viem";
import { charge } from "../pricing.ts";
import { decodeUsageWord } from "../words.ts";
import { splitOf } from "./check-settlement.ts";
import { type AnyEvent, eventsOf, jobOfEvent } from "./event-log.ts";
import type { RangeEvidence } from "./evidence.ts";
import { feePayouts, payoutsAfter, takePayout } from "./payouts.ts";
import { type JobStory, jobStory } from "./story.ts";
import { treasuryAt, workerAt } from "./terms.ts";

/** The jobs that the range touches. */
export function storiesOf({ events, earlier }: RangeEvidence): JobStory[] {
  const all = Map.groupBy([...earlier, ...events], jobOfEvent);
  const touched = new Set(events.flatMap((event) => jobOfEvent(event) ?? []));
  return [...touched].flatMap((jobId: Hex) => jobStory(jobId, all.get(jobId) ?? []) ?? []);
}

/** What is wrong with the money of one job; empty when nothing is. */
export function jobProblems(story: JobStory, evidence: RangeEvidence, byTransaction: Map<Hex, AnyEvent[]>): string[] {
  const { locked, settled, returned, word } = story;
  const { events, escrow, configuration } = evidence;
  const problems: string[] = [];
  const ends = eventsOf(story.events, "escrow", "JobSettled", "JobFailed", "JobRefunded").length;
  if (ends > 1) problems.push(`it was paid or returned ${ends} times`);
  if (returned !== null && returned.args.credits !== locked.args.credits) {
    problems.push(`${returned.args.credits} of ${locked.args.credits} locked credits came back`);
  }
  // What a settlement before the range paid out is not among the events.
  if (settled === null || !events.includes(settled as AnyEvent)) return problems;
  const { credits, usage, worker } = settled.args;
  const { billedTokens } = decodeUsageWord(usage);
  const price = charge(billedTokens, word, word.credits);
  if (price !== credits) problems.push(`${credits} credits were charged; ${billedTokens} tokens cost ${price}`);
  const { workerUnits } = splitOf([locked])(settled);
  const payee = workerAt(configuration, worker, settled)?.payout ?? null;
  const left = payoutsAfter(settled as AnyEvent, byTransaction.get(settled.tx) ?? [], escrow);
  if (takePayout(left, payee, workerUnits) === null) {
    problems.push(`${workerUnits} token units for its worker were neither paid to ${payee} nor deferred`);
  }
  return problems;
}

/** Transactions whose settlements' fees did not reach the treasury, in words. */
export function feeProblems(
  { events, earlier, escrow, configuration }: RangeEvidence,
  byTransaction: Map<Hex, AnyEvent[]>,
): string[] {
  const split = splitOf(eventsOf([...earlier, ...events], "escrow", "JobLocked"));
  return [...byTransaction].flatMap(([tx, logs]) => {
    const [first] = eventsOf(logs, "escrow", "JobSettled");
    const treasury = first === undefined ? null : treasuryAt(configuration, first);
    if (treasury === null) return first === undefined ? [] : [`in ${tx} there was no treasury`];
    return feePayouts(logs, { escrow, treasury, splitOf: split })
      .filter(({ payout, units }) => payout === null && units > 0n)
      .map(({ units, settled }) => `in ${tx} the treasury did not get ${units} token units for ${settled.length} jobs`);
  });
}
