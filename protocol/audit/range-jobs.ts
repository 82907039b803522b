import type { Hex } from "viem";
import { UNITS_PER_CREDIT } from "../money.ts";
import { charge, payouts as splitCharge } from "../pricing.ts";
import type { RangeEvidence } from "./audit-range.ts";
import { type AnyEvent, eventsOf, jobOfEvent } from "./event-log.ts";
import { payoutsAfter } from "./payouts.ts";
import { type JobStory, jobStory } from "./story.ts";

/** The jobs that the range touches. */
export function storiesOf({ events, earlier }: RangeEvidence): JobStory[] {
  const all = Map.groupBy([...earlier, ...events], jobOfEvent);
  const touched = new Set(events.flatMap((event) => jobOfEvent(event) ?? []));
  return [...touched].flatMap((jobId: Hex) => jobStory(jobId, all.get(jobId) ?? []) ?? []);
}

/** What is wrong with the money of one job; empty when nothing is. */
export function jobProblems(story: JobStory, { events, escrow }: RangeEvidence): string[] {
  const { locked, settled, returned } = story;
  const problems: string[] = [];
  const ends = eventsOf(story.events, "escrow", "JobSettled", "JobFailed", "JobRefunded").length;
  if (ends > 1) problems.push(`it was paid or returned ${ends} times`);
  if (returned !== null && returned.args.credits !== locked.args.credits) {
    problems.push(`${returned.args.credits} of ${locked.args.credits} locked credits came back`);
  }
  // What a settlement before the range paid out is not among the events.
  if (settled === null || !events.includes(settled as AnyEvent)) return problems;
  const { credits, billedTokens, workerUnits, feeUnits } = settled.args;
  if (credits + settled.args.returned !== locked.args.credits) {
    problems.push(
      `${credits} charged and ${settled.args.returned} returned do not sum to the ${locked.args.credits} locked`,
    );
  }
  const price = charge(billedTokens, locked.args, locked.args.credits);
  if (price !== credits) problems.push(`${credits} credits were charged; ${billedTokens} tokens cost ${price}`);
  const split = splitCharge(credits, locked.args.feeBps);
  if (workerUnits !== split.workerUnits || feeUnits !== split.feeUnits) {
    problems.push(`the fee should be ${split.feeUnits} token units, the event says ${feeUnits}`);
  }
  const left = payoutsAfter(
    settled as AnyEvent,
    events.filter(({ tx }) => tx === settled.tx),
    escrow,
  );
  const paid = left.reduce((sum, { units }) => sum + units, 0n);
  if (paid !== BigInt(credits) * UNITS_PER_CREDIT) {
    problems.push(`${BigInt(credits) * UNITS_PER_CREDIT} token units were charged, ${paid} paid out or deferred`);
  }
  return problems;
}
