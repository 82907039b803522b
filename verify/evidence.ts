/** The evidence for an audit of a job, or of a range of blocks. `Reader` gathers it from a node; any other reader of the chain can. */
import type { Address, ContractFunctionReturnType, Hex } from "viem";
import type { inferenceEscrowAbi } from "../protocol/generated/abi.ts";
import type { AccountWord } from "../protocol/words.ts";
import type { AuditTransaction } from "./calls.ts";
import type { AnyEvent, AuditAddresses } from "./events.ts";

/** Seconds; immutable. */
type AuditWindows = ContractFunctionReturnType<typeof inferenceEscrowAbi, "view", "windows">;

/** Events that decide what is in force. With those of the workers concerned they are the configuration. */
export const CONFIGURATION_EVENTS = {
  escrow: [
    "FeeScheduled",
    "TreasurySet",
    "GuardianSet",
    "PausedSet",
    "CompensationCapSet",
    "OperatorAdmitted",
    "OperatorStopped",
    "OperatorAdminSet",
    "SignerAdded",
    "SignerRemoved",
    "ReserveChanged",
    "ReserveLeaving",
    "EarningsChanged",
    "EarningsWithdrawn",
  ],
  panel: ["ArbitersSet"],
  catalog: ["ModelListed", "PricesScheduled", "RetirementScheduled"],
  registry: ["StakeTermsScheduled", "SvcWorthScheduled"],
} as const;

export type JobEvidence = {
  jobId: Hex;
  chainId: number;
  addresses: AuditAddresses;
  windows: AuditWindows;
  /** Most credits that are put up for a dispute, and that an operator can lose for a proven job (`DISPUTE_BOND`). */
  disputeBond: number;
  /** All logs of the protocol and of both tokens in every transaction that concerns the job. */
  events: readonly AnyEvent[];
  /** Those transactions. */
  transactions: ReadonlyMap<Hex, AuditTransaction>;
  /** CONFIGURATION_EVENTS, and all events of the registry about the job's workers, from the deployment to the job's last event. */
  configuration: readonly AnyEvent[];
  /**
   * Events of the job's wallet up to the job's last event: ACCOUNT_EVENTS since its first deposit; JOB_BALANCE_EVENTS from its last
   * JobLocked or JobSettled before the job's lock, from the beginning if there is none.
   */
  walletHistory: readonly AnyEvent[];
  /**
   * The events of other jobs that these depend on: JobLocked of every job in `walletHistory` and of every JobSettled in `events`;
   * JobDisputed of every DisputeResolved in `walletHistory`; all logs of the transactions of its Compensated and OperatorCharged; and every
   * Compensated of the UTC days on which the job was compensated, each with its job's JobLocked.
   */
  related: readonly AnyEvent[];
  /** Block time of every block with an event above; of the configuration, of the events whose time decides something (`TIMED` in reader.ts). */
  timeOf: (block: bigint) => number;
  /** The job as the escrow has it stored now. */
  stored: { status: number; credits: number; worker: Address | null; operator: number };
  /** `proofOf` now; null for a job without JobProven. */
  storedProof: { digest: Hex; credits: number } | null;
  /** Text whose hash is to be the proof; null without one. */
  text: Uint8Array | null;
};

/** The escrow's liabilities and holdings at a block. `claimableUnits`: deferred payouts, and earnings of operators. */
export type Ledger = { credits: bigint; claimableUnits: bigint; tokenUnits: bigint };

/** The evidence for the audit of a range, of some of its blocks. */
export type BlocksEvidence = {
  from: bigint;
  to: bigint;
  escrow: Address;
  /** All events of the escrow in the range, and all transfers of the stablecoin from or to it. */
  events: readonly AnyEvent[];
  /** Earlier events of the jobs that these blocks continue, but of those that the audit itself still has open. */
  earlier: readonly AnyEvent[];
  /** As of a job (`JobEvidence`), up to the end of the range. */
  configuration: readonly AnyEvent[];
  /** Account of a wallet before the range (`accountOf`). */
  openingOf: (wallet: Address) => AccountWord;
  /** Block time of every block with a Compensated event in the range. */
  timeOf: (block: bigint) => number;
};
