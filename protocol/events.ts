import { type Abi, type AbiEvent, decodeErrorResult, decodeEventLog, type Hex, toEventSelector } from "viem";
import {
  arbitrationPanelAbi,
  inferenceEscrowAbi,
  modelCatalogAbi,
  protocolTreasuryAbi,
  workerRegistryAbi,
} from "./generated/abi.ts";

/** A log as a node returns it, reduced to what decoding needs. */
export type RawLog = { topics: readonly Hex[]; data: Hex };

/** An event of ours by name, with its arguments. */
export type DecodedEvent = { name: string; args: Record<string, unknown> };

// viem searches an ABI by hashing every event of it on each call; one table made once is what a hot path needs.
const eventsBySelector = new Map<Hex, AbiEvent>();
const ABIS = [inferenceEscrowAbi, modelCatalogAbi, workerRegistryAbi, protocolTreasuryAbi, arbitrationPanelAbi];
for (const abi of ABIS as readonly Abi[]) {
  for (const item of abi) if (item.type === "event") eventsBySelector.set(toEventSelector(item), item);
}

/** Decodes a log of the protocol's contracts; null if it is none of theirs. */
export function decodeProtocolEvent(log: RawLog): DecodedEvent | null {
  const [selector] = log.topics;
  const item = selector === undefined ? undefined : eventsBySelector.get(selector);
  if (item === undefined) return null;
  const decoded = decodeEventLog({ abi: [item], topics: log.topics as [Hex, ...Hex[]], data: log.data });
  return { name: item.name, args: (decoded.args ?? {}) as unknown as Record<string, unknown> };
}

// An item of a batch can end with an error of a contract that the escrow called.
const errors = (ABIS as readonly Abi[]).flatMap((abi) => abi.filter((item) => item.type === "error"));

/** A custom error of the contracts by name, with its arguments. */
export type DecodedRevert = { name: string; args: readonly unknown[] };

/** Decodes revert data; an unknown or cut one is named `Unknown` and carries the data. */
export function decodeRevert(data: Hex): DecodedRevert {
  try {
    const { errorName, args } = decodeErrorResult({ abi: errors, data });
    return { name: errorName, args: (args ?? []) as readonly unknown[] };
  } catch {
    // Not one of ours: a token's own revert string, an empty revert, or data cut at the batch's 256 bytes.
    return { name: "Unknown", args: [data] };
  }
}
