import {
  type Abi,
  type AbiEvent,
  type AbiFunction,
  type AbiParameter,
  type Address,
  decodeEventLog,
  decodeFunctionData,
  getAbiItem,
  type Hex,
  isAddressEqual,
  toEventSelector,
  toFunctionSelector,
} from "viem";
import {
  arbitrationPanelAbi,
  inferenceEscrowAbi,
  modelCatalogAbi,
  protocolGovernorAbi,
  protocolTimelockAbi,
  protocolTreasuryAbi,
  serviceTokenAbi,
  testStablecoinAbi,
  workerRegistryAbi,
} from "../../../protocol/generated/abi.ts";
import { toApiJobId } from "../../../protocol/job-id.ts";
import { type FeeTerms, payouts } from "../../../protocol/pricing.ts";
import { decodeJobWord } from "../../../protocol/words.ts";
import { argumentText, argumentUnit, type Field } from "../../../verify/describe.ts";
import {
  type AnyEvent,
  type AuditAddresses,
  decodeLog,
  eventsOf,
  isEvent,
  jobOfEvent,
} from "../../../verify/events.ts";
import type { ChainJob, ChainLog, ChainTransaction } from "../../contract.ts";
import { fieldOf, inWords } from "./in-words.ts";
import { type Contracts, labelOf, type Names, namesOf, textOf } from "./labels.ts";

export { type Contracts, labelOf, type Names, namesOf } from "./labels.ts";

/** Events are decoded here, in the browser, from what the chain says: the service only relays bytes. */

/** An event of a transaction. `name` is null when it is none of ours; its bytes are shown then. */
export type ShownEvent = {
  index: number;
  address: Address;
  name: string | null;
  title: string;
  fields: Field[];
  /** `job_…` if it concerns a job. */
  jobId: string | null;
  /** As audits see it; null for strangers and for governance. */
  audited: AnyEvent | null;
  log: ChainLog;
};

/** The deployment as the audit's code names it. */
export function auditAddresses(contracts: Contracts): AuditAddresses {
  const at = (name: string): Address => contracts[name] ?? "0x";
  return {
    escrow: at("InferenceEscrow"),
    catalog: at("ModelCatalog"),
    registry: at("WorkerRegistry"),
    panel: at("ArbitrationPanel"),
    treasury: [at("ProtocolTreasury")],
    stablecoin: at("Stablecoin"),
    serviceToken: at("ServiceToken"),
  };
}

/** The fields of a transaction that its events are decoded from. */
type WithLogs = Pick<ChainTransaction, "hash" | "block_number" | "logs">;

/** The events of each transaction. What a settlement paid whom follows from its job's lock, where that is among them. */
export function decodeTransactions<T extends WithLogs>(
  transactions: readonly T[],
  contracts: Contracts,
): { transaction: T; events: ShownEvent[] }[] {
  const decoded = transactions.map((transaction) => ({ transaction, events: decodeLogs(transaction, contracts) }));
  const all = decoded.flatMap(({ events }) => events.flatMap(({ audited }) => audited ?? []));
  const locks = new Map(eventsOf(all, "escrow", "JobLocked").map(({ args }) => [args.jobId, args]));
  for (const event of decoded.flatMap(({ events }) => events)) {
    if (event.audited === null || !isEvent(event.audited, "escrow", "JobSettled")) continue;
    const { jobId, credits } = event.audited.args;
    const lock = locks.get(jobId);
    if (lock !== undefined) event.fields.push(...splitOf(credits, lock));
  }
  return decoded;
}

/** A job's transactions with its own events. */
export const decodeJob = (
  { id, transactions }: ChainJob,
  contracts: Contracts,
): ReturnType<typeof decodeTransactions<ChainTransaction>> =>
  decodeTransactions(transactions, contracts).map((one) => ({
    ...one,
    events: eventsOfJob(one.events, id, contracts),
  }));

function decodeLogs({ hash, block_number, logs }: WithLogs, contracts: Contracts): ShownEvent[] {
  const addresses = auditAddresses(contracts);
  const names = namesOf(contracts);
  return logs.map((log) => {
    const { address, topics, data, log_index: logIndex } = log;
    const shown = { index: logIndex, address, log, jobId: null, audited: null };
    const place = { blockNumber: BigInt(block_number ?? 0), transactionHash: hash, logIndex };
    const audited = decodeLog({ address, topics, data, ...place }, addresses);
    if (audited === null) return { ...shown, ...decodeGovernance(log, names) };
    const jobId = jobOfEvent(audited);
    return {
      ...shown,
      ...inWords(audited),
      name: audited.name,
      audited,
      jobId: jobId && toApiJobId(jobId),
    };
  });
}

/**
 * The events of one job out of a batch: its own, and the token transfers that follow them. If it was settled, the one
 * transfer to the treasury too, which is for all jobs of the transaction.
 */
export function eventsOfJob(events: readonly ShownEvent[], jobId: string, contracts: Contracts): ShownEvent[] {
  const settled = events.some((event) => event.jobId === jobId && event.name === "JobSettled");
  const treasury = contracts["ProtocolTreasury"] as Address;
  let inside = false;
  return events.filter(({ audited, ...event }) => {
    if (event.jobId !== null) inside = event.jobId === jobId;
    else if (event.name !== "Transfer") inside = false;
    const forAll =
      audited !== null &&
      ((isEvent(audited, "stablecoin", "Transfer") && isAddressEqual(audited.args.to, treasury)) ||
        isEvent(audited, "escrow", "PayoutDeferred"));
    if (settled && forAll) return event.jobId === null || event.jobId === jobId;
    return event.jobId === jobId || (inside && event.name === "Transfer");
  });
}

/** The charge as it was paid out, and what came back of the lock. */
function splitOf(charged: number, lock: { credits: number; job: bigint }): Field[] {
  const { workerUnits, operatorUnits, treasuryUnits } = payouts(charged, decodeJobWord(lock.job));
  return [
    fieldOf("workerUnits", "uint256", workerUnits),
    ...(operatorUnits > 0n ? [fieldOf("operatorUnits", "uint256", operatorUnits)] : []),
    fieldOf("treasuryUnits", "uint256", treasuryUnits),
    fieldOf("returned", "uint32", lock.credits - charged),
  ];
}

/** Terms of the fee of each job that is locked in these events. */
export const feesOf = (events: readonly AnyEvent[]): ReadonlyMap<Hex, FeeTerms> =>
  new Map(eventsOf(events, "escrow", "JobLocked").map(({ args }) => [args.jobId, decodeJobWord(args.job)]));

const GOVERNANCE: Record<string, Abi> = {
  ProtocolGovernor: protocolGovernorAbi,
  ProtocolTimelock: protocolTimelockAbi,
  ServiceToken: serviceTokenAbi,
};

/** Votes and their execution: no part of an audit, shown by the names of their ABI. */
function decodeGovernance(log: ChainLog, names: Names): Pick<ShownEvent, "name" | "title" | "fields"> {
  const abi = GOVERNANCE[names.get(log.address.toLowerCase()) ?? ""] ?? [];
  const item = abi.find((one): one is AbiEvent => one.type === "event" && toEventSelector(one) === log.topics[0]);
  if (item === undefined) return { name: null, title: "Event of an unknown contract", fields: [] };
  const decoded = decodeEventLog({ abi: [item], topics: log.topics as [Hex, ...Hex[]], data: log.data });
  const values = (decoded.args ?? {}) as unknown as Record<string, unknown>;
  const fields = item.inputs.map(({ name = "", type }): Field => {
    const value = values[name];
    return { name, value, unit: argumentUnit("serviceToken", type, name) ?? "text", text: String(value) };
  });
  return { name: item.name, title: labelOf(item.name).trim(), fields };
}

/** By the contract's name in the deployment file. */
const ABIS: Record<string, Abi> = {
  InferenceEscrow: inferenceEscrowAbi,
  WorkerRegistry: workerRegistryAbi,
  ArbitrationPanel: arbitrationPanelAbi,
  ModelCatalog: modelCatalogAbi,
  ProtocolTreasury: protocolTreasuryAbi,
  Stablecoin: testStablecoinAbi,
  ...GOVERNANCE,
};
/** The ABI of a contract of the deployment; empty for any other name. */
export const abiOf = (contract: string): Abi => ABIS[contract] ?? [];

const CALLS: Abi = [...inferenceEscrowAbi, ...workerRegistryAbi, ...arbitrationPanelAbi, ...modelCatalogAbi];

/** A call of one of our contracts. `items`: the calls of a batch, null where one is none of ours. */
export type Call = { name: string; fields: Field[]; jobId: string | null; items: (Call | null)[] };

/** A call of the contract with this name; null when it has no such method. */
export const decodeCallOf = (contract: string, input: Hex): Call | null =>
  decodeCall(input, ABIS[contract] ?? [], contract);

/** A call's method and arguments; null when it is none of our contracts'. */
export function decodeCall(input: Hex, abi: Abi = CALLS, contract = "InferenceEscrow"): Call | null {
  try {
    const { functionName, args = [] } = decodeFunctionData({ abi, data: input });
    const { inputs } = getAbiItem({ abi, name: input.slice(0, 10) as Hex }) as AbiFunction;
    const isBatch = input.startsWith(EXECUTE);
    const fields = isBatch ? [] : inputs.flatMap((one, index) => fieldsOf(one, args[index], contract));
    const job = fields.find(({ unit }) => unit === "job");
    return {
      name: functionName,
      fields,
      jobId: job === undefined ? null : toApiJobId(job.value as Hex),
      items: isBatch ? (args[0] as Hex[]).map((item) => decodeItem(item)) : [],
    };
  } catch {
    // Another contract's method, or data that does not fit it: shown as bytes.
    return null;
  }
}

/** A batch holds no batch: the contract refuses it, and whoever nests them must not keep a browser busy. */
const decodeItem = (item: Hex): Call | null => (item.startsWith(EXECUTE) ? null : decodeCall(item));
const EXECUTE = toFunctionSelector("execute(bytes[])");

/** An argument; a structure as the fields it holds. */
function fieldsOf({ name: declared = "", type, ...rest }: AbiParameter, value: unknown, contract: string): Field[] {
  // Solidity tells an argument from the variable that it sets by an underscore.
  const name = declared.replace(/_$/, "");
  if (type === "tuple" && "components" in rest) {
    const parts = value as Record<string, unknown>;
    return rest.components.flatMap((part) => fieldsOf(part, parts[part.name ?? ""], contract));
  }
  const unit = unitOf(contract, type, name) ?? "text";
  const isNumber = unit === "hundredths of a percent" || unit === "word";
  const text = isNumber ? argumentText(value, name, unit) : textOf(value);
  return [{ name, value, unit: unit === "packed word" ? "text" : unit, text }];
}

/** A `value` is of the token that is called; governor and timelock move the chain's currency. */
function unitOf(contract: string, type: string, name: string) {
  if (name === "value" && (contract === "ProtocolGovernor" || contract === "ProtocolTimelock")) return null;
  return argumentUnit(contract === "ServiceToken" ? "serviceToken" : "escrow", type, name);
}

/** The calls and events of a transaction that belong to one job; `jobId` is null for those that belong to none, or to all. */
export type JobGroup = {
  jobId: string | null;
  /** Items of the batch, with their place in it, and what the contract answered to one that failed alone. */
  calls: { index: number; name: string; failed: Hex | null }[];
  events: ShownEvent[];
};

/** A transaction's calls and events by job, in the order of their first appearance; what concerns no single job comes last. */
export function groupsOf(call: Call | null, events: readonly ShownEvent[], contracts: Contracts): JobGroup[] {
  const groups = new Map<string | null, JobGroup>();
  const groupOf = (jobId: string | null): JobGroup => {
    const group = groups.get(jobId) ?? { jobId, calls: [], events: [] };
    groups.set(jobId, group);
    return group;
  };
  const failures = new Map(
    events.flatMap(({ audited }): [number, Hex][] =>
      audited !== null && isEvent(audited, "escrow", "BatchItemFailed")
        ? [[Number(audited.args.index), audited.args.reason]]
        : [],
    ),
  );
  call?.items.forEach((item, index) => {
    const name = item?.name ?? "unknown call";
    groupOf(item?.jobId ?? null).calls.push({ index, name, failed: failures.get(index) ?? null });
  });
  const treasury = contracts["ProtocolTreasury"] as Address;
  let job: string | null = null;
  for (const event of events) {
    const { audited } = event;
    const isTransfer = audited !== null && isEvent(audited, "stablecoin", "Transfer");
    const isForAll = isTransfer && isAddressEqual(audited.args.to, treasury);
    // Transfers follow the event of their job; the treasury is paid once for all.
    if (!isTransfer) job = event.jobId;
    groupOf(isForAll ? null : job).events.push(event);
  }
  return [...groups.values()].toSorted((a, b) => Number(a.jobId === null) - Number(b.jobId === null));
}
