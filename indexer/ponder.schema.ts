/**
 * Tables of the index. Keys are values as the events carry them (job ids as bytes16, not `job_…`): only then can Ponder
 * predict which rows a block needs and read them in one query. Credits and tokens are 32- or 40-bit numbers, times Unix
 * seconds, `position` = block × 1e6 + log index, stakes millionths of an SVC.
 *
 * Few tables on purpose: each costs every block one more query (Ponder's reorganisation log).
 */
import { onchainTable, primaryKey } from "ponder";
import type { FailureReasonName, JobState, RulingName } from "../protocol/job-status.ts";
import type { Tier } from "../protocol/tiers.ts";

export const job = onchainTable("job", (t) => ({
  id: t.hex().primaryKey(),
  wallet: t.hex().notNull(),
  /** Public model id. */
  model: t.text().notNull(),
  modelNumber: t.integer().notNull(),
  tier: t.text().$type<Tier>().notNull(),
  status: t.text().$type<JobState>().notNull(),
  /** Id of the operator that locked it and may end it. */
  operator: t.integer().notNull(),
  /** The key that signed for the job, and the SHA-256 of the request it signed; null for a wallet without such a key. */
  authorizationKey: t.hex(),
  requestHash: t.hex(),
  creditsLocked: t.int8({ mode: "number" }).notNull(),
  /** 0 until settled. */
  creditsCharged: t.int8({ mode: "number" }).notNull(),
  creditsReturned: t.int8({ mode: "number" }).notNull(),
  creditsPerRequest: t.integer().notNull(),
  creditsPerThousandTokens: t.integer().notNull(),
  feeBps: t.integer().notNull(),
  /** The operator's share of the fee, twentieths. */
  operatorShare: t.integer().notNull(),
  worker: t.hex(),
  attempt: t.integer().notNull(),
  /** Block time of the lock. */
  createdAt: t.int8({ mode: "number" }).notNull(),
  /** Block time of the acknowledgement; for a job settled from pending, of the settlement, which assigned its worker. */
  acknowledgedAt: t.int8({ mode: "number" }),
  /** Time of the final token as the worker signed it. */
  answeredAt: t.int8({ mode: "number" }),
  provenAt: t.int8({ mode: "number" }),
  finalizeFrom: t.int8({ mode: "number" }),
  /** Block time of the settlement; null for any other end. */
  completedAt: t.int8({ mode: "number" }),
  /** Block time of settlement, failure or refund; of the refund when a settled job is refunded later. */
  endedAt: t.int8({ mode: "number" }),
  escrowTx: t.hex().notNull(),
  acknowledgeTx: t.hex(),
  proofTx: t.hex(),
  settlementTx: t.hex(),
  /** Transaction that gave the escrow back, or ended a dispute in a refund. */
  returnTx: t.hex(),
  lockBlock: t.int8({ mode: "number" }).notNull(),
  settlementBlock: t.int8({ mode: "number" }),
  proofHash: t.hex(),
  promptTokens: t.int8({ mode: "number" }),
  /** By the worker's count: of the answer's text, and of the reasoning that came with it. */
  completionTokens: t.int8({ mode: "number" }),
  reasoningTokens: t.int8({ mode: "number" }),
  /** Length of the text in UTF-8, as the worker signed it. */
  textBytes: t.int8({ mode: "number" }),
  billedTokens: t.int8({ mode: "number" }),
  workerUnits: t.int8({ mode: "number" }),
  /** The whole fee, and what its operator earns of it: 0 while a dispute holds that, and after the fee was given back. */
  feeUnits: t.int8({ mode: "number" }),
  operatorUnits: t.int8({ mode: "number" }),
  disputedAt: t.int8({ mode: "number" }),
  disputeTx: t.hex(),
  /** Its worker was shown to have signed two answers for it. */
  equivocated: t.boolean().notNull(),
  /** The worker equivocated after the charge: the wallet may dispute without a bond before this time. */
  disputeBefore: t.int8({ mode: "number" }),
  /** Whole credits of the charge that operator and treasury gave back to the wallet. */
  creditsCompensated: t.int8({ mode: "number" }).notNull(),
  /** Credits that the operator's reserve paid for the job, to the wallet or to the worker. */
  operatorPaid: t.int8({ mode: "number" }).notNull(),
  /** Token units that the treasury was charged for the job, has paid and still owes: granted = paid + owes. */
  treasuryGranted: t.bigint().notNull(),
  treasuryPaid: t.bigint().notNull(),
  treasuryOwes: t.bigint().notNull(),
  /** Token units of the charge that the wallet has got back from operator and treasury, fractions of a credit included; and that it still gets. */
  compensationPaid: t.int8({ mode: "number" }).notNull(),
  compensationOwed: t.int8({ mode: "number" }).notNull(),
  /** Compensations so far: numbers them in event keys. */
  compensations: t.integer().notNull(),
  /** Payouts the token refused, so far: numbers them in event keys. */
  deferredPayouts: t.integer().notNull(),
  failureReason: t.text().$type<FailureReasonName>(),
}));

/** An arbiter's vote now, and how many this arbiter cast so far: a later one replaces an earlier one. */
export type Ballot = { ruling: Exclude<RulingName, "expired">; votes: number };

/**
 * The last dispute of a job, as the contract keeps it: an equivocation after the charge lets the wallet open a second one. The job's own
 * row says what state it has after it.
 */
export const dispute = onchainTable("dispute", (t) => ({
  jobId: t.hex().primaryKey(),
  wallet: t.hex().notNull(),
  worker: t.hex().notNull(),
  /** SHA-256 of what the client says it received; 32 zero bytes for "nothing". */
  receivedHash: t.hex().notNull(),
  workerHash: t.hex().notNull(),
  /** 1; 2 for the one that follows an equivocation after the first. Numbers them in event keys. */
  number: t.integer().notNull(),
  /** Opened by the job's operator; otherwise by the wallet itself. */
  byOperator: t.boolean().notNull(),
  /** The wallet's dispute key, if it signed for the opening, or for the join of its operator's dispute. */
  signedBy: t.hex(),
  /** Opened before the charge, while the escrow still held the money. */
  fromProven: t.boolean().notNull(),
  /** Opened by the wallet because its worker had equivocated, without a bond. */
  afterEquivocation: t.boolean().notNull(),
  /** The wallet's own hash, added to its operator's dispute; null while it has not joined. */
  joinedHash: t.hex(),
  joinedAt: t.int8({ mode: "number" }),
  /** Charge in dispute. */
  credits: t.int8({ mode: "number" }).notNull(),
  /** Credits put up: by the wallet, or from the operator's reserve for a proven job. */
  bond: t.int8({ mode: "number" }).notNull(),
  arbiterSet: t.int8({ mode: "number" }).notNull(),
  votesWorkerAtFault: t.integer().notNull(),
  votesGatewayAtFault: t.integer().notNull(),
  votesRejected: t.integer().notNull(),
  /** Arbiter → vote. */
  ballots: t.jsonb().$type<Record<string, Ballot>>().notNull(),
  openedAt: t.int8({ mode: "number" }).notNull(),
  openedTx: t.hex().notNull(),
  /** No ruling takes effect before; until then the wallet may join its operator's dispute. A join moves it to its own time. */
  ruleFrom: t.int8({ mode: "number" }).notNull(),
  /** A ruling must be mined before this time; from then on anyone can let it expire. */
  ruleBefore: t.int8({ mode: "number" }).notNull(),
  /** Null while arbitration is pending. */
  ruling: t.text().$type<RulingName>(),
  resolvedAt: t.int8({ mode: "number" }),
  resolvedTx: t.hex(),
  /** Credits that left escrow for the wallet when it ended: escrow of an uncharged job, and the wallet's bond. */
  creditsReturned: t.int8({ mode: "number" }).notNull(),
  position: t.int8({ mode: "number" }).notNull(),
}));

/** Stakes taken, at most one a job. */
export const slash = onchainTable("slash", (t) => ({
  jobId: t.hex().primaryKey(),
  worker: t.hex().notNull(),
  /** Millionths of an SVC; 0 when nothing was left to take. */
  amount: t.int8({ mode: "bigint" }).notNull(),
  /** Stake left, millionths of an SVC. */
  stake: t.int8({ mode: "bigint" }).notNull(),
  reason: t.text().$type<"fraudulent_proof" | "equivocation">().notNull(),
  position: t.int8({ mode: "number" }).notNull(),
  blockTime: t.int8({ mode: "number" }).notNull(),
  txHash: t.hex().notNull(),
}));

/**
 * Everything that happened, append-only; webhooks derive from it. `key` survives reorganisations and re-indexing: it is
 * made of what the event says about itself (src/record.ts), never of where it was mined.
 */
export const protocolEvent = onchainTable("protocol_event", (t) => ({
  key: t.text().primaryKey(),
  /** `job.settled`, `account.deposited`, …; the part before the point says what `subject` is. */
  kind: t.text().notNull(),
  /** Job id (bytes16), wallet, worker, operator or model number, payee or contract name. */
  subject: t.text().notNull(),
  /** Whose account it concerns, for job and account events. */
  wallet: t.hex(),
  jobId: t.hex(),
  worker: t.hex(),
  blockNumber: t.int8({ mode: "number" }).notNull(),
  position: t.int8({ mode: "number" }).notNull(),
  blockTime: t.int8({ mode: "number" }).notNull(),
  txHash: t.hex().notNull(),
  data: t.jsonb().$type<Record<string, unknown>>().notNull(),
}));

export const account = onchainTable("account", (t) => ({
  wallet: t.hex().primaryKey(),
  /** Id on chain. */
  number: t.int8({ mode: "number" }).notNull(),
  free: t.int8({ mode: "number" }).notNull(),
  escrowed: t.int8({ mode: "number" }).notNull(),
  /** Number of its last non-job event. */
  sequence: t.int8({ mode: "number" }).notNull(),
  deposited: t.int8({ mode: "number" }).notNull(),
  withdrawn: t.int8({ mode: "number" }).notNull(),
  charged: t.int8({ mode: "number" }).notNull(),
  /** Credits that operators and the treasury gave back: free + escrowed = deposited + compensated − withdrawn − charged − forfeited. */
  compensated: t.int8({ mode: "number" }).notNull(),
  /** Bonds of its own disputes that were rejected. */
  forfeited: t.int8({ mode: "number" }).notNull(),
  /** Id of the one operator that may lock its credits; null for none. */
  operator: t.integer(),
  /** Each lock needs this key's signature; null for none. */
  authorizationKey: t.hex(),
  /** May dispute for it by signature; null for none. */
  disputeKey: t.hex(),
  /** Credits a UTC day that the operator may lock; null without a limit. */
  dailyLimit: t.int8({ mode: "number" }),
  /** All locks are refused. */
  frozen: t.boolean().notNull(),
  /** Disputes ever opened of its jobs. */
  disputes: t.integer().notNull(),
  /** Those of settled jobs that the operator opened and nobody ended: the contract allows eight. */
  openDisputes: t.integer().notNull(),
  firstTopupAt: t.int8({ mode: "number" }).notNull(),
  lastTopupAt: t.int8({ mode: "number" }).notNull(),
  lastTopupTx: t.hex().notNull(),
}));

/** Payouts that the token refused, and their later claims. */
export const payout = onchainTable("payout", (t) => ({
  /** Key of its protocol_event. */
  key: t.text().primaryKey(),
  kind: t.text().$type<"deferred" | "claimed">().notNull(),
  payee: t.hex().notNull(),
  /** The address that got a claim: the payee, or one that the payee named. Null while deferred. */
  receiver: t.hex(),
  units: t.bigint().notNull(),
  /** The job that owed it; null for the treasury's share of a batch, and for a claim, which pays all that waits. */
  jobId: t.hex(),
  position: t.int8({ mode: "number" }).notNull(),
  blockTime: t.int8({ mode: "number" }).notNull(),
  txHash: t.hex().notNull(),
}));

export const model = onchainTable("model", (t) => ({
  number: t.integer().primaryKey(),
  /** Public model id. */
  id: t.text().notNull(),
  parameters: t.text().notNull(),
  ownedBy: t.text().notNull(),
  tier: t.text().$type<Tier>().notNull(),
  contextWindow: t.int8({ mode: "number" }).notNull(),
  creditsPerRequest: t.integer().notNull(),
  creditsPerThousandTokens: t.integer().notNull(),
  /** Announced prices; in force, and then the prices, from `pricesChangeAt` on. */
  nextCreditsPerRequest: t.integer(),
  nextCreditsPerThousandTokens: t.integer(),
  pricesChangeAt: t.int8({ mode: "number" }),
  createdAt: t.int8({ mode: "number" }).notNull(),
  retiresAt: t.int8({ mode: "number" }),
  sequence: t.int8({ mode: "number" }).notNull(),
}));

export const worker = onchainTable("worker", (t) => ({
  signer: t.hex().primaryKey(),
  /** Id on chain. */
  number: t.int8({ mode: "number" }).notNull(),
  owner: t.hex().notNull(),
  payout: t.hex().notNull(),
  endpoint: t.text().notNull(),
  /** Millionths of an SVC. */
  stake: t.int8({ mode: "bigint" }).notNull(),
  /** Null: bonded. */
  unbondsAt: t.int8({ mode: "number" }),
  registeredAt: t.int8({ mode: "number" }).notNull(),
  registeredTx: t.hex().notNull(),
  sequence: t.int8({ mode: "number" }).notNull(),
}));

/** A row for each model that a worker hosts now. The registry does not ask the catalog: a model may be unknown there. */
export const hosting = onchainTable(
  "hosting",
  (t) => ({ worker: t.hex().notNull(), model: t.integer().notNull() }),
  (table) => ({
    pk: primaryKey({ columns: [table.worker, table.model] }),
  }),
);

/** A key that signs and sends for an operator; `removedAt` is null while it is in office. */
export type OperatorSigner = { signer: `0x${string}`; addedAt: number; removedAt: number | null };

/** Whom wallets choose to run their jobs. */
export const operator = onchainTable("operator", (t) => ({
  /** Id on chain. */
  number: t.integer().primaryKey(),
  admin: t.hex().notNull(),
  /** May lock no new job. */
  stopped: t.boolean().notNull(),
  /** Credits at hand, which pay for its faults and back its disputes. */
  reserve: t.int8({ mode: "number" }).notNull(),
  /** Credits that are bonds of its open disputes. */
  held: t.int8({ mode: "number" }).notNull(),
  /** Credits of the announced withdrawal, due from `leavesAt` on; null: none is announced. */
  leaving: t.int8({ mode: "number" }),
  leavesAt: t.int8({ mode: "number" }),
  /** All its keys ever, in the order in which they were first added. */
  signers: t.jsonb().$type<readonly OperatorSigner[]>().notNull(),
  admittedAt: t.int8({ mode: "number" }).notNull(),
  /** Number of its last own event. */
  sequence: t.int8({ mode: "number" }).notNull(),
}));

/** Earnings of operators by jobs locked on a UTC day, as long as they are not withdrawn. */
export const earnings = onchainTable(
  "earnings",
  (t) => ({
    operator: t.integer().notNull(),
    /** Days since 1970-01-01. */
    day: t.integer().notNull(),
    /** Token units. */
    units: t.bigint().notNull(),
  }),
  (table) => ({
    pk: primaryKey({ columns: [table.operator, table.day] }),
  }),
);

/** One row, id 1: what governance decided. */
export const protocolConfig = onchainTable("protocol_config", (t) => ({
  id: t.integer().primaryKey(),
  feeBps: t.integer(),
  /** The operators' share of the fee, twentieths. */
  operatorShare: t.integer(),
  /** Announced fee and share; in force from `feeChangesAt` on. */
  nextFeeBps: t.integer(),
  nextOperatorShare: t.integer(),
  feeChangesAt: t.int8({ mode: "number" }),
  treasury: t.hex(),
  guardian: t.hex(),
  /** Deposits and locks are refused while either is set. */
  pausedByGuardian: t.boolean().notNull(),
  pausedByGovernance: t.boolean().notNull(),
  /** Credits that the treasury can be charged on a UTC day; a quarter of it for one operator's jobs. */
  compensationCap: t.int8({ mode: "number" }),
  /** Millionths of an SVC, in force before `stakeTermsChangeAt`. */
  minimumStake: t.int8({ mode: "bigint" }),
  /** The stake that a slash takes, millionths of an SVC. */
  slashAmount: t.int8({ mode: "bigint" }),
  /** Announced; in force from `stakeTermsChangeAt` on. */
  nextMinimumStake: t.int8({ mode: "bigint" }),
  nextSlashAmount: t.int8({ mode: "bigint" }),
  stakeTermsChangeAt: t.int8({ mode: "number" }),
  /** The arbiters of disputes opened now. */
  arbiterSet: t.int8({ mode: "number" }),
  arbiters: t.jsonb().$type<readonly `0x${string}`[]>(),
  arbiterQuorum: t.integer(),
  /** The escrow that the worker registry obeys. */
  registryEscrow: t.hex(),
  /** Contract name → owner. */
  owners: t.jsonb().$type<Record<string, `0x${string}`>>().notNull(),
  /** Contract name → number of its ownership changes: numbers them in event keys, the event itself has no number. */
  ownerChanges: t.jsonb().$type<Record<string, number>>().notNull(),
  /** Times that the token refused the treasury's share of a batch: numbers them in event keys. */
  feesDeferred: t.integer().notNull(),
}));

/** Items of a batch that reverted: a diagnosis of operators, part of no balance, so it may be keyed by its transaction. */
export const batchItemFailure = onchainTable(
  "batch_item_failure",
  (t) => ({
    txHash: t.hex().notNull(),
    item: t.integer().notNull(),
    sender: t.hex().notNull(),
    selector: t.hex().notNull(),
    /** Name of the function the item called, if it is one of the escrow. */
    call: t.text(),
    /** Name of the custom error, if it is one of ours. */
    error: t.text(),
    reason: t.hex().notNull(),
    position: t.int8({ mode: "number" }).notNull(),
    blockTime: t.int8({ mode: "number" }).notNull(),
  }),
  (table) => ({
    pk: primaryKey({ columns: [table.txHash, table.item] }),
  }),
);
