/**
 * Everything that happened to the contracts since they were created, held against what the deployment sends. Views show the present
 * state; only the history shows a call that waits in the timelock, a change that was announced, or another creation code.
 */
import {
  type Abi,
  type Address,
  decodeDeployData,
  decodeEventLog,
  decodeFunctionData,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  isAddressEqual,
  type PublicClient,
  type Transaction,
  toEventSelector,
} from "viem";
import type { Contracts, Deployment } from "../../protocol/deployment.ts";
import { LogReader } from "../../verify/chain.ts";
import type { ChainLog } from "../../verify/events.ts";
import { SPAN } from "./contracts.ts";
import type { ProtocolSettings } from "./protocol-settings.ts";
import { linked, released } from "./released.ts";

type Made = Pick<Deployment, "contracts" | "startBlock">;

/** Contracts with a state of their own. A library has none, and the token of a development chain is worth nothing. */
const STATEFUL = [
  "InferenceEscrow",
  "ModelCatalog",
  "WorkerRegistry",
  "ProtocolTreasury",
  "ArbitrationPanel",
  "ProtocolGovernor",
  "ProtocolTimelock",
  "ServiceToken",
] as const satisfies (keyof Contracts)[];
type Stateful = (typeof STATEFUL)[number];

/**
 * The events of what people do with their own money, stake, vote or job. No such event gives anybody a right over others, and a stranger
 * could cause one while a deployment still runs. Every other event has to be explained. The holders of SVC are looked at by `namedHolders`.
 */
const EVERYDAY: Partial<Record<Stateful, readonly string[]>> = {
  InferenceEscrow: [
    ...["Deposited", "Withdrawn", "OperatorChosen", "LimitsSet", "AuthorizationKeySet", "DisputeKeySet"],
    ...["PayoutClaimed", "PayoutDeferred", "ReserveChanged", "OperatorCharged", "Compensated", "BatchItemFailed"],
    ...["EarningsChanged", "EarningsWithdrawn"],
    ...["JobLocked", "JobAuthorized", "JobAcknowledged", "JobProven", "JobSettled", "JobFailed", "JobRefunded"],
    ...["JobDisputed", "DisputeJoined", "DisputeSigned", "DisputeResolved", "WorkerEquivocated"],
  ],
  WorkerRegistry: [
    ...["WorkerRegistered", "PayoutSet", "EndpointSet", "HostingSet"],
    ...["StakeAdded", "StakeWithdrawn", "UnbondingStarted", "UnbondingCancelled", "WorkerSlashed"],
  ],
  ProtocolTreasury: ["CompensationPaid"],
  ArbitrationPanel: ["Voted"],
  ProtocolGovernor: ["VoteCast", "VoteCastWithParams"],
  ServiceToken: ["Transfer", "Approval", "DelegateChanged", "DelegateVotesChanged"],
};

type HistoryEvent = {
  contract: Stateful;
  name: string;
  /** In the order of the event's declaration. */
  args: Readonly<Record<string, unknown>>;
  block: bigint;
  transaction: Hex;
};

/** The past of a deployment, as it was read from the chain. */
export type History = {
  contracts: Contracts;
  /** All events but those of every day, in the order of the chain. */
  events: readonly HistoryEvent[];
  /** Transfers and votes of SVC, in the order of the chain. */
  shares: readonly HistoryEvent[];
  /** The transaction of each contract's first event; a constructor emits one. */
  first: ReadonlyMap<Stateful, Transaction>;
};

/** Reads the history of the contracts from the block before their creation to the head. */
export async function readHistory(client: PublicClient, { contracts, startBlock }: Made): Promise<History> {
  const head = await client.getBlockNumber({ cacheTime: 0 });
  const reader = new LogReader(client, SPAN);
  const read = async (names: readonly Stateful[], wanted: (name: string, contract: Stateful) => boolean) => {
    const topics = names.flatMap((contract) =>
      eventsOf(contract)
        .filter(({ name }) => wanted(name, contract))
        .map((item) => toEventSelector(item)),
    );
    const filter = { address: names.map((name) => contracts[name]), topics: [[...new Set(topics)]] };
    return (await reader.read(filter, BigInt(startBlock), head)).map((log) => decoded(contracts, log));
  };
  const all = await read(STATEFUL, (name, contract) => EVERYDAY[contract]?.includes(name) !== true);
  const events = all.filter(({ contract, name }) => EVERYDAY[contract]?.includes(name) !== true);
  const shares = await read(["ServiceToken"], (name) => name === "Transfer" || name === "DelegateVotesChanged");

  const first = new Map<Stateful, Transaction>();
  for (const { contract, transaction: hash } of [...events, ...shares])
    if (!first.has(contract)) first.set(contract, await client.getTransaction({ hash }));
  return { contracts, events, shares, first };
}

const abiOf = (contract: Stateful): Abi => released(contract).abi as Abi;
const eventsOf = (contract: Stateful) => abiOf(contract).filter((item) => item.type === "event");

function decoded(contracts: Contracts, log: ChainLog): HistoryEvent {
  const contract = STATEFUL.find((name) => isAddressEqual(contracts[name], log.address));
  if (contract === undefined) throw new Error(`the node sent a log of ${log.address}, which is no contract asked for`);
  const topics = log.topics as [Hex, ...Hex[]];
  const { eventName, args } = decodeEventLog({ abi: abiOf(contract), topics, data: log.data });
  return {
    contract,
    name: eventName ?? "",
    args: (args ?? {}) as Record<string, unknown>,
    block: log.blockNumber,
    transaction: log.transactionHash,
  };
}

// ------------------------------------------------------------------------------------------------------------ creation

/** The creation code of a contract and what follows it; null where the first transaction of the contract created something else. */
function constructorData({ contracts, first }: History, name: Stateful): Hex | null {
  const transaction = first.get(name);
  const code = linked(released(name), contracts).creation;
  if (transaction?.to !== null || !transaction.input.toLowerCase().startsWith(code)) return null;
  const { from, nonce } = transaction;
  const created = getContractAddress({ from, nonce: BigInt(nonce) });
  return isAddressEqual(created, contracts[name]) ? transaction.input : null;
}

/** Contracts that the released creation code did not make: their storage may hold what no event tells. */
export function wrongCreations(history: History): string[] {
  return STATEFUL.filter((name) => constructorData(history, name) === null).map((name) => {
    const hash = history.first.get(name)?.hash;
    const seen = hash === undefined ? "it has no event" : `its first event is of transaction ${hash}`;
    return `the creation code of ${name} ${history.contracts[name]} is not that of contracts/release/${name}.json: ${seen}`;
  });
}

/** Constructor arguments that are not those of the settings. */
function wrongArguments(history: History, wanted: ReadonlyMap<Stateful, readonly unknown[]>): string[] {
  return STATEFUL.flatMap((name) => {
    const data = constructorData(history, name);
    const abi = abiOf(name);
    const inputs = abi.find((item) => item.type === "constructor")?.inputs ?? [];
    // A constructor that did not run is a finding of its own.
    if (data === null) return [];
    const bytecode = linked(released(name), history.contracts).creation;
    const args = decodeDeployData({ abi, bytecode, data }).args ?? [];
    return inputs.flatMap((input, i) => {
      const [is, want] = [shown(args[i]), shown(wanted.get(name)?.[i])];
      return is === want ? [] : [`${name} was created with ${input.name} ${is}, wanted ${want}`];
    });
  });
}

// -------------------------------------------------------------------------------------------------------------- events

/** The transactions that the deployment of `settings` sends: the constructors' arguments and, as calldata, each call. */
async function plan(at: Contracts, settings: ProtocolSettings) {
  // Ignition takes long to load.
  const [{ protocolModule }, ignition] = await Promise.all([
    import("./protocol-module.ts"),
    import("@nomicfoundation/ignition-core"),
  ]);
  const addressOf = (name: string): Address => at[(name === "TestStablecoin" ? "Stablecoin" : name) as keyof Contracts];
  const resolved = (value: unknown): unknown => {
    if (ignition.isFuture(value)) return addressOf((value as { contractName: string }).contractName);
    if (Array.isArray(value)) return value.map(resolved);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, resolved(one)]));
  };
  const constructors = new Map<Stateful, readonly unknown[]>();
  const calls: string[] = [];
  for (const future of protocolModule(settings).futures) {
    if (ignition.isNamedContractDeploymentFuture(future)) {
      constructors.set(future.contractName as Stateful, future.constructorArgs.map(resolved));
    } else if (ignition.isFunctionCallFuture(future) && "contract" in future) {
      const { contractName } = future.contract;
      const args = future.args.map(resolved);
      const abi = abiOf(contractName as Stateful);
      const data = encodeFunctionData({ abi, functionName: future.functionName, args });
      calls.push(`${addressOf(contractName)}${data}`.toLowerCase());
    }
  }
  return { constructors, calls };
}

/** Each event that no transaction of the deployment explains, with its values, and constructor arguments other than the settings'. */
export async function unexplained(
  client: PublicClient,
  history: History,
  settings: ProtocolSettings,
): Promise<string[]> {
  const { constructors, calls } = await plan(history.contracts, settings);
  // The events of a constructor follow from its code and its arguments.
  const explained = new Set<Hex>();
  for (const name of STATEFUL)
    if (constructorData(history, name) !== null) explained.add(history.first.get(name)?.hash as Hex);
  for (const hash of new Set(history.events.map(({ transaction }) => transaction))) {
    if (explained.has(hash)) continue;
    const { to, input } = await client.getTransaction({ hash });
    const call = calls.indexOf(`${to}${input}`.toLowerCase());
    // Each call is sent once: the same again is one too many.
    if (call < 0) continue;
    calls.splice(call, 1);
    explained.add(hash);
  }
  const others = history.events.filter(({ transaction }) => !explained.has(transaction));
  return [...wrongArguments(history, constructors), ...others.map((event) => described(event, history.contracts))];
}

function described({ contract, name, args, block }: HistoryEvent, contracts: Contracts): string {
  const target = STATEFUL.find((one) => shown(contracts[one]) === shown(args["target"]));
  const values = Object.entries(args).map(([key, value]) => {
    // A call in the timelock: who reads this should see what it does.
    const text = key === "data" && target !== undefined ? callOf(target, value as Hex) : shown(value);
    return `${key}=${text}`;
  });
  return `${contract} emitted ${name}(${values.join(", ")}) in block ${block}, which nothing in the settings explains`;
}

function callOf(contract: Stateful, data: Hex): string {
  try {
    const { functionName, args = [] } = decodeFunctionData({ abi: abiOf(contract), data });
    return `${contract}.${functionName}(${args.map(shown).join(", ")})`;
  } catch {
    // No function of the contract: the bytes themselves are all there is to show.
    return data;
  }
}

/** A value as text that does not depend on its type: addresses in lower case, numbers as digits, structs by their fields' names. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shown).join(", ")}]`;
  if (typeof value !== "object" || value === null) return String(value).toLowerCase();
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, one]) => `${key}: ${shown(one)}`).join(", ")}}`;
}

// --------------------------------------------------------------------------------------------------------------- votes

/** Hundredths of a percent of all SVC above which an account is named: a quarter of the first quorum. */
const NAMED_SHARE_BPS = 100n;

export type Holder = { account: Address; what: "of all SVC" | "of all votes"; bps: bigint };

/**
 * The accounts that hold, or vote with, more than the named share of all SVC. SVC that nobody delegated votes as soon as its holder wants.
 */
export function namedHolders({ shares }: History): Holder[] {
  const balances = new Map<Address, bigint>();
  const votes = new Map<Address, bigint>();
  const add = (account: Address, units: bigint) => balances.set(account, (balances.get(account) ?? 0n) + units);
  for (const { name, args } of shares) {
    if (name === "DelegateVotesChanged") {
      votes.set(args["delegate"] as Address, args["newVotes"] as bigint);
      continue;
    }
    add(args["from"] as Address, -(args["value"] as bigint));
    add(args["to"] as Address, args["value"] as bigint);
  }
  // The mint is the only transfer from nowhere, and nothing is burned.
  const supply = [...balances.values()].reduce((sum, units) => (units > 0n ? sum + units : sum), 0n);
  const named = (held: Map<Address, bigint>, what: Holder["what"]): Holder[] =>
    [...held]
      .filter(([, units]) => units * 10_000n > supply * NAMED_SHARE_BPS)
      .map(([account, units]) => ({ account, what, bps: (units * 10_000n) / supply }));
  return [...named(balances, "of all SVC"), ...named(votes, "of all votes")];
}

export const holderLine = ({ account, what, bps }: Holder): string =>
  `${account} has ${bps / 100n}.${String(bps % 100n).padStart(2, "0")} % ${what}`;
