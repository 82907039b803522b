/** Events in words: a title for each, and a name and a unit for each argument. Pure; for explorers and reports. */
import type { AbiEvent } from "viem";
import { FAILURE_REASONS, jobState } from "../protocol/job-status.ts";
import { sharePercent } from "../protocol/pricing.ts";
import { TIERS } from "../protocol/tiers.ts";
import { decodeAccountWord, decodeJobWord, decodeUsageWord } from "../protocol/words.ts";
import { type AnyEvent, type ContractName, EVENT_ABIS } from "./events.ts";
import { rulingOf } from "./story.ts";

/** The unit in which a value is read. */
export type Unit =
  | "credits"
  | "stablecoin units" // 0.000001 of a 6-decimal stablecoin
  | "SVC base units" // 10^-18 SVC
  | "SVC millionths"
  | "hundredths of a percent"
  | "Unix seconds"
  | "output tokens"
  | "prompt tokens"
  | "bytes"
  | "address"
  | "hash"
  | "job"
  | "number"
  | "text"
  | "yes or no"
  | "word" // a number that stands for a word; `text` is the word
  | "packed word"; // several numbers in 256 bits; `text` names each

export type Field = { name: string; value: unknown; unit: Unit; text: string };
export type DescribedEvent = { title: string; fields: Field[] };

const TITLES: Record<string, string> = {
  "escrow.Deposited": "Credits bought",
  "escrow.Withdrawn": "Credits paid out to their wallet's receiver",
  "escrow.OperatorChosen": "Wallet chose its operator",
  "escrow.LimitsSet": "Wallet set its spending limits",
  "escrow.AuthorizationKeySet": "Wallet set the key that signs each of its jobs",
  "escrow.DisputeKeySet": "Wallet set the key that may dispute for it",
  "escrow.JobLocked": "Credits locked in escrow for a job",
  "escrow.JobAuthorized": "Wallet's authorization key signed for the job",
  "escrow.JobAcknowledged": "Worker took the job",
  "escrow.JobProven": "Worker proved its answer without its gateway",
  "escrow.JobSettled": "Escrow released: proof verified, job charged",
  "escrow.JobFailed": "Job failed: escrow returned",
  "escrow.JobRefunded": "Job not completed in time, or its worker punished: escrow returned",
  "escrow.JobDisputed": "Dispute opened",
  "escrow.DisputeJoined": "Wallet added its own hash to the dispute",
  "escrow.DisputeSigned": "Wallet's dispute key signed for it",
  "escrow.DisputeResolved": "Dispute ended",
  "escrow.OperatorCharged": "Operator's reserve paid for a job",
  "escrow.Compensated": "Treasury charged for a job",
  "escrow.WorkerEquivocated": "Worker signed two different answers",
  "escrow.PayoutDeferred": "Payout waits for its payee",
  "escrow.PayoutClaimed": "Waiting payout claimed",
  "escrow.BatchItemFailed": "Item of a batch reverted",
  "escrow.OperatorAdmitted": "Operator admitted",
  "escrow.OperatorStopped": "Operator's right to lock changed",
  "escrow.OperatorAdminSet": "Operator handed over",
  "escrow.SignerAdded": "Key signs for its operator from now on",
  "escrow.SignerRemoved": "Key left its operator",
  "escrow.ReserveChanged": "Operator's reserve changed",
  "escrow.ReserveLeaving": "Operator announced a withdrawal of reserve",
  "escrow.EarningsChanged": "Operator's earnings changed by a dispute or two signed answers",
  "escrow.EarningsWithdrawn": "Operator's earnings paid out",
  "escrow.FeeScheduled": "Protocol fee announced",
  "escrow.TreasurySet": "Treasury changed",
  "escrow.GuardianSet": "Guardian changed",
  "escrow.PausedSet": "Deposits and locks paused or resumed",
  "escrow.CompensationCapSet": "Cap of the treasury's compensations changed",
  "catalog.ModelListed": "Model listed",
  "catalog.PricesScheduled": "Prices announced",
  "catalog.RetirementScheduled": "End of a model announced",
  "registry.WorkerRegistered": "Worker registered",
  "registry.StakeAdded": "Stake added",
  "registry.PayoutSet": "Worker's payout address changed",
  "registry.EndpointSet": "Worker's endpoint changed",
  "registry.HostingSet": "Worker's hosted models changed",
  "registry.UnbondingStarted": "Worker started to unbond",
  "registry.UnbondingCancelled": "Worker returned to work",
  "registry.StakeWithdrawn": "Stake withdrawn",
  "registry.WorkerSlashed": "Worker slashed",
  "registry.StakeTermsScheduled": "Minimum stake and slash announced",
  "registry.SvcWorthScheduled": "Worth of 1,000 SVC announced",
  "panel.ArbitersSet": "Arbiters appointed",
  "panel.Voted": "Arbiter voted",
  "treasury.TreasuryPaid": "Treasury paid by governance",
  "treasury.CompensationPaid": "Treasury sent a compensation to the escrow",
  "stablecoin.Transfer": "Stablecoin transferred",
  "stablecoin.Approval": "Stablecoin allowance set",
  "serviceToken.Transfer": "SVC transferred",
  "serviceToken.Approval": "SVC allowance set",
  EscrowSet: "Escrow named",
  OwnershipTransferred: "Owner changed",
  EIP712DomainChanged: "Signing domain changed",
};

const UNITS: Record<
  Exclude<Unit, "address" | "hash" | "job" | "text" | "yes or no" | "word" | "packed word">,
  string
> = {
  credits:
    "credits free escrowed returned bond creditsPerRequest creditsPer1kTokens dailyLimit spentToday reserve held creditsPer1kSvc",
  "stablecoin units": "units workerUnits operatorUnits treasuryUnits paid owed disputed",
  "SVC base units": "",
  "SVC millionths": "stake added amount minimumStake slashAmount",
  "hundredths of a percent": "feeBps",
  "Unix seconds":
    "lockedAt completedAt finalizeFrom ruleFrom ruleBefore disputeBefore effectiveAt retiresAt unbondsAt leavesAt voteStart voteEnd",
  "output tokens": "completionTokens reasoningTokens billedTokens",
  bytes: "textBytes",
  "prompt tokens": "promptTokens",
  number:
    "account sequence model operator attempt worker arbiterSet set quorum votes mostOpen index day firstDay lastDay",
};
const unitByName = new Map<string, Unit>(
  Object.entries(UNITS).flatMap(([unit, names]) => names.split(" ").map((name) => [name, unit as Unit] as const)),
);

const WORDS: Record<string, (value: number) => string | undefined> = {
  tier: (value) => TIERS[value],
  status: (value) => jobState(value) ?? undefined,
  ruling: rulingOf,
  operatorShare: (value) => `${sharePercent(value)} % of the fee`,
  reason: (value) => FAILURE_REASONS[value]?.replaceAll("_", " "),
};

/** Arguments that are packed words (`contracts/Words.sol`), and how they are read. */
const PACKED: Record<string, (word: bigint) => object> = {
  account: decodeAccountWord,
  job: decodeJobWord,
  usage: decodeUsageWord,
};

/**
 * An event in words. A name that is not known here still comes out, by its Solidity name.
 *
 * @example
 * for (const event of evidence.events) console.log(describeEvent(event).title);
 */
export function describeEvent({ contract, name, args }: AnyEvent): DescribedEvent {
  const item = EVENT_ABIS[contract].find((one) => one.type === "event" && one.name === name) as AbiEvent | undefined;
  const values = (args ?? {}) as Record<string, unknown>;
  return {
    title: eventTitle(contract, name) ?? name,
    fields: (item?.inputs ?? []).map((input) => {
      const argument = input.name ?? "";
      const value = values[argument];
      const unit = argumentUnit(contract, input.type, argument) ?? "text";
      return { name: argument, value, unit, text: argumentText(value, argument, unit) };
    }),
  };
}

export const eventTitle = (contract: ContractName, name: string): string | null =>
  TITLES[`${contract}.${name}`] ?? TITLES[name] ?? null;

/** Unit of an argument; null when nothing is known about it. */
export function argumentUnit(contract: ContractName, type: string, name: string): Unit | null {
  if (name === "jobId") return "job";
  if (type === "address" || type === "address[]") return "address";
  if (type === "bytes32") return "hash";
  if (type === "uint256" && name in PACKED) return "packed word";
  if (type === "bool") return "yes or no";
  if (type === "string" || type.startsWith("bytes") || type.startsWith("tuple") || type === "uint16[]") return "text";
  if (type.startsWith("uint") && name in WORDS) return "word";
  if (name === "value") return contract === "serviceToken" ? "SVC base units" : "stablecoin units";
  return unitByName.get(name) ?? null;
}

/** An argument in words, for the command line. */
export function argumentText(value: unknown, name: string, unit: Unit): string {
  if (unit === "word") return WORDS[name]?.(Number(value)) ?? String(value);
  if (unit === "packed word") return packedText(PACKED[name]?.(value as bigint) ?? {});
  if (unit === "yes or no") return value === true ? "yes" : "no";
  if (unit === "credits") return `${value} credits`;
  if (unit === "stablecoin units") return decimal(BigInt(value as bigint), 6);
  if (unit === "SVC base units") return `${decimal(BigInt(value as bigint), 18)} SVC`;
  if (unit === "SVC millionths") return `${decimal(BigInt(value as bigint), 6)} SVC`;
  if (unit === "hundredths of a percent") return `${Number(value) / 100} %`;
  if (unit === "Unix seconds") return Number(value) === 0 ? "never" : new Date(Number(value) * 1000).toISOString();
  if (typeof value === "object") return JSON.stringify(value, (_, v) => (typeof v === "bigint" ? String(v) : v));
  return String(value);
}

/** `free 5, escrowed 8, …` */
const packedText = (fields: object): string =>
  Object.entries(fields)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");

/** An integer of base units as a decimal number, without rounding. */
export function decimal(units: bigint, decimals: number): string {
  const digits = units.toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, -decimals);
  const fraction = digits.slice(-decimals).replace(/0+$/, "");
  return fraction === "" ? whole : `${whole}.${fraction}`;
}
