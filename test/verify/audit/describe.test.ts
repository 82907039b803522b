import { type Address, encodeAbiParameters, encodeEventTopics, type Hex } from "viem";
import { describe, expect, it } from "vitest";
import { inferenceEscrowAbi } from "../../../protocol/generated/abi.ts";
import { argumentUnit, decimal, describeEvent, eventTitle } from "../../../verify/describe.ts";
import { type AnyEvent, type ContractName, decodeLogs, EVENT_ABIS } from "../../../verify/events.ts";
import { moneyFlow } from "../../../verify/money-flow.ts";

const at = (digit: number): Address => `0x${String(digit).repeat(40)}`;
const addresses = {
  escrow: at(1),
  catalog: at(2),
  registry: at(3),
  panel: at(4),
  stablecoin: at(5),
  serviceToken: at(6),
  treasury: [at(7)],
};
const JOB: Hex = `0x${"ab".repeat(16)}`;
const WALLET = at(8);
const WORKER = at(9);

/** A JobSettled log as a node returns it. */
function settledLog() {
  const abi = inferenceEscrowAbi.filter((item) => item.type === "event" && item.name === "JobSettled");
  const topics = encodeEventTopics({
    abi,
    eventName: "JobSettled",
    args: { jobId: JOB, wallet: WALLET, worker: WORKER },
  } as never);
  const inputs = (abi[0] as { inputs: readonly { indexed: boolean; type: string }[] }).inputs.filter(
    ({ indexed }) => !indexed,
  );
  // 7 prompt tokens, 3,000 output tokens, all of them billed; 988 credits free.
  const usage = 7n | (3_000n << 32n) | (200n << 64n) | (12_000n << 96n) | (3_200n << 128n) | (1_735_689_605n << 160n);
  const account = 1n | (988n << 32n);
  const [r, vs, proofHash] = ["01", "02", "cd"].map((byte) => `0x${byte.repeat(32)}`);
  const data = encodeAbiParameters(inputs, [proofHash, 12, usage, r, vs, account]);
  return {
    address: addresses.escrow,
    topics: topics as Hex[],
    data,
    blockNumber: 5n,
    logIndex: 2,
    transactionHash: `0x${"ef".repeat(32)}` as Hex,
  };
}

describe("events in words", () => {
  const events = (Object.keys(EVENT_ABIS) as ContractName[]).flatMap((contract) =>
    EVENT_ABIS[contract].filter((item) => item.type === "event").map((item) => ({ contract, item })),
  );

  it.each(events.map(({ contract, item }) => [`${contract}.${item.name}`, contract, item] as const))(
    "%s has a title, and each of its arguments a unit",
    (_, contract, item) => {
      expect(eventTitle(contract, item.name)).not.toBeNull();
      const unknown = item.inputs.filter(({ name, type }) => argumentUnit(contract, type, name) === null);
      expect(unknown).toEqual([]);
    },
  );

  it("shows money, hashes and words as a person reads them", () => {
    const [event] = decodeLogs([settledLog()], addresses) as [AnyEvent];
    const { title, fields } = describeEvent(event);
    expect(title).toBe("Escrow released: proof verified, job charged");
    const text = Object.fromEntries(fields.map((field) => [field.name, field.text]));
    expect(text).toMatchObject({
      credits: "12 credits",
      usage:
        "promptTokens 7, completionTokens 3000, reasoningTokens 200, textBytes 12000, billedTokens 3200, completedAt 1735689605",
    });
    expect(text["account"]).toMatch(/^id 1, free 988, escrowed 0, /);
    const failed = {
      ...event,
      name: "JobFailed",
      args: { jobId: JOB, wallet: WALLET, reason: 2, credits: 8, free: 1, escrowed: 0 },
    };
    expect(describeEvent(failed).fields.find(({ name }) => name === "reason")?.text).toBe("hash mismatch");
  });

  it("writes base units as decimals without rounding", () => {
    expect(decimal(1n, 6)).toBe("0.000001");
    expect(decimal(10_000_000n, 6)).toBe("10");
    expect(decimal(123_456_789_012_345_678_901n, 18)).toBe("123.456789012345678901");
  });
});

describe("the money flow of a transaction", () => {
  it("splits a settlement into the charge and what comes back of the lock", () => {
    const logs = decodeLogs([settledLog()], addresses);
    const locked = { ...(logs[0] as AnyEvent), name: "JobLocked", args: { jobId: JOB, wallet: WALLET, credits: 16 } };
    expect(moneyFlow(logs, addresses)).toHaveLength(1);
    const flows = moneyFlow(logs, addresses, [locked]);
    expect(flows).toMatchObject([
      {
        amount: 12n,
        unit: "credits",
        from: { kind: "escrow", wallet: WALLET },
        to: { kind: "address", name: "escrow" },
        jobId: JOB,
      },
      { amount: 4n, unit: "credits", from: { kind: "escrow" }, to: { kind: "free", wallet: WALLET } },
    ]);
  });

  it("ignores logs of other contracts", () => {
    expect(decodeLogs([{ ...settledLog(), address: at(0) }], addresses)).toEqual([]);
  });
});
