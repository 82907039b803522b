/** What a transaction offers, and what comes next where its node refuses it: by what the chain shows, within bounds. */
import { describe, expect, it } from "vitest";
import {
  affordableGas,
  type Facts,
  loweredFees,
  marketFees,
  type NodeRefusal,
  type Offered,
  offerOf,
  raisedFees,
  stepAfterRefusal,
  stepOfStuck,
} from "../../../../api/chain/offers.ts";
import { batchGas, type Operation } from "../../../../api/chain/operations.ts";
import { BatchLimit } from "../../../../api/chain/queue.ts";

const GWEI = 10n ** 9n;
const BOUNDS = { leastTip: GWEI, feeCap: 500n * GWEI, costCap: 10n ** 18n };
const GAS = 4_000_000n;
const OFFER = { operations: 30, gas: GAS, maxFee: 41n * GWEI, priorityFee: GWEI };

const EMPTY_GAS = 100_000n;
/** The nonce 7 with one offer; its gas is that of its operations, in proportion. */
const offered = (more: Partial<Offered> = {}): Offered => ({
  nonce: 7,
  variants: [OFFER],
  gasOf: (operations) => (operations === 0 ? EMPTY_GAS : (GAS / 30n) * BigInt(operations)),
  mostGas: null,
  isTaken: false,
  bounds: BOUNDS,
  ...more,
});

describe("fees", () => {
  it("leave room for the base fee to double", () => {
    expect(marketFees(20n * GWEI, GAS, BOUNDS)).toEqual({ maxFee: 41n * GWEI, priorityFee: GWEI });
  });

  it("never let a transaction cost more than its bound", () => {
    const { maxFee } = marketFees(200n * GWEI, GAS, BOUNDS);
    expect(maxFee * GAS).toBeLessThanOrEqual(BOUNDS.costCap);
  });

  it("make batches smaller while they are high, instead of too cheap", () => {
    const gas = affordableGas(12_000_000n, 200n * GWEI, BOUNDS);
    expect(gas).toBeLessThan(2_500_000n);
    expect(marketFees(200n * GWEI, gas, BOUNDS).maxFee).toBe(401n * GWEI);
    expect(affordableGas(12_000_000n, GWEI, BOUNDS)).toBe(12_000_000n);
  });

  it("are raised by what nodes ask of a replacement", () => {
    const raised = raisedFees(OFFER, GWEI, BOUNDS);
    expect(raised?.maxFee).toBe((41n * GWEI * 1125n) / 1000n + 1n);
    expect(raised?.priorityFee).toBe((GWEI * 1125n) / 1000n + 1n);
  });

  it("raised again and again stay within ten times the lowest tip, or the base fee", () => {
    const end = (baseFee: bigint) => {
      let offer = OFFER;
      for (let n = 0; n < 200; n++) offer = { ...offer, ...(raisedFees(offer, baseFee, BOUNDS) ?? {}) };
      return offer;
    };
    expect(end(7n).priorityFee).toBeLessThanOrEqual(10n * GWEI);
    expect(end(40n * GWEI).priorityFee).toBeLessThanOrEqual(40n * GWEI);
  });

  it("are not raised above a cap", () => {
    expect(raisedFees({ ...OFFER, gas: 1_000_000n, maxFee: 450n * GWEI }, GWEI, BOUNDS)).toBeNull();
    expect(raisedFees({ ...OFFER, maxFee: 249n * GWEI }, GWEI, BOUNDS)).toBeNull();
  });

  it("are lowered to what the next blocks take, unless that is about the same", () => {
    expect(loweredFees(OFFER, 4n * GWEI, BOUNDS)).toEqual({ maxFee: 6n * GWEI, priorityFee: GWEI });
    expect(loweredFees({ ...OFFER, maxFee: 6n * GWEI }, 4n * GWEI, BOUNDS)).toBeNull();
    expect(loweredFees(OFFER, 4n * GWEI, { ...BOUNDS, costCap: 5n * GWEI * GAS })).toBeNull();
  });
});

describe("a refused transaction", () => {
  const NONCE = 7;
  const facts: Facts = { count: NONCE, balance: 10n ** 19n, block: 100, baseFee: GWEI, known: false };
  /** Refused since block 100, looked at so many blocks and seconds later, after so many steps. */
  const later = (
    blocks: number,
    { steps = 0, seconds = blocks, offer = OFFER, mostGas = null as bigint | null } = {},
  ) => {
    const refusal: NodeRefusal = { block: 100, at: 0, steps, stepBlock: 100 };
    return stepAfterRefusal(
      offered({ variants: [offer], mostGas }),
      { ...facts, block: 100 + blocks },
      refusal,
      seconds * 1000,
    );
  };
  const first = (more: Partial<Facts>) => stepAfterRefusal(offered(), { ...facts, ...more }, null, 0);

  it.each([
    ["whose nonce the chain has is not sent again", { count: 8 }, "used"],
    ["with an earlier one before it waits for that", { count: 6 }, "early"],
    ["that the node knows waits to be mined", { known: true }, "waits"],
    ["that the signer cannot pay waits for money, at the same fee", { balance: 1n }, "poor"],
    ["is sent again for the first time", {}, "again"],
  ] as const)("%s", (_, more, step) => {
    expect(first(more)).toBe(step);
  });

  it.each([
    [1, 0, "again"],
    [2, 0, "raise"],
    [2, 1, "again"],
    [3, 1, "raise"],
    [5, 2, "lower"],
    [7, 3, "again"],
    [8, 3, "fewer"],
    [9, 4, "again"],
    [10, 4, "fewer"],
  ])("after %i blocks and %i steps: %s", (blocks, steps, step) => {
    expect(later(blocks, { steps })).toBe(step);
  });

  it("has patience in seconds as well, on a chain of fast blocks", () => {
    expect(later(40, { seconds: 1 })).toBe("again");
  });

  it("gets one step a block", () => {
    const refusal: NodeRefusal = { block: 90, at: 0, steps: 1, stepBlock: 100 };
    expect(stepAfterRefusal(offered(), facts, refusal, 60_000)).toBe("again");
  });

  it("is raised at once where the base fee is above its fee", () => {
    const refusal: NodeRefusal = { block: 99, at: 0, steps: 0, stepBlock: 99 };
    const high = { ...facts, baseFee: 50n * GWEI };
    expect(stepAfterRefusal(offered(), high, refusal, 0)).toBe("raise");
  });

  /** A full batch at the most that a transaction may cost, which is less than the base fee of 100 gwei. */
  const full = { operations: 90, gas: 12_000_000n, maxFee: 83n * GWEI, priorityFee: GWEI };
  const gasOfFull = (operations: number) => (operations === 0 ? EMPTY_GAS : 133_000n * BigInt(operations));
  const costly = offered({ variants: [full], gasOf: gasOfFull });
  const spike = { ...facts, baseFee: 100n * GWEI };

  it.each([
    [1, "bound"],
    [8, "fewer"],
  ] as const)("below the base fee at its cost cap after %i blocks: %s", (blocks, step) => {
    const refusal: NodeRefusal = { block: 100, at: 0, steps: 0, stepBlock: 100 };
    expect(stepAfterRefusal(costly, { ...spike, block: 100 + blocks }, refusal, blocks * 1000)).toBe(step);
    const offer = offerOf("fewer", costly, spike);
    expect(offer?.operations).toBe(45);
    expect(offer?.maxFee).toBeGreaterThan(125n * GWEI);
    expect((offer?.maxFee ?? 0n) * (offer?.gas ?? 0n)).toBeLessThanOrEqual(BOUNDS.costCap);
  });

  it("below the base fee at the highest fee of all waits, with all of its operations", () => {
    const refusal: NodeRefusal = { block: 100, at: 0, steps: 0, stepBlock: 100 };
    const beyond = { ...facts, block: 150, baseFee: 600n * GWEI };
    expect(stepAfterRefusal(costly, beyond, refusal, 60_000)).toBe("bound");
  });

  it.each([
    ["less than its price and more than the market's: its fee is lowered", 10n * GWEI * GAS, 1, "lower"],
    ["enough for some of its operations: it waits for money first", GWEI * GAS, 7, "poor"],
    ["enough for some of its operations: later it is offered with those", GWEI * GAS, 8, "fewer"],
    ["enough for an empty one: later it is offered without operations", 3n * GWEI * EMPTY_GAS, 8, "fewer"],
    ["not enough for an empty one: it waits for money", 2n * GWEI * EMPTY_GAS, 40, "poor"],
  ] as const)("after a spike, the signer has %s", (_, balance, blocks, step) => {
    const refusal: NodeRefusal = { block: 100, at: 0, steps: 0, stepBlock: 100 };
    const after = { ...facts, balance, block: 100 + blocks };
    expect(stepAfterRefusal(offered(), after, refusal, blocks * 1000)).toBe(step);
    if (step === "poor") return;
    const offer = offerOf(step, offered(), after);
    expect((offer?.maxFee ?? 0n) * (offer?.gas ?? 0n)).toBeLessThanOrEqual(balance);
    expect(offer?.maxFee).toBeGreaterThan(after.baseFee);
  });

  it("gets fewer operations soon where the node is known to take less gas", () => {
    expect(later(1, { mostGas: GAS - 1n })).toBe("fewer");
    expect(later(1, { mostGas: GAS })).toBe("again");
  });

  it("without operations has nothing left to give up but its fee", () => {
    expect(later(40, { steps: 12, offer: { ...OFFER, operations: 0 } })).toBe("raise");
  });
});

describe("a transaction that is not mined in time", () => {
  const facts: Facts = { count: 7, balance: 10n ** 19n, block: 100, baseFee: GWEI, known: true };
  it.each([
    ["is raised, if it is the next one", {}, 99, "raise"],
    ["is raised once a block", {}, 100, "waits"],
    ["is not raised while an earlier one waits", { count: 6 }, 99, "early"],
    ["is looked for where its nonce is used", { count: 8 }, 99, "used"],
    ["is not raised beyond what the signer has: fewer operations are", { balance: 41n * GWEI * GAS }, 99, "fewer"],
    ["waits for money where the signer has too little for any", { balance: 40n * GWEI * EMPTY_GAS }, 99, "poor"],
  ] as const)("%s", (_, more, steppedInBlock, step) => {
    expect(stepOfStuck(offered({ isTaken: true }), { ...facts, ...more }, steppedInBlock)).toBe(step);
  });

  it("at its cost cap is replaced by one of fewer operations, above every variant", () => {
    const variants = [
      { ...OFFER, maxFee: 249n * GWEI, priorityFee: 2n * GWEI },
      { ...OFFER, maxFee: 248n * GWEI },
    ];
    const atCap = offered({ variants, isTaken: true });
    const high = { ...facts, baseFee: 240n * GWEI };
    expect(stepOfStuck(atCap, high, 99)).toBe("fewer");
    const offer = offerOf("fewer", atCap, high);
    expect(offer?.operations).toBe(15);
    expect(offer?.maxFee).toBeGreaterThanOrEqual((249n * GWEI * 1125n) / 1000n);
    expect(offer?.priorityFee).toBeGreaterThanOrEqual((2n * GWEI * 1125n) / 1000n);
  });

  it("at the highest fee of all waits, with all of its operations", () => {
    const variants = [{ ...OFFER, gas: 1_000_000n, maxFee: 500n * GWEI }];
    expect(stepOfStuck(offered({ variants, isTaken: true }), facts, 99)).toBe("bound");
  });
});

describe("the gas of a batch", () => {
  it("shrinks to what the node takes, and grows again with it", () => {
    const limit = new BatchLimit(12_000_000n);
    limit.observe({ gas: 2_000_000n, operations: 10 }, 40);
    expect([limit.gas, limit.learned]).toEqual([2_000_000n, 2_000_000n]);
    limit.observe({ gas: 900_000n, operations: 1 }, 1);
    expect(limit.gas).toBe(2_000_000n);
    limit.observe({ gas: 1_900_000n, operations: 9 }, 9);
    expect(limit.gas).toBe(2_500_000n);
    for (let n = 0; n < 20; n++) limit.observe({ gas: limit.gas, operations: 9 }, 9);
    expect([limit.gas, limit.learned]).toEqual([12_000_000n, null]);
  });

  it("is that of one operation at least", () => {
    const limit = new BatchLimit(12_000_000n);
    limit.observe({ gas: 100_000n, operations: 0 }, 4);
    expect(limit.gas).toBe(batchGas([{ kind: "complete" } as Operation]));
  });
});
