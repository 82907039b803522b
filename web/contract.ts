/**
 * The contract between the server and the pages of the application: the shapes of the answers below /app/api. The server in `web/server/`
 * is compiled against them. Times are ISO 8601, credits whole, unless it says otherwise.
 */
import type { Address, Hex } from "viem";
import type { Counting } from "../protocol/dispatch.ts";
import type { FailureReasonName, JobState, RulingName } from "../protocol/job-status.ts";
import type { Tier } from "../protocol/tiers.ts";

export type AppConfig = {
  chain_id: number;
  chain_name: string;
  currency: string;
  rpc_url: string | null;
  explorer_url: string | null;
  base_url: string;
  docs_url: string;
  origin: string;
  contracts: Record<string, Address>;
  /** First block that can hold an event of the contracts. */
  start_block: number;
  /** Id of the operator that runs this service. */
  operator: number;
  minimum_deposit: number;
  /** Every event that a webhook can name, and when it happens. */
  webhook_events: { name: string; meaning: string }[];
  /** Seconds from the answer's end in which the service opens a dispute, and from the settlement in which the wallet can. */
  dispute_seconds: number;
  wallet_dispute_seconds: number;
  development: boolean;
};

type SessionInfo = { wallet: Address; expires_at: string };

/** `ended`: there was one, and its time is over. */
export type SessionState = { session: SessionInfo | null; ended: boolean };

export type AccountInfo = {
  wallet: Address;
  free: number;
  escrowed: number;
  /** The part of `escrowed` that the bonds of open disputes hold; null while the service cannot tell. */
  in_bonds: number | null;
  usdg_value: number;
  has_account: boolean;
  frozen: boolean;
  daily_limit: number | null;
  spent_today: number;
  /** The operator that may lock its credits. */
  operator: number | null;
  /** The key that must sign each of its jobs. */
  authorization_key: Address | null;
  /** The key that may dispute for it, how many disputes its dispute keys have open, and the most that they may have open at a time. */
  dispute_key: { address: Address; open: number; most_open: number } | null;
  /** Stablecoin units that wait for it. */
  claimable_units: string;
};

export type KeyInfo = {
  /** `last_used_at`: to the minute. */
  key: { hint: string; created_at: string; last_used_at: string | null; suspended: boolean } | null;
};

/** Times that charts show. */
export type Range = "24h" | "7d" | "30d";
export type UsageRange = Range | "12m";

/** `uncharged`: of these jobs, those that failed or were refunded. */
export type Used = {
  jobs: number;
  uncharged: number;
  credits: number;
  tokens: number;
  /** In how many seconds half and 95 % of the answered jobs had their answer, from the lock on; null without one. */
  answer_seconds: { median: number; p95: number } | null;
};

type ModelUsed = Used & { model: string };

/** An hour of the last 24, a UTC day or a month; `from` is its begin. */
type UsageSpan = Used & { from: string; by_model: ModelUsed[] };

/** By time, oldest first, and by model, the dearest first. */
export type Usage = { data: UsageSpan[]; models: ModelUsed[] };

/**
 * The changes of a balance by cause: credits of deposits, charges and so on, and how many jobs were charged. Refunds: credits that operator
 * and treasury gave back.
 */
export type StatementSums = {
  deposits: number;
  refunds: number;
  charges: number;
  withdrawals: number;
  forfeited_bonds: number;
  jobs: number;
};

/**
 * A month (UTC) of a wallet, by when things happened on the chain. Credits, spendable and escrowed ones together:
 * `opening + deposits + refunds − charges − withdrawals − forfeited_bonds = closing`, of the month and of each day.
 */
export type Statement = {
  wallet: Address;
  /** `2026-11` */
  month: string;
  /** Month of the first deposit; null without one. */
  first_month: string | null;
  /** The month is over, and the index has all of it. */
  complete: boolean;
  opening: number;
  closing: number;
  sums: StatementSums;
  /** Days on which something changed, with the balance at their end. */
  days: (StatementSums & { day: string; closing: number })[];
  /** The models of the charged jobs, the one with the highest charge first. */
  models: { model: string; jobs: number; credits: number; tokens: number }[];
};

/** Credits charged on this UTC day and in this month. `alert`: the sum from which the wallet wants to be told. Null if it set no alert. */
export type Spending = Record<"day" | "month", { charged: number; alert: number } | null>;

/** A wallet's own settings at this service. `spend_alert_…`: credits charged on a UTC day, in a month; null for no alert. */
export type WalletSettings = {
  low_credit_threshold: number;
  spend_alert_day: number | null;
  spend_alert_month: number | null;
};

/** Why a job has no charge. */
export type Ended = {
  /** Only of a failed job. */
  failure_reason?: FailureReasonName;
  /** Only of a refunded job. */
  refund_reason?: "timeout" | "dispute" | "equivocation";
};

export type Job = Ended & {
  id: string;
  status: JobState;
  model: string;
  tier: Tier;
  credits_charged: number;
  usdg_value: number;
  worker_address: Address | null;
  created_at: string;
  completed_at: string | null;
  on_chain: {
    escrow_tx: Hex | null;
    settlement_tx: Hex | null;
    escrow_address: Address;
    block_number: number | null;
    proof_hash: string | null;
  };
  usage: {
    prompt_tokens: number | null;
    completion_tokens: number | null;
    total_tokens: number | null;
    /** Only where reasoning was billed, which `completion_tokens` includes. */
    completion_tokens_details?: { reasoning_tokens: number };
  };
  /** The credits that are given back of the charge; absent if nothing is due. */
  compensation?: { credits_due: number; credits_paid: number; credits_outstanding: number };
};

/** `answer_seconds`: from the request to the final token, as the service measured it; or whole seconds from the lock on, by the blocks. Null: no answer. */
export type OwnJob = Job & { answer_seconds: number | null };

export type JobPage = { data: OwnJob[]; has_more: boolean; next_cursor: string | null };

export type Model = {
  number: number;
  id: string;
  owned_by: string;
  parameters: string;
  tier: Tier;
  context_window: number;
  credits_per_request: number;
  credits_per_1k_tokens: number;
  next_credits_per_request: number | null;
  next_credits_per_1k_tokens: number | null;
  prices_change_at: string | null;
  retires_at: string | null;
  retired: boolean;
  active_workers: number;
  /** Only a text generator answers, no model: on a local stack. */
  demo: boolean;
  /** Charged in the last 24 hours, by all operators; and the share of the ended jobs that was. */
  jobs_24h: number;
  credits_24h: number;
  success_24h: number | null;
  observed_24h: Observed;
};

/** The measurements of this service's gateways: shares from 0 to 1, null if nothing was measured. */
export type Observed = {
  requests: number;
  failures: number;
  uptime: number | null;
  first_token_ms: number | null;
  tokens_per_second: number | null;
};
export type ObservedSpan = Observed & { from: string };

/** `earned`: stablecoin units of jobs locked then, of all operators. */
export type WorkerSpan = ObservedSpan & { earned: number };

/**
 * Jobs that an operator locked then, by how they ended, and the credits that were charged for them; running ones are in none. `observed`: what this
 * service's gateways saw of all models that a worker served; null for another operator, whose requests they do not see.
 */
export type OperatorSpan = {
  from: string;
  charged: number;
  failed: number;
  refunded: number;
  credits: number;
  observed: Observed | null;
};

/** A model as clients met it, and each of its workers; the same spans in all, oldest first. `number` is null of a worker that is gone. */
export type ModelSeen = {
  spans: ObservedSpan[];
  workers: { number: number | null; address: Address; spans: ObservedSpan[] }[];
};

/** The state of the service. */
export type Status = {
  status: "ok" | "degraded" | "down";
  checked_at: string;
  parts: { name: string; ok: boolean; says: string }[];
  models: { id: string; active_workers: number; demo: boolean; uptime_24h: number | null }[];
};

/** An event in the history of a model, a worker, an operator or an account. */
export type HistoryEvent = {
  /** `worker.endpoint_set`, … */
  kind: string;
  block_number: number;
  occurred_at: string;
  tx: Hex;
  data: Record<string, unknown>;
};

/** A job as everybody may see it. */
export type ListedJob = {
  id: string;
  status: JobState;
  model: string;
  credits: number;
  worker: Address | null;
  created_at: string;
};

export type Operator = {
  number: number;
  admin: Address;
  stopped: boolean;
  /** Credits that pay for its faults, those held for disputes, and those announced to leave. */
  reserve: number;
  held: number;
  leaving: number | null;
  leaves_at: string | null;
  signers: { address: Address; added_at: string; removed_at: string | null }[];
  admitted_at: string;
  jobs_24h: number;
  credits_24h: number;
  success_24h: number | null;
  /** Ended without a charge. */
  failed_24h: number;
  /** Stablecoin units of the charges that the protocol's fee was, and what the operator earned of it. */
  fee_units_24h: number;
  earned_24h: number;
  /** Stablecoin units that it has earned and not withdrawn. */
  earned: number;
  /** Disputes of its jobs, by how they ended, and credits that its reserve paid for them. */
  disputes: Record<RulingName | "open", number>;
  paid: number;
};

/** The gas that charged jobs cost an operator: how many jobs it is known for, and the mean of them, wei; null without one. */
export type OperatorGas = { jobs: number; wei_per_job: string | null };

/** The network's present figures. */
export type Network = {
  /** Those that answer the service, and the models that one of them hosts. */
  workers: number;
  models: number;
  jobs_24h: number;
  credits_24h: number;
  credits_total: number;
  /** Settled ones, newest first. */
  latest: ListedJob[];
};

export type Worker = {
  number: number;
  address: Address;
  owner: Address;
  payout: Address;
  endpoint: string;
  /** Millionths of an SVC. */
  stake: string;
  /** By the chain: it has its stake and may take jobs. */
  active: boolean;
  /** The service reaches it. */
  answers: boolean;
  /** Running time to first token of this service's jobs. */
  first_token_ms: number | null;
  /** How the worker counts prompts, by model id; a model for which it has not said so is missing. */
  counting: Record<string, Counting>;
  /** Charged in the last 24 hours, by all operators. */
  jobs_24h: number;
  /** Stablecoin units of settled jobs: of 24 hours, of seven UTC days, and ever. */
  earned_24h: number;
  earned_7d: number;
  earned_total: number;
  /** The worker's pay an hour, by this service's measurements of 24 hours; null without any. */
  hourly: HourlyPay | null;
  /** Share of this service's jobs of 24 hours that it did not fail. */
  success_24h: number | null;
  unbonds_at: string | null;
  registered_at: string;
  models: string[];
  /** Newest first; amounts in millionths of an SVC. */
  slashes: { job_id: string; amount: string; slashed_at: string; reason: string; tx: Hex }[];
  /** The worker's incidents at this service's gateways, newest first, one entry an hour and kind. */
  incidents: Incident[];
};

/**
 * `asked`: hours in which its models could be asked, and stablecoin units an hour of them, for jobs of all operators. `at_work`: hours that its answers took,
 * from the offer to the last token, and units an hour of them, for jobs of this service; answers side by side count each.
 */
export type HourlyPay = Record<"asked" | "at_work", { hours: number; units: number | null }>;

/** The stablecoin units that the treasury still owes a worker for a job after a dispute. */
export type Owed = { job_id: string; units: number };

export type Incident = {
  code: string;
  severity: "misconduct" | "absence" | "failure" | "refusal" | "note";
  /** The rest of a sentence about the worker. */
  title: string;
  occurrences: number;
  first_at: string;
  last_at: string;
  job_id: string | null;
};

export type ChainLog = { address: Address; topics: Hex[]; data: Hex; log_index: number };

export type ChainTransaction = {
  hash: Hex;
  status: "success" | "reverted" | "pending";
  from: Address;
  to: Address | null;
  block_number: number | null;
  /** Unix seconds. */
  timestamp: number | null;
  gas_used: number | null;
  fee_wei: string | null;
  nonce: number;
  /** Its place in the block. */
  position: number | null;
  gas_limit: number;
  gas_price_wei: string | null;
  /** The data of a call of our contracts; null where nobody asked for it. */
  input: Hex | null;
  /** For a reverted call of the escrow, the contract's answer to it; null if the service did not repeat the call. */
  reverted: { data: Hex | null } | null;
  logs: ChainLog[];
};

export type ChainJob = Ended & {
  id: string;
  wallet: Address | null;
  operator: number | null;
  model: string | null;
  tier: Tier | null;
  status: JobState | null;
  proof_hash: Hex | null;
  credits_charged: number;
  disputed: boolean;
  transactions: ChainTransaction[];
};

/** A transaction of the protocol in a list, with how many events of each kind it has. */
export type ListedTransaction = {
  hash: Hex;
  block_number: number;
  /** Unix seconds. */
  timestamp: number;
  jobs: number;
  /** `job_…` where it is of one job alone. */
  job: string | null;
  /** Credits that its settlements charged. */
  charged: number;
  events: Record<string, number>;
};

/** A page of a list without an end; `next` names the one after it. */
export type ListPage<T> = { data: T[]; next: number | null };

export type Latest = { head_block: number; jobs: ListedJob[]; transactions: ListedTransaction[] };

export type ChainBlock = {
  number: number;
  hash: Hex;
  parent_hash: Hex;
  timestamp: number;
  producer: Address;
  gas_used: number;
  gas_limit: number;
  base_fee_wei: string | null;
  transaction_count: number;
  transactions: ListedTransaction[];
};

export type ChainAddress = {
  address: Address;
  balance_wei: string;
  transactions_sent: number;
  /** Stablecoin units: those it holds, those that wait for it in the escrow, and those of them that it claimed. */
  usdg_units: string;
  claimable_units: string;
  claimed_units: string;
  account: {
    number: number;
    free: number;
    escrowed: number;
    deposited: number;
    withdrawn: number;
    charged: number;
    compensated: number;
    disputes: number;
    operator: number | null;
    daily_limit: number | null;
    frozen: boolean;
  } | null;
  workers: { number: number; roles: string[] }[];
  operators: { number: number; roles: string[] }[];
  jobs: ListedJob[];
  has_more: boolean;
  /** The transactions of the jobs in `jobs`. */
  transactions: ListedTransaction[];
  history: HistoryEvent[];
};

/** The things that a text of 64 hex digits identifies. */
export type FoundHash = { transaction: boolean; block: number | null; jobs: ListedJob[] };

export type Webhook = {
  id: string;
  url: string;
  events: string[];
  created_at: string;
  status: "active" | "failed";
  secret?: string;
};

/** Deliveries that arrived, and that did not. */
export type Arrivals = { delivered: number; undelivered: number };

export type OwnWebhook = Webhook & {
  /** Until then the secret before this one counts, too. */
  old_secret_until: string | null;
  /** Null of one that was made a moment ago. */
  arrivals: Record<"24h" | "7d", Arrivals> | null;
};

export type DeliveryState = "pending" | "delivered" | "failed" | "skipped";

export type Delivery = {
  id: string;
  webhook_id: string;
  event_id: string;
  /** `webhook.test` for a test. */
  event: string;
  job_id: string | null;
  status: DeliveryState;
  attempts: number;
  next_attempt_at: string | null;
  occurred_at: string;
  finished_at: string | null;
  /** HTTP status and error of the last attempt with a result. */
  last_status: number | null;
  last_error: string | null;
};

export type Attempt = {
  number: number;
  started_at: string;
  duration_ms: number | null;
  status: number | null;
  /** Value of `Service-Signature`; null of an attempt whose result is not known, or of an earlier version. */
  signature: string | null;
  /** `name: value`, a line each. Null where the answer is not kept any more, as its body. */
  response_headers: string | null;
  response: string | null;
  error: string | null;
};

/** `attempt_log`: the newest attempts, the oldest of them first. */
export type DeliveryDetail = Delivery & { url: string; body: string; attempt_log: Attempt[] };

/** A dispute in a list. Its page is addressed by its job: a job has one, and after an equivocation a second one in its place. */
export type ListedDispute = {
  job_id: string;
  wallet: Address;
  opened_by: "operator" | "wallet";
  /** Opened before the charge. */
  from_proven: boolean;
  /** Charge in dispute, and what was put up for it. */
  credits: number;
  bond: number;
  votes: Record<Vote, number>;
  opened_at: string;
  /** Votes count from then on, and before then a ruling must be made. */
  rule_from: string;
  rule_before: string;
  /** Null while it is open. */
  ruling: RulingName | null;
  resolved_at: string | null;
};

/** The rulings that an arbiter can vote for. */
export type Vote = Exclude<RulingName, "expired">;

export type Dispute = ListedDispute & {
  worker: Address;
  /** The hash of the text that the client received, as the dispute's opener states it; 32 zero bytes for "nothing". */
  received_hash: Hex;
  /** The wallet's own hash beside its operator's. */
  joined_hash: Hex | null;
  worker_hash: Hex;
  opened_tx: Hex;
  resolved_tx: Hex | null;
  /** Credits that left escrow for the wallet, its bond included. */
  credits_returned: number;
  arbiter_set: number;
  arbiters: Address[];
  quorum: number | null;
  ballots: { arbiter: Address; ruling: Vote }[];
};

/** `open`: only on the first page. `next`: names the next page. */
export type DisputePage = { open: ListedDispute[]; ended: ListedDispute[]; next: number | null };
