/**
 * Logs of the protocol's contracts, decoded and typed. Pure: usable by a browser as well as by a command.
 *
 * An event is told by its contract *and* its name, because several contracts have events of one name (`EscrowSet`, `Transfer`).
 */
import {
  type Abi,
  type Address,
  type ContractEventName,
  type DecodeEventLogReturnType,
  erc20Abi,
  type Hex,
} from "viem";
import { decodeArguments, type EventLayout, eventLayouts } from "../protocol/events.ts";
import {
  arbitrationPanelAbi,
  inferenceEscrowAbi,
  modelCatalogAbi,
  protocolTreasuryAbi,
  workerRegistryAbi,
} from "../protocol/generated/abi.ts";
import { isNoJob } from "../protocol/job-id.ts";

export const EVENT_ABIS = {
  escrow: inferenceEscrowAbi,
  catalog: modelCatalogAbi,
  registry: workerRegistryAbi,
  panel: arbitrationPanelAbi,
  treasury: protocolTreasuryAbi,
  stablecoin: erc20Abi,
  serviceToken: erc20Abi,
} as const;

type Abis = typeof EVENT_ABIS;
export type ContractName = keyof Abis;
/** The addresses of the contracts of one deployment. A treasury that was replaced is still known by its old events. */
export type AuditAddresses = Record<Exclude<ContractName, "treasury">, Address> & { treasury: readonly Address[] };

/** A log as a node returns it, with its place. */
export type ChainLog = {
  address: Address;
  topics: readonly Hex[];
  data: Hex;
  blockNumber: bigint;
  logIndex: number;
  transactionHash: Hex;
};

/** One event with its arguments: money in credits or token units as the ABI says, times in Unix seconds. */
type AuditEvent<C extends ContractName, N extends ContractEventName<Abis[C]>> = {
  contract: C;
  name: N;
  args: DecodeEventLogReturnType<Abis[C], N>["args"];
  block: bigint;
  logIndex: number;
  tx: Hex;
};

export type EscrowEventName = ContractEventName<typeof inferenceEscrowAbi>;
export type EscrowEvent<N extends EscrowEventName> = AuditEvent<"escrow", N>;
/** Any event, before its name is looked at. */
export type AnyEvent = Omit<EscrowEvent<"JobLocked">, "contract" | "name" | "args"> & {
  contract: ContractName;
  name: string;
  args: unknown;
};

const tables = new Map<ContractName, Map<Hex, EventLayout>>(
  (Object.entries(EVENT_ABIS) as [ContractName, Abi][]).map(([contract, abi]) => [contract, eventLayouts(abi)]),
);

/** First topic of an event. */
export function eventTopic<C extends ContractName>(contract: C, name: ContractEventName<Abis[C]>): Hex {
  for (const [topic, item] of tables.get(contract) ?? []) if (item.name === name) return topic;
  throw new RangeError(`${contract} has no event ${name}`);
}

/** Topic of a job id: `bytes16` stands at the left of its word. */
export const jobTopic = (jobId: Hex): Hex => `${jobId.toLowerCase() as Hex}${"0".repeat(32)}`;
/** Topic of an address. */
export const addressTopic = (address: Address): Hex => `0x${address.slice(2).toLowerCase().padStart(64, "0")}`;

/** Decodes a log; null for one of another contract, or of an event that its contract's ABI does not know. */
export function decodeLog(log: ChainLog, addresses: AuditAddresses): AnyEvent | null {
  const contract = contractAt(log.address, addresses);
  const [selector] = log.topics;
  if (contract === null || selector === undefined) return null;
  const item = tables.get(contract)?.get(selector);
  if (item === undefined) return null;
  const { blockNumber: block, logIndex, transactionHash: tx } = log;
  return { contract, name: item.name, args: decodeArguments(item, log), block, logIndex, tx };
}

/** Decodes what is ours of many logs and puts it in the order of the chain. */
export function decodeLogs(logs: readonly ChainLog[], addresses: AuditAddresses): AnyEvent[] {
  return inChainOrder(logs.flatMap((log) => decodeLog(log, addresses) ?? []));
}

/** True if two addresses are the same. viem's isAddressEqual checks the checksums of both, which takes a hundred times as long. */
export const sameAddress = (a: Address, b: Address): boolean => a.toLowerCase() === b.toLowerCase();

/** The position of an event on the chain. */
export type Place = Pick<AnyEvent, "block" | "logIndex">;

/** Sorted by place, without repetitions (overlapping queries return the same log twice). */
export function inChainOrder<E extends AnyEvent>(events: readonly E[]): E[] {
  const byPlace = new Map(events.map((event) => [`${event.block}:${event.logIndex}`, event]));
  return [...byPlace.values()].sort((a, b) =>
    a.block === b.block ? a.logIndex - b.logIndex : Number(a.block - b.block),
  );
}

/** Whether an event is this one; narrows its arguments. */
export function isEvent<C extends ContractName, N extends ContractEventName<Abis[C]>>(
  event: AnyEvent,
  contract: C,
  ...names: N[]
): event is AnyEvent & AuditEvent<C, N> {
  return event.contract === contract && (names as string[]).includes(event.name);
}

/** The events of one name. */
export function eventsOf<C extends ContractName, N extends ContractEventName<Abis[C]>>(
  events: readonly AnyEvent[],
  contract: C,
  ...names: N[]
): AuditEvent<C, N>[] {
  return events.filter((event) => isEvent(event, contract, ...names)) as unknown as AuditEvent<C, N>[];
}

/** True if `a` stands before `b` on the chain. */
export function isBefore(a: Place, b: Place): boolean {
  return a.block < b.block || (a.block === b.block && a.logIndex < b.logIndex);
}

/** Job id of an event that concerns one, lower case; null otherwise. */
export function jobOfEvent({ args }: AnyEvent): Hex | null {
  const jobId = (args as { jobId?: Hex } | undefined)?.jobId;
  return typeof jobId === "string" && !isNoJob(jobId) ? (jobId.toLowerCase() as Hex) : null;
}

function contractAt(address: Address, addresses: AuditAddresses): ContractName | null {
  const wanted = address.toLowerCase();
  for (const [contract, at] of Object.entries(addresses) as [ContractName, Address | readonly Address[]][]) {
    if ([at].flat().some((one) => one.toLowerCase() === wanted)) return contract;
  }
  return null;
}
