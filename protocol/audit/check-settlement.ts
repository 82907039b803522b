import type { Hex } from "viem";
import { charge, payouts as splitCharge } from "../pricing.ts";
import { decodeJobWord, decodeUsageWord } from "../words.ts";
import { checkProof } from "./check-proof.ts";
import { type EscrowEvent, eventsOf } from "./event-log.ts";
import { type Checks, type JobEvidence, MissingEvent } from "./evidence.ts";
import { type FeePayout, feePayouts, payoutsAfter, type SplitOf, showPayouts, takePayout } from "./payouts.ts";
import type { JobStory } from "./story.ts";
import { treasuryAt, workerAt } from "./terms.ts";

/** The settlement: proof, charge, return and payouts, each recomputed. */
export async function checkSettlement(checks: Checks, story: JobStory, evidence: JobEvidence): Promise<void> {
  const { settled } = story;
  if (settled === null) return;
  checkCharge(checks, story, settled);
  checks.presuming("payout.fee", () => checkPayouts(checks, settled, evidence));
  await checkProof(checks, story, evidence);
}

function checkCharge(checks: Checks, { locked, word }: JobStory, settled: EscrowEvent<"JobSettled">): void {
  const { credits, usage } = settled.args;
  const { billedTokens } = decodeUsageWord(usage);
  const price = charge(billedTokens, word, word.credits);
  checks.add(
    "settlement.charge",
    credits === price,
    `${credits} credits were charged: the price of ${billedTokens} output tokens, at most the lock`,
    `JobSettled.credits is ${credits}, but ${billedTokens} output tokens cost ${price}`,
  );
  const returned = locked.args.credits - credits;
  checks.add(
    "settlement.return",
    returned >= 0,
    `${returned} credits came back: charge and return sum to the ${locked.args.credits} locked`,
    `JobSettled.credits is ${credits}, more than the ${locked.args.credits} locked`,
  );
  const { wallet } = locked.args;
  checks.fields(
    "settlement.wallet",
    "JobSettled",
    settled.args,
    { wallet },
    "the wallet that locked the job paid for it",
  );
}

/** What a settlement pays whom, by the fee that its lock fixed. */
export function splitOf(locks: readonly EscrowEvent<"JobLocked">[]): SplitOf {
  const fees = new Map<Hex, number>(
    locks.map(({ args }) => [args.jobId.toLowerCase() as Hex, decodeJobWord(args.job).feeBps]),
  );
  return ({ args }) => {
    const feeBps = fees.get(args.jobId.toLowerCase() as Hex);
    if (feeBps === undefined) throw new MissingEvent(`the lock of job ${args.jobId} is not among the events`);
    return splitCharge(args.credits, feeBps);
  };
}

function checkPayouts(checks: Checks, settled: EscrowEvent<"JobSettled">, evidence: JobEvidence): void {
  const { addresses, events, related, configuration } = evidence;
  const { escrow } = addresses;
  const logs = events.filter(({ tx }) => tx === settled.tx);
  const left = payoutsAfter(settled, logs, escrow);
  // What must have left follows from the charge and the fee at the lock.
  const split = splitOf(eventsOf([...events, ...related], "escrow", "JobLocked"));
  const { workerUnits, feeUnits } = split(settled);
  const payee = workerAt(configuration, settled.args.worker, settled)?.payout ?? null;
  const paid = takePayout(left, payee, workerUnits);
  checks.add(
    "payout.worker",
    paid !== null,
    paid?.deferred
      ? `${workerUnits} token units wait for the worker ${payee}: the token refused the transfer`
      : `${workerUnits} token units went to the worker at ${payee}`,
    `${workerUnits} token units should have gone to the worker at ${payee ?? "an unknown address"}; ${showPayouts(left)}`,
  );

  const treasury = treasuryAt(configuration, settled);
  const fees = treasury === null ? [] : feePayouts(logs, { escrow, treasury, splitOf: split });
  const own = fees.find((one) => one.settled.some(({ logIndex }) => logIndex === settled.logIndex)) ?? null;
  checks.add(
    "payout.fee",
    own !== null && (own.payout !== null || own.units === 0n),
    feeInWords(own, feeUnits, treasury),
    `${own?.units ?? feeUnits} token units should have gone to the treasury at ${treasury ?? "an unknown address"} for ${own?.settled.length ?? 1} jobs; ${showPayouts(left)}`,
  );
  const others = left.filter(({ logIndex }) => !fees.some(({ payout }) => payout?.logIndex === logIndex));
  checks.add(
    "payout.nothing_else",
    others.length === 0,
    "nothing else left the escrow for this job",
    `besides, the escrow paid out: ${showPayouts(others)}`,
  );
}

function feeInWords(fee: FeePayout | null, own: bigint, treasury: string | null): string {
  const { units = own, settled = [], payout = null } = fee ?? {};
  const part = settled.length > 1 ? `${own} of ${units} token units for ${settled.length} jobs` : `${own} token units`;
  return payout?.deferred
    ? `${part} wait for the treasury ${treasury}: the token refused the transfer`
    : `${part} went to the treasury at ${treasury}`;
}
