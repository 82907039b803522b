import {
  type Abi,
  type AbiEvent,
  decodeAbiParameters,
  decodeErrorResult,
  getAddress,
  type Hex,
  toEventSelector,
} from "viem";
import {
  arbitrationPanelAbi,
  inferenceEscrowAbi,
  modelCatalogAbi,
  protocolTreasuryAbi,
  workerRegistryAbi,
} from "./generated/abi.ts";

/** A log as a node returns it, reduced to what decoding needs. */
export type RawLog = { topics: readonly Hex[]; data: Hex };

type Input = AbiEvent["inputs"][number];
/** Reads a value from the 64 digits of its word; undefined for a word that its type cannot hold. */
type ReadWord = (digits: string) => unknown;
/** An event of an ABI, and where its arguments stand. `words`: readers of an event whose arguments are a word each, as nearly all are; else null. */
export type EventLayout = { name: string; indexed: Input[]; data: Input[]; words: ReadWord[] | null };

/**
 * The events of an ABI by their first topic. viem's decoder hashes the event's signature for each log: half of its time.
 *
 * @example
 * eventLayouts(inferenceEscrowAbi).get(log.topics[0])?.name;
 */
export const eventLayouts = (abi: Abi): Map<Hex, EventLayout> =>
  new Map(abi.filter((item) => item.type === "event").map((item) => [toEventSelector(item), layoutOf(item)]));

function layoutOf({ name, inputs }: AbiEvent): EventLayout {
  const indexed = inputs.filter(({ indexed }) => indexed);
  const data = inputs.filter(({ indexed }) => !indexed);
  const words = [...indexed, ...data].flatMap(({ type }) => wordReader(type) ?? []);
  return { name, indexed, data, words: words.length === inputs.length ? words : null };
}

function wordReader(type: string): ReadWord | null {
  if (type === "address") return (digits) => getAddress(`0x${digits.slice(24)}`);
  if (type === "bool") return (digits) => (/^0{63}[01]$/.test(digits) ? digits.endsWith("1") : undefined);
  const [, kind, size] = /^(uint|bytes)(\d+)$/.exec(type) ?? [];
  if (kind === "bytes") return (digits) => `0x${digits.slice(0, Number(size) * 2)}`;
  if (kind !== "uint") return null;
  if (Number(size) > 48) return (digits) => BigInt(`0x${digits}`);
  return (digits) => {
    const value = Number(`0x${digits}`);
    return Number.isSafeInteger(value) ? value : undefined;
  };
}

/**
 * The arguments of a log of this event, by name. Throws viem's error for data that is none.
 *
 * @example
 * const layout = eventLayouts(inferenceEscrowAbi).get(log.topics[0]);
 * if (layout) console.log(decodeArguments(layout, log));
 */
export function decodeArguments(layout: EventLayout, log: RawLog): Record<string, unknown> {
  const values = readWords(layout, log) ?? decodeValues(layout, log);
  return Object.fromEntries([...layout.indexed, ...layout.data].map(({ name }, i) => [name, values[i]]));
}

/** The values of an event whose arguments are a word each; null where viem must read them, or say what is wrong with them. */
function readWords({ indexed, words }: EventLayout, { topics, data }: RawLog): unknown[] | null {
  if (words === null) return null;
  const all = (
    topics
      .slice(1)
      .map((topic) => topic.slice(2))
      .join("") + data.slice(2)
  ).toLowerCase();
  if (topics.length !== indexed.length + 1 || all.length !== words.length * 64 || !/^[0-9a-f]*$/.test(all)) return null;
  const values = words.map((read, i) => read(all.slice(i * 64, (i + 1) * 64)));
  return values.includes(undefined) ? null : values;
}

function decodeValues({ indexed, data }: EventLayout, log: RawLog): unknown[] {
  const fromTopics = indexed.map((input, i) => decodeAbiParameters([input], log.topics[i + 1] as Hex)[0]);
  return [...fromTopics, ...decodeAbiParameters(data, log.data)];
}

/** An event of ours by name, with its arguments. */
export type DecodedEvent = { name: string; args: Record<string, unknown> };

const ABIS = [inferenceEscrowAbi, modelCatalogAbi, workerRegistryAbi, protocolTreasuryAbi, arbitrationPanelAbi];
let ours: ReadonlyMap<Hex, EventLayout> | undefined;

/**
 * Decodes a log of the protocol's contracts; null if it is none of theirs.
 *
 * @example
 * for (const log of receipt.logs) console.log(decodeProtocolEvent(log)?.name);
 */
export function decodeProtocolEvent(log: RawLog): DecodedEvent | null {
  // Not at load: a browser that only verifies needs no second table.
  ours ??= new Map((ABIS as readonly Abi[]).flatMap((abi) => [...eventLayouts(abi)]));
  const [selector] = log.topics;
  const layout = selector === undefined ? undefined : ours.get(selector);
  return layout === undefined ? null : { name: layout.name, args: decodeArguments(layout, log) };
}

// An item of a batch can end with an error of a contract that the escrow called.
const errors = (ABIS as readonly Abi[]).flatMap((abi) => abi.filter((item) => item.type === "error"));

/** A custom error of the contracts by name, with its arguments. */
export type DecodedRevert = { name: string; args: readonly unknown[] };

/**
 * Decodes revert data; an unknown or cut one is named `Unknown` and carries the data.
 *
 * @example
 * decodeRevert("0x"); // { name: "Unknown", args: ["0x"] }
 */
export function decodeRevert(data: Hex): DecodedRevert {
  try {
    const { errorName, args } = decodeErrorResult({ abi: errors, data });
    return { name: errorName, args: (args ?? []) as readonly unknown[] };
  } catch {
    // Not one of ours: a token's own revert string, an empty revert, or data cut at the batch's 256 bytes.
    return { name: "Unknown", args: [data] };
  }
}
