/**
 * The fee, gas and operations with which a transaction is offered to the chain, and the next step when its node refuses it or does not mine it. The
 * chain's state decides, never the text of a node's error. Pure.
 */
import type { Offer } from "./outbox.ts";

type Fees = Pick<Offer, "maxFee" | "priorityFee">;

/** Bounds of every offer. `leastTip` and `feeCap` in wei per gas; `costCap` in wei, the most that one transaction may cost. */
export type Bounds = { leastTip: bigint; feeCap: bigint; costCap: bigint };

/** The tip is at most this many times `leastTip`, or the base fee if that is higher. Only base fee and tip are paid, not the whole offer. */
const TIP_BOUND = 10n;
/** Nodes take a replacement whose fees are 10 % higher, some of them 12.5 %. */
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

/** Fees with which a transaction is mined even if the base fee doubles, within the bounds. */
export function marketFees(baseFee: bigint, gas: bigint, bounds: Bounds): Fees {
  const maxFee = smaller(baseFee * 2n + bounds.leastTip, mostFee(bounds, gas));
  return { maxFee, priorityFee: smaller(bounds.leastTip, maxFee) };
}

/** Fees so far above an earlier offer that nodes take the replacement; null where a bound does not allow them. */
export function raisedFees({ gas, maxFee, priorityFee }: Offer, baseFee: bigint, bounds: Bounds): Fees | null {
  const tip = larger(bounds.leastTip, raise(priorityFee));
  const most = mostFee(bounds, gas);
  const offered = larger(smaller(baseFee * 2n + tip, most), raise(maxFee));
  if (offered > most || tip > larger(bounds.leastTip * TIP_BOUND, baseFee, TIP_BOUND)) return null;
  return { maxFee: offered, priorityFee: smaller(tip, offered) };
}

/** A fee that is enough for the next few blocks, wei per gas. */
const nextFee = (baseFee: bigint, { leastTip }: Bounds): bigint => (baseFee * 5n) / 4n + leastTip;

/** Fees that are just enough for the next few blocks, for a node that refuses higher ones; null where they are not clearly lower, or above a bound. */
export function loweredFees({ gas, maxFee }: Offer, baseFee: bigint, bounds: Bounds): Fees | null {
  const offered = nextFee(baseFee, bounds);
  if (offered > mostFee(bounds, gas) || offered > (maxFee * 9n) / 10n) return null;
  return { maxFee: offered, priorityFee: bounds.leastTip };
}

/** Most gas that a batch may have: at most `gas`, and less where its market fees would not fit in the bound of a transaction's cost. */
export function affordableGas(gas: bigint, baseFee: bigint, { leastTip, feeCap, costCap }: Bounds): bigint {
  return smaller(gas, costCap / larger(1n, smaller(baseFee * 2n + leastTip, feeCap)));
}

/** The sender as one node shows it: its mined transactions, its balance in wei, the newest block and base fee, and whether the node has a variant. */
export type Facts = { count: number; balance: bigint; block: number; baseFee: bigint; known: boolean };

/** A nonce whose offers so far are `variants`, the newest one last. */
export type Offered = {
  nonce: number;
  variants: readonly Offer[];
  /** Gas of its first operations; with none, of an empty transaction. */
  gasOf: (operations: number) => bigint;
  /** The most that its node took when it last refused more; null while it has not. */
  mostGas: bigint | null;
  /** True if the node took the newest variant: then only an offer that is clearly higher replaces it. */
  isTaken: boolean;
  bounds: Bounds;
};

const newest = ({ variants }: Offered): Offer => variants.at(-1) as Offer;

/** The bounds of an offer that the signer can pay: nodes refuse a transaction that could cost more than its balance. */
const payable = (bounds: Bounds, { balance }: Facts): Bounds => ({
  ...bounds,
  costCap: smaller(bounds.costCap, balance),
});

/** The next offer by this step; null where no such offer is within the bounds and the signer's balance. */
export function offerOf(step: "raise" | "lower" | "fewer", offered: Offered, facts: Facts): Offer | null {
  if (step === "fewer") return fewerOperations(offered, facts);
  const { operations, gas } = newest(offered);
  const bounds = payable(offered.bounds, facts);
  const change = step === "raise" ? raisedFees : loweredFees;
  const fees = change(newest(offered), facts.baseFee, bounds);
  return fees === null ? null : { operations, gas, ...fees };
}

/** Half of the operations, or as many as the node takes and the bounds allow to be paid for; in the end none. */
function fewerOperations(offered: Offered, facts: Facts): Offer | null {
  const { gasOf, mostGas, bounds } = offered;
  const before = newest(offered).operations;
  if (before === 0) return null;
  const least = larger(facts.baseFee, smaller(nextFee(facts.baseFee, bounds), bounds.feeCap));
  for (let operations = Math.floor(before / 2); operations >= 0; operations--) {
    const gas = gasOf(operations);
    const fees = feesOfFewer(offered, gas, facts);
    const fits = mostGas === null || operations === 0 || gas <= mostGas;
    if (fits && fees !== null && fees.maxFee >= least) return { operations, gas, ...fees };
  }
  return null;
}

/** The market's fees; and higher ones than every variant's where the node took a variant, or where no variant pays the base fee. */
function feesOfFewer({ variants, isTaken, bounds }: Offered, gas: bigint, facts: Facts): Fees | null {
  const within = payable(bounds, facts);
  const maxFee = larger(0n, ...variants.map((variant) => variant.maxFee));
  const priorityFee = larger(0n, ...variants.map((variant) => variant.priorityFee));
  if (!isTaken && maxFee >= facts.baseFee) return marketFees(facts.baseFee, gas, within);
  return raisedFees({ operations: 0, gas, maxFee, priorityFee }, facts.baseFee, within);
}

/** The block, and the time in ms, from which on a node has refused the sender's next transaction; the steps taken since, the last in `stepBlock`. */
export type NodeRefusal = { block: number; at: number; steps: number; stepBlock: number };

/**
 * - `used`: the nonce is used, by one of our variants or by a transaction that is not ours.
 * - `early`: an earlier nonce comes first. `waits`: the node has a variant. `poor`: the signer's balance does not allow what is needed.
 * - `bound`: a bound does not allow what is needed.
 * - `again`: the same bytes. `raise`, `lower`: another fee. `fewer`: half of its operations, in the end none.
 */
export type Step = "used" | "early" | "waits" | "poor" | "bound" | "again" | "raise" | "lower" | "fewer";

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

/** Chooses the next step for a transaction that its node refused. */
export function stepAfterRefusal(offered: Offered, facts: Facts, refusal: NodeRefusal | null, now: number): Step {
  const offer = newest(offered);
  const allows = (step: "raise" | "lower" | "fewer") => offerOf(step, offered, facts) !== null;
  if (facts.count > offered.nonce) return "used";
  if (facts.count < offered.nonce) return "early";
  if (facts.known) return "waits";
  const isPoor = facts.balance < offer.gas * offer.maxFee;
  if (isPoor && !allows("lower") && !allows("fewer")) return "poor";
  if (refusal === null || facts.block <= refusal.stepBlock) return "again";
  const patience = Math.min(facts.block - refusal.block, Math.floor((now - refusal.at) / 1000));
  if (isPoor && allows("lower")) return "lower";
  if (isPoor) return patience < FIRST_FEWER ? "poor" : "fewer";
  if (offer.maxFee < facts.baseFee) {
    if (allows("raise")) return "raise";
    return patience < FIRST_FEWER || !allows("fewer") ? "bound" : "fewer";
  }
  if (offered.mostGas !== null && offer.gas > offered.mostGas && patience >= 1) return "fewer";
  const next = WAY_OUT[refusal.steps] ?? {
    after: FIRST_FEWER + EACH_FEWER * (refusal.steps - WAY_OUT.length),
    step: "fewer" as const,
  };
  if (patience < next.after) return "again";
  return next.step === "fewer" && offer.operations === 0 ? "raise" : next.step;
}

/** Chooses the next step for a transaction that its node has taken and that is not mined in time; one step a block. */
export function stepOfStuck(offered: Offered, facts: Facts, steppedInBlock: number): Step {
  const offer = newest(offered);
  if (facts.count > offered.nonce) return "used";
  if (facts.count < offered.nonce) return "early";
  if (facts.block <= steppedInBlock) return "waits";
  if (offerOf("raise", offered, facts) !== null) return "raise";
  if (offerOf("fewer", offered, facts) !== null) return "fewer";
  return facts.balance < offer.gas * raise(offer.maxFee) ? "poor" : "bound";
}
