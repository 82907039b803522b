/**
 * Everything that a chain of the protocol holds, and the part of it that an audit of a job, or of the whole chain,
 * reads.
 */
import { type Address, erc20Abi, type Hex, isAddressEqual, zeroAddress } from "viem";
import { inferenceEscrowAbi } from "../../../../protocol/generated/abi.ts";
import {
  ACCOUNT_EVENTS,
  dayOf,
  isBalanceEvent,
  JOB_BALANCE_EVENTS,
  NO_ACCOUNT,
  statedAccount,
  walletOf,
} from "../../../../verify/accounts.ts";
import type { AuditTransaction } from "../../../../verify/calls.ts";
import {
  type AnyEvent,
  type AuditAddresses,
  decodeLogs,
  eventsOf,
  isBefore,
  isEvent,
  jobOfEvent,
} from "../../../../verify/events.ts";
import {
  type BlocksEvidence,
  CONFIGURATION_EVENTS,
  type JobEvidence,
  type Ledger,
} from "../../../../verify/evidence.ts";
import type { World } from "../../../indexer/support/world.ts";

type Stored = Pick<JobEvidence, "stored" | "storedProof">;

export type ChainLog = {
  chainId: number;
  addresses: AuditAddresses;
  windows: JobEvidence["windows"];
  /** All events of the protocol's contracts and both tokens, in order. */
  all: readonly AnyEvent[];
  transactions: ReadonlyMap<Hex, AuditTransaction>;
  times: ReadonlyMap<bigint, number>;
  stored: ReadonlyMap<Hex, Stored>;
  closing: Ledger;
};

export async function readChain(world: World): Promise<ChainLog> {
  const { reader, deployment } = world;
  const { contracts, chainId } = deployment;
  const escrow = { address: contracts.InferenceEscrow, abi: inferenceEscrowAbi } as const;
  const addresses: AuditAddresses = {
    escrow: contracts.InferenceEscrow,
    catalog: contracts.ModelCatalog,
    registry: contracts.WorkerRegistry,
    panel: contracts.ArbitrationPanel,
    stablecoin: contracts.Stablecoin,
    serviceToken: contracts.ServiceToken,
    treasury: [contracts.ProtocolTreasury],
  };
  const all = decodeLogs(await reader.getLogs({ address: Object.values(addresses).flat(), fromBlock: 0n }), addresses);
  const transactions = new Map<Hex, AuditTransaction>();
  const times = new Map<bigint, number>();
  for (const { tx, block } of all) {
    if (transactions.has(tx)) continue;
    const { from, to, input } = await reader.getTransaction({ hash: tx });
    transactions.set(tx, { hash: tx, from, to, input, block });
    if (!times.has(block)) times.set(block, Number((await reader.getBlock({ blockNumber: block })).timestamp));
  }
  const stored = new Map<Hex, Stored>();
  for (const { args } of eventsOf(all, "escrow", "JobLocked")) {
    const id = { ...escrow, args: [args.jobId] } as const;
    const job = await reader.readContract({ ...id, functionName: "jobOf" });
    const [digest, credits] = await reader.readContract({ ...id, functionName: "proofOf" });
    const worker = await world.read<Address>("WorkerRegistry", "signerOf", job.worker);
    stored.set(args.jobId, {
      stored: { ...job, worker: isAddressEqual(worker, zeroAddress) ? null : worker },
      storedProof: credits === 0 ? null : { digest, credits },
    });
  }
  const [owed, claimableUnits] = await reader.readContract({ ...escrow, functionName: "liabilities" });
  const held = { address: contracts.Stablecoin, abi: erc20Abi, functionName: "balanceOf" } as const;
  const tokenUnits = await reader.readContract({ ...held, args: [contracts.InferenceEscrow] });
  const windows = await reader.readContract({ ...escrow, functionName: "windows" });
  const closing = { credits: owed, claimableUnits, tokenUnits };
  return { chainId, addresses, windows, all, transactions, times, stored, closing };
}

/** Events that decide what is in force. */
export const isConfiguration = (event: AnyEvent): boolean =>
  (["catalog", "registry"] as string[]).includes(event.contract) ||
  isEvent(event, "escrow", ...CONFIGURATION_EVENTS.escrow) ||
  isEvent(event, "panel", ...CONFIGURATION_EVENTS.panel);

/** What an audit of one job is given. `all`: the log, or one in which somebody lies. */
export function jobEvidence(chain: ChainLog, jobId: Hex, all: readonly AnyEvent[] = chain.all): JobEvidence {
  const { chainId, addresses, windows, transactions, times } = chain;
  const timeOf = (block: bigint): number => times.get(block) ?? Number.NaN;
  const own = all.filter((event) => jobOfEvent(event) === jobId);
  const hashes = new Set(own.map(({ tx }) => tx));
  const events = all.filter(({ tx }) => hashes.has(tx));
  const [locked] = eventsOf(own, "escrow", "JobLocked");
  const last = own.at(-1);
  if (locked === undefined || last === undefined) throw new Error(`${jobId} has no lock`);

  const wallet = locked.args.wallet.toLowerCase();
  const history = all
    .filter(isBalanceEvent)
    .filter((event) => walletOf(event).toLowerCase() === wallet && !isBefore(last, event)) as AnyEvent[];
  const base = history.findLast((event) => isBefore(event, locked) && statedAccount(event) !== null);
  const walletHistory = history.filter(
    (event) =>
      isEvent(event, "escrow", ...ACCOUNT_EVENTS) ||
      (isEvent(event, "escrow", ...JOB_BALANCE_EVENTS) && (base === undefined || !isBefore(event, base))),
  );
  const days = new Set(eventsOf(own, "escrow", "Compensated").map(({ block }) => dayOf(timeOf(block))));
  const compensated = eventsOf(all, "escrow", "Compensated").filter(({ block }) => days.has(dayOf(timeOf(block))));
  const jobs = new Set(
    [...walletHistory, ...eventsOf(events, "escrow", "JobSettled"), ...compensated].map((event) =>
      jobOfEvent(event as AnyEvent),
    ),
  );
  const paid = new Set(eventsOf(walletHistory, "escrow", "Compensated", "OperatorCharged").map(({ tx }) => tx));
  const related = all.filter(
    (event) =>
      paid.has(event.tx) ||
      (isEvent(event, "escrow", "JobLocked", "JobDisputed") && jobs.has(jobOfEvent(event))) ||
      (compensated as unknown as AnyEvent[]).includes(event),
  );
  const stored = chain.stored.get(jobId);
  if (stored === undefined) throw new Error(`${jobId} is not stored`);
  return {
    jobId,
    chainId,
    addresses,
    windows,
    disputeBond: 100,
    events,
    transactions: new Map([...transactions].filter(([hash]) => hashes.has(hash))),
    configuration: all.filter((event) => isConfiguration(event) && !isBefore(last, event)),
    walletHistory,
    related,
    timeOf,
    ...stored,
    text: null,
  };
}

/** What an audit of the whole chain is given. */
export function rangeEvidence(
  chain: ChainLog,
  all: readonly AnyEvent[] = chain.all,
): BlocksEvidence & { opening: Ledger; closing: Ledger } {
  const { escrow } = chain.addresses;
  const ofEscrow = (event: AnyEvent) =>
    event.contract === "escrow" ||
    (isEvent(event, "stablecoin", "Transfer") &&
      [event.args.from, event.args.to].some((one) => isAddressEqual(one, escrow)));
  return {
    from: 0n,
    to: all.at(-1)?.block ?? 0n,
    escrow,
    events: all.filter(ofEscrow),
    earlier: [],
    configuration: all.filter(isConfiguration),
    opening: { credits: 0n, claimableUnits: 0n, tokenUnits: 0n },
    closing: chain.closing,
    openingOf: () => NO_ACCOUNT,
    timeOf: (block) => chain.times.get(block) ?? Number.NaN,
  };
}
