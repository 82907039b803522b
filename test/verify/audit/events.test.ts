/** What is read of a log: the same as viem reads, of every event and of what is no event. */
import {
  type AbiEvent,
  type AbiParameter,
  type Address,
  decodeEventLog,
  encodeAbiParameters,
  encodeEventTopics,
  type Hex,
  keccak256,
  toBytes,
} from "viem";
import { describe, expect, it } from "vitest";
import { type ChainLog, type ContractName, decodeLog, EVENT_ABIS } from "../../../verify/events.ts";

const CONTRACTS: ContractName[] = ["escrow", "catalog", "registry", "panel", "treasury", "stablecoin"];
const at = (contract: string): Address => `0x${keccak256(toBytes(contract)).slice(26)}`;
const { escrow, catalog, registry, panel, stablecoin, serviceToken, treasury } = Object.fromEntries(
  Object.keys(EVENT_ABIS).map((contract) => [contract, at(contract)]),
) as Record<ContractName, Address>;
const addresses = { escrow, catalog, registry, panel, stablecoin, serviceToken, treasury: [treasury] };

/** A value of a type, another one for each `seed`. */
function sample({ type, components }: AbiParameter & { components?: readonly AbiParameter[] }, seed: string): unknown {
  const hash = keccak256(toBytes(seed));
  if (type.endsWith("[]"))
    return [sample({ type: type.slice(0, -2) }, `${seed}0`), sample({ type: type.slice(0, -2) }, `${seed}1`)];
  if (type === "tuple")
    return Object.fromEntries((components ?? []).map((one) => [one.name, sample(one, seed + one.name)]));
  if (type === "bool") return Number(hash.slice(-1)) % 2 === 0;
  if (type === "address") return `0x${hash.slice(26)}`;
  if (type === "string") return hash;
  if (type === "bytes") return hash;
  const size = Number(/\d+$/.exec(type)?.[0]);
  if (type.startsWith("bytes")) return hash.slice(0, 2 + 2 * size);
  const value = BigInt.asUintN(size, BigInt(hash));
  return size > 48 ? value : Number(value);
}

const cases = CONTRACTS.flatMap((contract) =>
  (EVENT_ABIS[contract] as readonly { type: string }[])
    .filter((item): item is AbiEvent => item.type === "event")
    .map((event) => ({ contract, event, name: event.name })),
);

function logOf(contract: ContractName, event: AbiEvent, seed: string): ChainLog {
  const values = event.inputs.map((input) => sample(input, seed + input.name));
  const args = Object.fromEntries(event.inputs.map(({ name }, i) => [name, values[i]]));
  const topics = encodeEventTopics({ abi: [event], args } as never) as Hex[];
  const unindexed = event.inputs.map((input, i) => ({ input, value: values[i] })).filter(({ input }) => !input.indexed);
  const data = encodeAbiParameters(
    unindexed.map(({ input }) => input),
    unindexed.map(({ value }) => value),
  );
  return { address: at(contract), topics, data, blockNumber: 7n, logIndex: 3, transactionHash: keccak256(data) };
}

const byViem = ({ event }: { event: AbiEvent }, { topics, data }: ChainLog): unknown =>
  decodeEventLog({ abi: [event], topics: topics as [Hex], data, strict: true } as never)["args" as never];

describe("a log", () => {
  it.each(cases)("of $contract $name has the arguments that viem reads", (one) => {
    for (const seed of ["a", "b", "c"]) {
      const log = logOf(one.contract, one.event, seed);
      expect(decodeLog(log, addresses)).toEqual({
        contract: one.contract,
        name: one.name,
        args: byViem(one, log) ?? {},
        block: 7n,
        logIndex: 3,
        tx: log.transactionHash,
      });
    }
  });

  const lock = cases.find(({ name }) => name === "JobLocked") as (typeof cases)[number];
  const log = logOf("escrow", lock.event, "a");
  const read = (changed: Partial<ChainLog>) => () => decodeLog({ ...log, ...changed }, addresses)?.args;

  it("reads digits in either case, and leaves what stands behind the arguments alone", () => {
    const upper = log.data.toUpperCase().replace("0X", "0x") as Hex;
    expect(read({ data: upper })()).toEqual(read({})());
    expect(read({ data: `${log.data}${"0".repeat(64)}` })()).toEqual(read({})());
  });

  it("is refused where it is cut short, is no hex, or lacks a topic", () => {
    expect(read({ data: log.data.slice(0, -64) as Hex })).toThrow();
    expect(read({ data: log.data.replace(/.$/, "z") as Hex })).toThrow();
    expect(read({ topics: log.topics.slice(0, -1) })).toThrow();
  });
});
