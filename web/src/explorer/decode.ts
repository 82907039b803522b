import { type Abi, type AbiEvent, type Address, decodeEventLog, type Hex, toEventSelector } from "viem";
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
import type { ChainLog } from "../data/types.ts";

/** Events are decoded here, in the browser, from what the chain says: the service only relays bytes. */

const ABIS: Record<string, Abi> = {
  InferenceEscrow: inferenceEscrowAbi,
  ModelCatalog: modelCatalogAbi,
  WorkerRegistry: workerRegistryAbi,
  ProtocolTreasury: protocolTreasuryAbi,
  ArbitrationPanel: arbitrationPanelAbi,
  ProtocolGovernor: protocolGovernorAbi,
  ProtocolTimelock: protocolTimelockAbi,
  ServiceToken: serviceTokenAbi,
  Stablecoin: testStablecoinAbi,
};

export type Argument = { name: string; value: unknown };

/** An event of a transaction. `name` is null when it is none of ours; its bytes are shown then. */
export type ShownEvent = {
  index: number;
  address: Address;
  /** Contract of the deployment, or null for a stranger. */
  contract: string | null;
  name: string | null;
  args: Argument[];
  /** `job_…` if it concerns a job. */
  jobId: string | null;
  log: ChainLog;
};

const selectors = new Map<string, Map<Hex, AbiEvent>>(
  Object.entries(ABIS).map(([contract, abi]) => [
    contract,
    new Map(abi.filter((item) => item.type === "event").map((item) => [toEventSelector(item), item])),
  ]),
);

export type Names = ReadonlyMap<string, string>;

/** Lower-case address → name of the deployment's contract. */
export const namesOf = (contracts: Record<string, Address>): Names =>
  new Map(Object.entries(contracts).map(([name, address]) => [address.toLowerCase(), name]));

export function decodeLogs(logs: readonly ChainLog[], names: Names): ShownEvent[] {
  return logs.map((log) => decodeOne(log, names.get(log.address.toLowerCase()) ?? null));
}

function decodeOne(log: ChainLog, contract: string | null): ShownEvent {
  const shown = { index: log.log_index, address: log.address, contract, log, jobId: null };
  const [selector] = log.topics;
  const item = selector === undefined ? undefined : selectors.get(contract ?? "")?.get(selector);
  if (item === undefined) return { ...shown, name: null, args: [] };
  const decoded = decodeEventLog({ abi: [item], topics: log.topics as [Hex, ...Hex[]], data: log.data });
  const values = (decoded.args ?? {}) as Record<string, unknown>;
  const args = item.inputs.map(({ name = "" }) => ({ name, value: values[name] }));
  const jobId = typeof values["jobId"] === "string" ? toApiJobId(values["jobId"] as Hex) : null;
  return { ...shown, name: item.name, args, jobId };
}

/** An argument of an event by name. */
export function argument<T>(event: ShownEvent, name: string): T {
  return event.args.find((candidate) => candidate.name === name)?.value as T;
}
