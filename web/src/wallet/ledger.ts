/** The escrow and its token as the wallet calls them. */
import { type Address, erc20Abi, type Hex, zeroAddress } from "viem";
import { fromProofHash } from "../../../protocol/answer-hash.ts";
import { inferenceEscrowAbi, testStablecoinAbi } from "../../../protocol/generated/abi.ts";
import { toUnits } from "../../../protocol/money.ts";
import { readerOf } from "../../../shared/contract-reader.ts";
import { app } from "../data/app.ts";
import type { DisputeFacts } from "../explorer/dispute-facts.ts";
import { walletConfig } from "./config.ts";
import { giveGas } from "./local-node.ts";
import type { ContractCall } from "./send.ts";
import { readyWallet, type Sender, transact } from "./transact.ts";
import { useChain } from "./use-wallet.ts";

const ESCROW = { address: app.contracts["InferenceEscrow"] as Address, abi: inferenceEscrowAbi } as const;
/** Permit, balance and allowance are the same functions on every EIP-2612 token; `mint` is the test token's alone. */
const TOKEN = { address: app.contracts["Stablecoin"] as Address, abi: testStablecoinAbi } as const;

/** Reads the token through the browser's wallet. */
const readToken = () => readerOf(walletConfig.getClient(), TOKEN);

/** Token units in the signed-in wallet; undefined while it is not connected to the right chain. */
export const useTokenBalance = () => useChain("token", null, (account) => readToken()("balanceOf", [account]));

const escrowCall = (functionName: string, ...args: unknown[]): ContractCall => ({ ...ESCROW, functionName, args });

export const withdraw = (credits: number, receiver: Address) => escrowCall("withdraw", credits, receiver);

/** Pays what waits for the wallet to `receiver`. */
export const claimTo = (receiver: Address) => escrowCall("claimTo", receiver);

/** Pays what waits for `payee` to it; anybody can have that done. */
export const claim = (payee: Address) => escrowCall("claim", payee);

/** Has the treasury pay what it owes for a job (bytes16). */
export const collectDebt = (jobId: Hex) => escrowCall("collectDebt", jobId);

/** Ends a dispute on which nobody ruled in time. */
export const expire = (jobId: Hex) => escrowCall("expire", jobId);

/** Chooses the operator that may lock the wallet's credits; null for none. */
export const chooseOperator = (operator: number | null) => escrowCall("chooseOperator", operator ?? 0);

/** Sets the key that must sign each of the wallet's jobs; null for none. */
export const setAuthorizationKey = (key: Address | null) => escrowCall("setAuthorizationKey", key ?? zeroAddress);

/** Names the key that may dispute for the wallet, and how many disputes it may have open; null for none. */
export const setDisputeKey = (key: Address | null, mostOpen: number) =>
  escrowCall("setDisputeKey", key ?? zeroAddress, mostOpen);

/** Sets the daily limit (null: none) and the freeze switch, which the contract keeps together. */
export const setLimits = (dailyLimit: number | null, frozen: boolean) =>
  escrowCall("setLimits", dailyLimit !== null, dailyLimit ?? 0, frozen);

/** Adds the wallet's own hash to its operator's dispute. */
export const joinDispute = (jobId: Hex, receivedHash: string) =>
  escrowCall("joinDispute", jobId, fromProofHash(receivedHash));

/** Mints test tokens, as only development chains let everybody; a new wallet gets the gas for it first. */
export async function mintTestTokens(sender: Sender, credits: number): Promise<void> {
  await giveGas(sender.account);
  await transact(sender, [{ ...TOKEN, functionName: "mint", args: [sender.account, toUnits(credits)] }]);
}

/**
 * Buys credits and chooses this service's operator: one signature (EIP-2612) and one transaction. A wallet that cannot sign permits
 * approves first, in a second one. `limits`: what the wallet sets afterwards, in a transaction of its own.
 */
export async function deposit(sender: Sender, credits: number, limits: ContractCall | null): Promise<void> {
  const { account, onProgress } = sender;
  await readyWallet(account);
  const request = { token: TOKEN.address, owner: account, spender: ESCROW.address, value: toUnits(credits) };
  const { signPermit } = await import("./permit.ts");
  const after = limits === null ? [] : [{ ...limits, what: "Confirm the daily limit" }];
  const signed = await signPermit(request, () =>
    onProgress({ step: "wallet", what: `Sign the permit in your wallet (1 of ${2 + after.length})` }),
  );
  const what = "Confirm the deposit";
  if (signed === null) {
    const call = escrowCall("deposit", credits, app.operator);
    return await transact(sender, [approval(request), { ...call, what }, ...after]);
  }
  const { deadline, v, r, s } = signed;
  const call = escrowCall("depositWithPermit", credits, app.operator, deadline, v, r, s);
  await transact(sender, [{ ...call, what }, ...after], { before: 1 });
}

/** Most credits that a wallet puts up for a dispute of its own (`DISPUTE_BOND`). */
const MOST_BOND = 100;

/** Credits that a wallet puts up for a dispute of this charge; the most that it can be while the charge is not known. */
export const bondOf = (charge: number | null): number => Math.min(MOST_BOND, charge ?? MOST_BOND);

/**
 * Opens a dispute without the service: the wallet's own transaction, with what the worker signed in it. Free credits are the bond; what
 * they lack is bought in the same transaction, for which the wallet approves the tokens first.
 */
export async function openDispute(
  sender: Sender,
  { signed, charge, freeBefore }: DisputeFacts,
  receivedHash: string,
): Promise<void> {
  if (signed === null) throw new Error("The chain shows no proof of this job yet. Try again in a moment.");
  const approvals = freeBefore === null ? await cover(sender.account, bondOf(charge)) : [];
  const call = escrowCall("openDispute", fromProofHash(receivedHash), signed.completion, signed.signature);
  await transact(sender, [...approvals, call]);
}

/** The approval of the tokens that the bond lacks; none where the credits or an earlier approval cover it. */
async function cover(account: Address, bond: number): Promise<ContractCall[]> {
  const { free } = await readerOf(walletConfig.getClient(), ESCROW)("accountOf", [account]);
  const value = toUnits(Math.max(0, bond - free));
  const allowed = await readToken()("allowance", [account, ESCROW.address]);
  return value > allowed ? [approval({ token: TOKEN.address, spender: ESCROW.address, value })] : [];
}

type Allowance = { token: Address; spender: Address; value: bigint };

/** Lets `spender` take `value` units of a token. */
export const approval = ({ token, spender, value }: Allowance): ContractCall => ({
  address: token,
  abi: erc20Abi,
  functionName: "approve",
  args: [spender, value],
  what: "Approve the amount",
});
