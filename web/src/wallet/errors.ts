import {
  type Address,
  BaseError,
  ContractFunctionExecutionError,
  ContractFunctionRevertedError,
  decodeErrorResult,
  type Hex,
  isHex,
} from "viem";
import {
  arbitrationPanelAbi,
  inferenceEscrowAbi,
  protocolGovernorAbi,
  protocolTimelockAbi,
  protocolTreasuryAbi,
  testStablecoinAbi,
  workerRegistryAbi,
} from "../../../protocol/generated/abi.ts";
import { NotMined } from "../../../protocol/receipt.ts";
import { app } from "../data/app.ts";
import { type ErrorMessage, errorMessageOf } from "../data/error-message.ts";
import { momentOf, units } from "../ui/format.ts";
import { saidBy, wasDeclined } from "./declined.ts";
import { Replaced } from "./mined.ts";

/** The contracts' and the token's errors (ERC-6093) by name. */
const ERRORS = [
  ...inferenceEscrowAbi,
  ...workerRegistryAbi,
  ...testStablecoinAbi,
  ...arbitrationPanelAbi,
  ...protocolTreasuryAbi,
  ...protocolGovernorAbi,
  ...protocolTimelockAbi,
].filter((item) => item.type === "error");

const credits = (value: unknown): string => `${Number(value).toLocaleString("en-US")} credits`;
const time = (seconds: unknown): string => momentOf(Number(seconds));
const svc = (amount: unknown): string => `${units(BigInt(String(amount)), 18, 0)} SVC`;
const usdg = (amount: unknown): string => `${(Number(amount) / 1e6).toLocaleString("en-US")} USDG`;

/** The words of nodes and libraries for an account that cannot pay for gas. */
const POOR = /insufficient funds|exceeds the balance of the account/i;

/** Characters of a wallet's or node's own words that are shown. */
const SHOWN = 200;

/** An amount in the token of the contract that was called: a token's own errors do not name it. */
const inToken = (amount: unknown, called: Address | undefined): string =>
  ["WorkerRegistry", "ServiceToken"].some((name) => called?.toLowerCase() === app.contracts[name]?.toLowerCase())
    ? svc(amount)
    : usdg(amount);

/** The meaning of each of the contract's errors for the person whose transaction it stopped. */
const REVERTS: Record<string, (args: readonly unknown[], called: Address | undefined) => string> = {
  Ledger_DepositTooSmall: ([, minimum]) => `The smallest deposit is ${credits(minimum)}.`,
  Ledger_InexactTransfer: () => "The token moved another amount than asked; such tokens are not accepted.",
  Ledger_UnknownAccount: () => "This wallet has no account yet: it never deposited.",
  Ledger_InsufficientCredits: ([, free, required]) =>
    `Only ${credits(free)} are free; ${credits(required)} were asked for. Credits in escrow come back when their jobs end.`,
  Ledger_ZeroCredits: () => "The amount is zero.",
  Ledger_InvalidReceiver: ([receiver]) =>
    `${receiver} cannot receive a withdrawal: tokens sent to the contracts would be lost. Name another address.`,
  Ledger_Paused: () => "Deposits are paused. Withdrawals work all the same; try depositing later.",
  Ledger_NothingToClaim: () => "Nothing waits to be claimed any more.",
  Ledger_PayoutRefused: ([receiver]) => `The token refuses to pay ${receiver}. Name another address.`,
  Operator_Unknown: ([operator]) => `There is no operator ${operator}.`,
  Dispute_SameHash: () => "The hashes are equal: there is nothing to dispute.",
  Dispute_NotAParty: () => "Only the wallet that paid for the job, or its operator, can dispute it.",
  Dispute_AlreadyJoined: () => "Your wallet has said what it received: it opened this dispute or joined it before.",
  Job_TooLate: ([, deadline]) => `It is too late: the contract's window ended at ${time(deadline)}.`,
  Job_WrongState: () => "The job is in another state by now: reload the page to see which.",
  Dispute_AlreadyOpened: () =>
    "This job was disputed before. A second dispute is the wallet's own, once, after the job's worker signed two answers.",
  Dispute_NoDebt: () => "The treasury owes nothing for this job any more.",
  Dispute_NothingPaid: ([, owed, left]) =>
    `The treasury owes ${usdg(owed)} and can pay nothing now: ${usdg(left)} of what it may pay today are left, or it is empty. Try again after midnight UTC.`,
  Registry_NotOwner: ([, caller]) => `${caller} does not own this worker. Only its owner can change it.`,
  Registry_StillBonded: ([, unbondsAt]) => `It is too early: the stake can be withdrawn from ${time(unbondsAt)}.`,
  Registry_Unbonding: () => "The worker is unbonding. Cancel that first.",
  Registry_NotUnbonding: () => "The worker is not unbonding: nothing to cancel, and its stake is bonded.",
  Registry_NoStake: () => "The worker has no stake to unbond.",
  Registry_InvalidPayout: ([payout]) => `${payout} cannot be paid: tokens sent there would be lost. Name another.`,
  Registry_InvalidReceiver: ([receiver]) => `${receiver} cannot receive the stake: it would be lost. Name another.`,
  Registry_WorkerExists: ([signer]) => `The key ${signer} is registered already.`,
  Panel_NotAnArbiter: () => "Your wallet is no arbiter of the set that rules on this dispute.",
  Panel_AlreadyVoted: () => "You have voted so already.",
  Panel_NotOpen: () => "The dispute has ended, or the time to rule on it is over.",
  Panel_TooEarly: ([, from]) => `Votes count from ${time(from)}: until then the client can add its own hash.`,
  GovernorInsufficientProposerVotes: ([, votes, threshold]) =>
    `A proposal needs ${svc(threshold)} in votes; your wallet has ${svc(votes)}. Delegate to yourself first.`,
  GovernorAlreadyCastVote: () => "Your wallet has voted already; a vote cannot be changed.",
  GovernorUnexpectedProposalState: () => "The proposal is in another state by now: reload the page to see which.",
  TimelockUnexpectedOperationState: () => "The timelock's time is not over yet, or it was executed before.",
  ERC20InsufficientBalance: ([holder, balance, needed], called) =>
    `${holder} holds ${inToken(balance, called)}; ${inToken(needed, called)} are needed. Get more of the token first.`,
  ERC20InsufficientAllowance: ([, allowance, needed], called) =>
    `The contract may take ${inToken(allowance, called)}, but ${inToken(needed, called)} are needed. Permit or approve that amount again.`,
};

/** Turns whatever a wallet, the chain or the service threw into words. */
export function walletErrorMessage(error: unknown): ErrorMessage {
  if (error instanceof Replaced) {
    return { title: error.cancelled ? "Cancelled in the wallet" : "Replaced in the wallet", text: error.message };
  }
  if (error instanceof NotMined) {
    return { title: "Not mined", text: `The ${error.message}. Your wallet shows what became of it.` };
  }
  if (wasDeclined(error)) return { title: "Declined in the wallet", text: "Nothing was signed or sent.", quiet: true };
  if (!(error instanceof BaseError)) return errorMessageOf(error);

  if (hasCode(error, -32002)) {
    return {
      title: "The wallet is waiting",
      text: "It has an open request already: look at its window and answer it.",
    };
  }
  // Some wallets answer so in the form of a revert.
  if (named(error, "InsufficientFundsError") || POOR.test(`${error.message} ${error.details ?? ""}`)) {
    return {
      title: "Not enough for gas",
      text: `The wallet cannot pay the transaction's gas: send it some ${app.currency} first.`,
    };
  }
  const reverted = error.walk((cause) => cause instanceof ContractFunctionRevertedError);
  const call = error.walk((cause) => cause instanceof ContractFunctionExecutionError);
  const called = call instanceof ContractFunctionExecutionError ? call.contractAddress : undefined;
  if (reverted instanceof ContractFunctionRevertedError) {
    return revert(reverted.data ?? decode(reverted.raw), called, reverted.reason);
  }
  const data = revertData(error);
  if (data !== null) return revert(decode(data), called);
  if (/ChainMismatch|ConnectorChainMismatch/.test(namesOf(error))) {
    return { title: "Wrong chain", text: "The wallet is on another chain. Switch it and try again." };
  }
  // viem has no words for what is no error, such as a bare string.
  return {
    title: "The wallet reported an error",
    text: shortened(error.details || saidBy(error) || error.shortMessage),
  };
}

/** Nodes and wallets quote whole transactions: the first sentence says what is wrong. */
const shortened = (text: string): string => (text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);

type Decoded = { errorName: string; args?: readonly unknown[] | undefined };

/** Why a contract of ours refused, from the data of its revert. */
export const revertReason = (data: Hex, called: Address | undefined): string => revert(decode(data), called).text;

function revert(decoded: Decoded | null, called: Address | undefined, reason?: string): ErrorMessage {
  const title = "The contract refused";
  if (decoded === null)
    return { title, text: reason === undefined ? "It gave no reason. Nothing was moved." : shortened(reason) };
  const { errorName, args = [] } = decoded;
  const words = REVERTS[errorName]?.(args, called);
  return { title, text: words ?? `Its reason: ${inWords(errorName, args)}. Nothing was moved.` };
}

/** `Job_WrongModel`, 3 → `job, wrong model (3)`: for errors that no page brings about by itself. */
function inWords(errorName: string, args: readonly unknown[]): string {
  const words = errorName
    .replaceAll("_", ", ")
    .replace(/(?<=[a-z\d])[A-Z]/g, " $&")
    .toLowerCase();
  return args.length === 0 ? words : `${words} (${args.map(String).join(", ")})`;
}

function decode(raw: Hex | undefined): Decoded | null {
  if (raw === undefined || raw === "0x") return null;
  try {
    return decodeErrorResult({ abi: ERRORS, data: raw });
  } catch {
    // An error of a contract we do not know: the caller says so.
    return null;
  }
}

/** Revert data somewhere in what the wallet answered; wallets nest it differently. */
function revertData(error: BaseError): Hex | null {
  let found: Hex | null = null;
  error.walk((cause) => {
    const { data } = cause as { data?: unknown };
    const inner = typeof data === "object" && data !== null ? (data as { data?: unknown }).data : data;
    if (isHex(inner) && inner.length >= 10) found = inner;
    return found !== null;
  });
  return found;
}

const hasCode = (error: BaseError, code: number): boolean =>
  error.walk((cause) => (cause as { code?: unknown }).code === code) !== null;

function namesOf(error: BaseError): string {
  const names: string[] = [];
  error.walk((cause) => {
    names.push((cause as Error).name);
    return false;
  });
  return names.join(" ");
}

const named = (error: BaseError, name: string): boolean => namesOf(error).split(" ").includes(name);
