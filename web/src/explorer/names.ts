/** What each event of the contracts means, in a few words. Unlisted ones keep their name. */
export const EVENT_TITLES: Record<string, string> = {
  JobLocked: "Credits locked in escrow",
  JobAcknowledged: "A worker took the job",
  JobSettled: "Job settled: proof verified, charge paid out",
  JobProven: "Proof recorded without the gateway",
  JobFailed: "Job failed: escrow returned",
  JobRefunded: "Job timed out: escrow returned",
  JobDisputed: "Dispute opened",
  DisputeResolved: "Dispute ended",
  Compensated: "Treasury charged for a job",
  WorkerEquivocated: "Worker signed two different answers",
  Deposited: "Credits bought",
  Withdrawn: "Credits withdrawn",
  LimitsSet: "Spending limits changed",
  PayoutDeferred: "Payout refused by the token, kept for its payee",
  PayoutClaimed: "Deferred payout claimed",
  BatchItemFailed: "One call of the batch failed",
  Transfer: "Token transfer",
  Approval: "Token allowance set",
  WorkerRegistered: "Worker registered",
  StakeAdded: "Stake added",
  StakeWithdrawn: "Stake withdrawn",
  WorkerSlashed: "Worker slashed",
  HostingSet: "Hosted models changed",
  EndpointSet: "Endpoint changed",
  PayoutSet: "Payout address changed",
  UnbondingStarted: "Unbonding started",
  UnbondingCancelled: "Unbonding cancelled",
  ModelListed: "Model listed",
  PricesScheduled: "Prices announced",
  RetirementScheduled: "Retirement announced",
  FeeScheduled: "Protocol fee announced",
  GatewayAdded: "Gateway added",
  GatewayLockingSet: "Gateway's right to lock changed",
  PausedSet: "Deposits and locks paused or resumed",
};

/** Names of enum values by parameter, in the order of the contracts. */
export const ENUMS: Record<string, readonly string[]> = {
  tier: ["lite", "standard", "pro", "max"],
  ruling: ["none (expired)", "worker at fault", "gateway at fault", "rejected: the charge stands"],
  status: ["none", "pending", "processing", "settling", "settled", "failed", "refunded", "disputed"],
  reason: [
    "no worker took the job",
    "the worker failed",
    "delivered text is not the signed one",
    "the answer was lost",
    "cancelled",
  ],
};

/** How a parameter reads. Unlisted ones are split at their capitals: `feeBps` → "fee bps". */
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
  promptTokens: "prompt tokens",
  completionTokens: "output tokens",
  returned: "credits returned",
  ruleBefore: "to be ruled before",
  byGateway: "opened by the gateway",
  sequence: "event number",
};

export const labelOf = (name: string): string =>
  LABELS[name] ?? name.replace(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`);

/** What a number means, by the event's contract and the parameter's name. */
export type Unit = "credits" | "usdg" | "svc" | "svcWei" | "time" | "percent" | "job" | "hash" | "enum" | "plain";

const CREDITS = new Set([
  "credits",
  "free",
  "escrowed",
  "returned",
  "bond",
  "dailyLimit",
  "creditsPerRequest",
  "creditsPer1kTokens",
]);
const USDG = new Set(["units", "workerUnits", "feeUnits", "paid", "owed"]);
const SVC = new Set(["stake", "added", "amount", "minimumStake", "slashAmount"]);
const TIMES = /(At|From|Before|Until)$/;

export function unitOf(contract: string, name: string): Unit {
  if (name === "value" || name === "units") {
    if (contract === "Stablecoin" || contract === "InferenceEscrow") return "usdg";
    return contract === "ServiceToken" ? "svcWei" : "usdg";
  }
  if (CREDITS.has(name)) return "credits";
  if (USDG.has(name)) return "usdg";
  if (contract === "WorkerRegistry" && SVC.has(name)) return "svc";
  if (name === "feeBps") return "percent";
  if (name === "jobId") return "job";
  if (name in ENUMS) return "enum";
  if (/Hash$/.test(name)) return "hash";
  return TIMES.test(name) ? "time" : "plain";
}
