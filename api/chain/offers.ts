/**
 * What a transaction offers to be mined, and what comes next when its node refuses it or nothing happens: decisions of what the chain shows, never
 * of a node's words. Pure.
 */
import type { Offer } from "./outbox.ts";

type Fees = Pick<Offer, "maxFee" | "priorityFee">;

/** Of every offer. `leastTip` and `feeCap` in wei per gas; `costCap` in wei, the most that one transaction may cost. */
export type Bounds = { leastTip: bigint; feeCap: bigint; costCap: bigint };

/** Highest tip, by the lowest one, where the base fee is below that. Of an offer only base fee and tip are paid. */
const TIP_BOUND = 10n;
/** What nodes ask of a replacement is 10 %, of some 12.5 %. */
const raise = (fee: bigint): bigint => (fee * 1125n) / 1000n + 1n;

function larger(first: bigint, ...others: bigint[]): bigint {
  let most = first;
  for (const one of others) if (one > most) most = one;
  return most;
}

function smaller(first: bigint, ...others: bigint[]): bigint {
  let least = first;
  for (const one of others) if (one < least) least = one;
  return least;
}

/** Highest fee of a transaction with this gas, wei per gas. */
const mostFee = ({ feeCap, costCap }: Bounds, gas: bigint): bigint => smaller(feeCap, costCap / gas);

/** Room for the base fee to double, within the bounds. */
export function marketFees(baseFee: bigint, gas: bigint, bounds: Bounds): Fees {
  const maxFee = smaller(baseFee * 2n + bounds.leastTip, mostFee(bounds, gas));
  return { maxFee, priorityFee: smaller(bounds.leastTip, maxFee) };
}

/** Above an earlier offer by what nodes ask of a replacement; null where a bound does not allow that. */
export function raisedFees({ gas, maxFee, priorityFee }: Offer, baseFee: bigint, bounds: Bounds): Fees | null {
  const tip = larger(bounds.leastTip, raise(priorityFee));
  const most = mostFee(bounds, gas);
  const offered = larger(smaller(baseFee * 2n + tip, most), raise(maxFee));
  if (offered > most || tip > larger(bounds.leastTip * TIP_BOUND, baseFee, TIP_BOUND)) return null;
  return { maxFee: offered, priorityFee: smaller(tip, offered) };
}

/** What the next few blocks take, for a node that refuses more; null where that is not clearly less than was offered. */
export function loweredFees({ gas, maxFee }: Offer, baseFee: bigint, bounds: Bounds): Fees | null {
  const { leastTip } = bounds;
  const offered = smaller((baseFee * 5n) / 4n + leastTip, mostFee(bounds, gas));
  return offered <= (maxFee * 9n) / 10n ? { maxFee: offered, priorityFee: smaller(leastTip, offered) } : null;
}

/** Most gas that a batch may have: at most `gas`, and less where its market fees would not fit in the bound of a transaction's cost. */
export function affordableGas(gas: bigint, baseFee: bigint, { leastTip, feeCap, costCap }: Bounds): bigint {
  return smaller(gas, costCap / larger(1n, smaller(baseFee * 2n + leastTip, feeCap)));
}

/** What one node shows of the sender: mined transactions, wei, the newest block and its base fee; whether it knows a variant. */
export type Facts = { count: number; balance: bigint; block: number; baseFee: bigint; known: boolean };

/** A node refuses the sender's next transaction since a block and a moment (ms). `steps`: taken since then, the last one in block `stepBlock`. */
export type Refusal = { block: number; at: number; steps: number; stepBlock: number };

/**
 * - `used`: the nonce is used, by one of our variants or by a transaction that is not ours.
 * - `early`: an earlier nonce comes first. `waits`: the node has a variant. `poor`: the signer cannot pay for it.
 * - `again`: the same bytes. `raise`, `lower`: another fee. `fewer`: half of its operations, in the end none.
 */
export type Step = "used" | "early" | "waits" | "poor" | "again" | "raise" | "lower" | "fewer";

/**
 * The steps out of a refusal, each with the patience before it, in blocks that are also a second each. A refusal can be of the moment, so operations
 * are given up last.
 */
const WAY_OUT: readonly { after: number; step: Step }[] = [
  { after: 2, step: "raise" },
  { after: 3, step: "raise" },
  { after: 5, step: "lower" },
];
const FIRST_FEWER = 8;
const EACH_FEWER = 2;

/** What to do with a transaction that its node refused. `mostGas`: the most that this node took when it last refused more. */
export function stepAfterRefusal(
  { nonce, offer, mostGas }: { nonce: number; offer: Offer; mostGas: bigint | null },
  facts: Facts,
  refusal: Refusal | null,
  now: number,
): Step {
  if (facts.count > nonce) return "used";
  if (facts.count < nonce) return "early";
  if (facts.known) return "waits";
  if (facts.balance < offer.gas * offer.maxFee) return "poor";
  if (refusal === null || facts.block <= refusal.stepBlock) return "again";
  if (offer.maxFee < facts.baseFee) return "raise";
  const patience = Math.min(facts.block - refusal.block, Math.floor((now - refusal.at) / 1000));
  if (mostGas !== null && offer.gas > mostGas && patience >= 1) return "fewer";
  const next = WAY_OUT[refusal.steps] ?? {
    after: FIRST_FEWER + EACH_FEWER * (refusal.steps - WAY_OUT.length),
    step: "fewer" as const,
  };
  if (patience < next.after) return "again";
  return next.step === "fewer" && offer.operations === 0 ? "raise" : next.step;
}

/** What to do with a transaction that its node has taken and that is not mined in time; one step a block. */
export function stepOfStuck(nonce: number, offer: Offer, facts: Facts, raisedInBlock: number): Step {
  if (facts.count > nonce) return "used";
  if (facts.count < nonce) return "early";
  if (facts.block <= raisedInBlock) return "waits";
  return facts.balance < offer.gas * raise(offer.maxFee) ? "poor" : "raise";
}
