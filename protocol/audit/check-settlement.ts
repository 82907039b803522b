import { isAddressEqual } from "viem";
import { charge, payouts as splitCharge } from "../pricing.ts";
import { checkProof } from "./check-proof.ts";
import type { Checks, JobEvidence } from "./evidence.ts";
import { type Payout, payoutsAfter } from "./payouts.ts";
import type { JobStory } from "./story.ts";
import { payoutAt, treasuryAt } from "./terms.ts";

/** The settlement: proof, charge, return and payouts, each recomputed. */
export async function checkSettlement(checks: Checks, story: JobStory, evidence: JobEvidence): Promise<void> {
  const { settled } = story;
  if (settled === null) return;
  checkCharge(checks, story, settled);
  checkPayouts(checks, settled, evidence, story);
  await checkProof(checks, story, evidence);
}

function checkCharge(checks: Checks, { locked }: JobStory, settled: NonNullable<JobStory["settled"]>): void {
  const { credits, returned, billedTokens, workerUnits, feeUnits } = settled.args;
  const price = charge(billedTokens, locked.args, locked.args.credits);
  checks.add(
    "settlement.charge",
    credits === price,
    `${credits} credits were charged: the price of ${billedTokens} output tokens, at most the lock`,
    `${credits} credits were charged, but ${billedTokens} output tokens cost ${price}`,
  );
  checks.add(
    "settlement.return",
    credits + returned === locked.args.credits,
    `${returned} credits came back: charge and return sum to the ${locked.args.credits} locked`,
    `${credits} charged and ${returned} returned do not sum to the ${locked.args.credits} locked`,
  );
  const split = splitCharge(credits, locked.args.feeBps);
  checks.add(
    "settlement.split",
    workerUnits === split.workerUnits && feeUnits === split.feeUnits,
    `the charge was split into ${workerUnits} token units for the worker and ${feeUnits} for the treasury (${locked.args.feeBps / 100} % fee)`,
    `the split should be ${split.workerUnits} for the worker and ${split.feeUnits} for the treasury; it was ${workerUnits} and ${feeUnits}`,
  );
}

function checkPayouts(
  checks: Checks,
  settled: NonNullable<JobStory["settled"]>,
  { addresses, events, configuration }: JobEvidence,
  { locked }: JobStory,
): void {
  const logs = events.filter(({ tx }) => tx === settled.tx);
  const left = payoutsAfter(settled, logs, addresses.escrow);
  // What must have left follows from the charge, not from what the event claims.
  const split = splitCharge(settled.args.credits, locked.args.feeBps);
  const wanted = [
    {
      id: "worker",
      who: "worker",
      payee: payoutAt(configuration, settled.args.worker, settled),
      units: split.workerUnits,
    },
    { id: "fee", who: "treasury", payee: treasuryAt(configuration, settled), units: split.feeUnits },
  ];
  for (const { id, who, payee, units } of wanted) {
    if (units === 0n) continue;
    const index = left.findIndex((one) => payee !== null && isAddressEqual(one.payee, payee) && one.units === units);
    const [found] = index < 0 ? [] : left.splice(index, 1);
    checks.add(
      `payout.${id}`,
      found !== undefined,
      found?.deferred
        ? `${units} token units wait for the ${who} ${payee}: the token refused the transfer`
        : `${units} token units went to the ${who} at ${payee}`,
      `${units} token units should have gone to the ${who} at ${payee ?? "an unknown address"}; ${shown(left)}`,
    );
  }
  checks.add(
    "payout.nothing_else",
    left.length === 0,
    "nothing else left the escrow for this job",
    `besides, the escrow paid out: ${shown(left)}`,
  );
}

const shown = (payouts: readonly Payout[]) =>
  payouts.length === 0
    ? "no other payout was seen"
    : payouts
        .map(({ units, payee, deferred }) => `${units} units ${deferred ? "deferred for" : "to"} ${payee}`)
        .join(", ");
