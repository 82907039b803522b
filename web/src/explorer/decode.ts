import { type Abi, type AbiEvent, type Address, decodeEventLog, type Hex, toEventSelector } from "viem";
import { argumentUnit, describeEvent, type Field } from "../../../protocol/audit/describe.ts";
import { type AnyEvent, type AuditAddresses, decodeLog, jobOfEvent } from "../../../protocol/audit/event-log.ts";
import { protocolGovernorAbi, protocolTimelockAbi, serviceTokenAbi } from "../../../protocol/generated/abi.ts";
import { toApiJobId } from "../../../protocol/job-id.ts";
import type { ChainLog, ChainTransaction } from "../data/types.ts";

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

/** Contracts of the deployment, by their name in the deployment file. */
export type Contracts = Record<string, Address>;
/** Lower-case address → name of the deployment's contract. */
export type Names = ReadonlyMap<string, string>;

export const namesOf = (contracts: Contracts): Names =>
  new Map(Object.entries(contracts).map(([name, address]) => [address.toLowerCase(), name]));

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

export function decodeTransaction({ hash, block_number, logs }: ChainTransaction, contracts: Contracts): ShownEvent[] {
  const addresses = auditAddresses(contracts);
  const names = namesOf(contracts);
  return logs.map((log) => {
    const { address, topics, data, log_index: logIndex } = log;
    const shown = { index: logIndex, address, log, jobId: null, audited: null };
    const place = { blockNumber: BigInt(block_number ?? 0), transactionHash: hash, logIndex };
    const audited = decodeLog({ address, topics, data, ...place }, addresses);
    if (audited === null) return { ...shown, ...decodeGovernance(log, names) };
    const jobId = jobOfEvent(audited);
    const described = describeEvent(audited);
    return { ...shown, ...described, name: audited.name, audited, jobId: jobId && toApiJobId(jobId) };
  });
}

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

/** How a parameter reads where its Solidity name says too little; others are split at their capitals. */
const LABELS: Record<string, string> = {
  jobId: "job",
  creditsPerRequest: "price per request",
  creditsPer1kTokens: "price per 1,000 tokens",
  feeBps: "protocol fee",
  free: "free balance after",
  escrowed: "in escrow after",
  workerUnits: "to the worker",
  feeUnits: "to the treasury",
  proofHash: "proof (SHA-256 of the answer)",
  receivedHash: "hash the client received",
  workerHash: "hash the worker signed",
  billedTokens: "billed output tokens",
  completionTokens: "output tokens",
  returned: "credits returned",
  ruleBefore: "to be ruled before",
  byGateway: "opened by the gateway",
  sequence: "event number",
};

export const labelOf = (name: string): string =>
  LABELS[name] ?? name.replace(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`);
