/** Checks the cost of a job and where the money went. One set of rules for the audit of a job and of a range. */

import type { Address, Hex } from "viem";
import { usdgText } from "../protocol/money.ts";
import { charge, payouts as splitCharge } from "../protocol/pricing.ts";
import { decodeJobWord, decodeUsageWord } from "../protocol/words.ts";
import { type Checks, MissingEvent, wrongFields } from "./checks.ts";
import type { AnyEvent, EscrowEvent } from "./events.ts";
import { type FeePayout, payoutsAfter, type SplitOf, showPayouts, takePayout } from "./payouts.ts";
import { type JobStory, statusName, transitionsOf } from "./story.ts";
import type { Terms } from "./terms.ts";

/** The facts that the money of a job is checked with. `logsOf`: all events of a transaction. `feesOf`: as {@link feesByTransaction} tells them. */
type MoneyContext = {
  escrow: Address;
  terms: Terms;
  splitOf: SplitOf;
  logsOf: (tx: Hex) => readonly AnyEvent[];
  feesOf: (tx: Hex, treasury: Address) => FeePayout[];
};

/** Charge, return and payouts of a settled job, or what came back of another one. */
export function checkMoney(checks: Checks, story: JobStory, context: MoneyContext): void {
  const { locked, settled, returned } = story;
  const { credits, wallet } = locked.args;
  if (settled !== null) {
    checkCharge(checks, story, settled);
    checks.presuming("payout.fee", () => checkPayouts(checks, settled, context));
  }
  if (returned !== null) {
    const wrong = wrongFields(returned.name, returned.args, { credits, wallet });
    checks.note("return.credits", wrong, `all ${credits} locked credits came back`);
  }
}

/** The events are in an order that the contract allows: a job is charged or returned once. */
export function checkOrder(checks: Checks, { events }: JobStory): void {
  const wrong = transitionsOf(events).filter(({ legal }) => !legal);
  checks.note(
    "state.order",
    wrong.slice(0, 1).map(({ event, before }) => `${event.name} cannot follow while the job is ${statusName(before)}`),
    "each of its events is possible after the one before",
  );
}

/** The charge is the price of the billed tokens, for the wallet that locked the job. */
export function checkCharge(checks: Checks, { locked, word }: JobStory, settled: EscrowEvent<"JobSettled">): void {
  const { credits, usage } = settled.args;
  const { billedTokens } = decodeUsageWord(usage);
  const price = charge(billedTokens, word, word.credits);
  checks.add(
    "settlement.charge",
    credits === price,
    `${credits} credits were charged: the price of ${billedTokens} output tokens, at most the lock`,
    `${credits} credits were charged; ${billedTokens} tokens cost ${price}: JobSettled.credits is wrong`,
  );
  const returned = locked.args.credits - credits;
  checks.add(
    "settlement.return",
    returned >= 0,
    `${returned} credits came back: charge and return sum to the ${locked.args.credits} locked`,
    `JobSettled.credits is ${credits}, more than the ${locked.args.credits} locked`,
  );
  const wrong = wrongFields("JobSettled", settled.args, { wallet: locked.args.wallet });
  checks.note("settlement.wallet", wrong, "the wallet that locked the job paid for it");
}

/** Splits the charge of a settlement between worker, operator and treasury, by the fee that its lock fixed. */
export function splitOf(locks: readonly EscrowEvent<"JobLocked">[]): SplitOf {
  const fees = new Map(locks.map(({ args }) => [args.jobId.toLowerCase(), decodeJobWord(args.job)]));
  return ({ args }) => {
    const fee = fees.get(args.jobId.toLowerCase());
    if (fee === undefined) throw new MissingEvent(`the lock of job ${args.jobId} is not among the events`);
    return splitCharge(args.credits, fee);
  };
}

/** Checks the token transfers of a settlement: their amounts follow from the charge and the fee at the lock. */
function checkPayouts(checks: Checks, settled: EscrowEvent<"JobSettled">, context: MoneyContext): void {
  const { escrow, terms, splitOf: split, logsOf, feesOf } = context;
  const left = payoutsAfter(settled, logsOf(settled.tx), escrow);
  const { workerUnits, treasuryUnits } = split(settled);
  const payee = terms.worker(settled.args.worker, settled)?.payout ?? null;
  const paid = takePayout(left, payee, workerUnits);
  checks.add(
    "payout.worker",
    paid !== null,
    paid?.deferred
      ? `${usdgText(workerUnits)} wait for the worker ${payee}: the token refused the transfer`
      : `${usdgText(workerUnits)} went to the worker at ${payee}`,
    `${usdgText(workerUnits)} should have gone to the worker at ${payee ?? "an unknown address"}; ${showPayouts(left)}`,
  );

  const treasury = terms.treasury(settled);
  const fees = treasury === null ? [] : feesOf(settled.tx, treasury);
  const own = fees.find((one) => one.settled.some(({ logIndex }) => logIndex === settled.logIndex)) ?? null;
  checks.add(
    "payout.fee",
    own !== null && (own.payout !== null || own.units === 0n),
    feeInWords(own, treasuryUnits, treasury),
    `${usdgText(own?.units ?? treasuryUnits)} should have gone to the treasury at ${treasury ?? "an unknown address"} for ${own?.settled.length ?? 1} jobs; ${showPayouts(left)}`,
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
  const part = settled.length > 1 ? `${usdgText(own)} of ${usdgText(units)} for ${settled.length} jobs` : usdgText(own);
  return payout?.deferred
    ? `${part} wait for the treasury ${treasury}: the token refused the transfer`
    : `${part} went to the treasury at ${treasury}`;
}
