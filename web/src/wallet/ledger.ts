import { type Address, erc20Abi, type Hex, zeroAddress } from "viem";
import { inferenceEscrowAbi, testStablecoinAbi } from "../../../protocol/generated/abi.ts";
import { toUnits } from "../../../protocol/money.ts";
import { readerOf } from "../../../shared/contract-reader.ts";
import type { AppConfig } from "../data/types.ts";
import type { WalletConfig } from "./config.ts";
import type { Progress } from "./send.ts";
import { readyWallet, transact } from "./transact.ts";

/** Who calls the contracts, and who hears how far it is. */
export type ContractContext = {
  wallet: WalletConfig;
  app: AppConfig;
  account: Address;
  onProgress: (progress: Progress) => void;
};

export const escrowOf = (app: AppConfig) =>
  ({ address: app.contracts["InferenceEscrow"] as Address, abi: inferenceEscrowAbi }) as const;
/** Permit, balance and allowance are the same functions on every EIP-2612 token; `mint` is the test token's alone. */
const tokenOf = (app: AppConfig) =>
  ({ address: app.contracts["Stablecoin"] as Address, abi: testStablecoinAbi }) as const;

/**
 * Buys credits and chooses this service's operator: one signature (EIP-2612) and one transaction. A wallet that cannot sign permits
 * approves first, in a second one.
 */
export async function deposit(context: ContractContext, credits: number): Promise<Hex> {
  const { wallet, app, account, onProgress } = context;
  await readyWallet(wallet, account);
  const spender = escrowOf(app).address;
  const request = { token: tokenOf(app).address, owner: account, spender, value: toUnits(credits) };
  const { signPermit } = await import("./permit.ts");
  const signed = await signPermit(wallet, request, () =>
    onProgress({ step: "wallet", what: "Sign the permit in your wallet (1 of 2)" }),
  );
  if (signed === null) {
    await approve(context, toUnits(credits));
    const call = { ...escrowOf(app), functionName: "deposit", args: [credits, app.operator] };
    return await transact(wallet, account, call, onProgress, "Confirm the deposit in your wallet (2 of 2)");
  }
  const { deadline, v, r, s } = signed;
  const call = {
    ...escrowOf(app),
    functionName: "depositWithPermit",
    args: [credits, app.operator, deadline, v, r, s],
  };
  return await transact(wallet, account, call, onProgress, "Confirm the deposit in your wallet (2 of 2)");
}

/** Lets the escrow take `value` token units. The first of two transactions. */
export const approve = (context: ContractContext, value: bigint): Promise<void> =>
  approveFor(context, { token: tokenOf(context.app).address, spender: escrowOf(context.app).address, value });

/** Lets `spender` take `value` units of a token. The first of two transactions. */
export async function approveFor(
  { wallet, account, onProgress }: ContractContext,
  { token, spender, value }: { token: Address; spender: Address; value: bigint },
): Promise<void> {
  const call = { address: token, abi: erc20Abi, functionName: "approve", args: [spender, value] };
  // An approval that is mined is half of the way: the person is told of the end only.
  const onStep = (progress: Progress): void => {
    if (progress.step !== "done") onProgress(progress);
  };
  await transact(wallet, account, call, onStep, "Approve the amount in your wallet (1 of 2)");
}

export function withdraw(
  { wallet, app, account, onProgress }: ContractContext,
  credits: number,
  receiver: Address,
): Promise<Hex> {
  const call = { ...escrowOf(app), functionName: "withdraw", args: [credits, receiver] };
  return transact(wallet, account, call, onProgress);
}

/** Pays what waits for the wallet to `receiver`. */
export function claimTo({ wallet, app, account, onProgress }: ContractContext, receiver: Address): Promise<Hex> {
  return transact(wallet, account, { ...escrowOf(app), functionName: "claimTo", args: [receiver] }, onProgress);
}

/** Pays what waits for `payee` to it; anybody can have that done. */
export function claim({ wallet, app, account, onProgress }: ContractContext, payee: Address): Promise<Hex> {
  return transact(wallet, account, { ...escrowOf(app), functionName: "claim", args: [payee] }, onProgress);
}

/** Has the treasury pay what it owes for a job (bytes16). */
export function collectDebt({ wallet, app, account, onProgress }: ContractContext, jobId: Hex): Promise<Hex> {
  return transact(wallet, account, { ...escrowOf(app), functionName: "collectDebt", args: [jobId] }, onProgress);
}

/** Chooses the operator that may lock the wallet's credits; null for none. */
export function chooseOperator(
  { wallet, app, account, onProgress }: ContractContext,
  operator: number | null,
): Promise<Hex> {
  const call = { ...escrowOf(app), functionName: "chooseOperator", args: [operator ?? 0] };
  return transact(wallet, account, call, onProgress);
}

/** Sets the key that must sign each of the wallet's jobs; null for none. */
export function setAuthorizationKey(
  { wallet, app, account, onProgress }: ContractContext,
  key: Address | null,
): Promise<Hex> {
  const call = { ...escrowOf(app), functionName: "setAuthorizationKey", args: [key ?? zeroAddress] };
  return transact(wallet, account, call, onProgress);
}

/** Sets the daily limit (null: none) and the freeze switch, which the contract keeps together. */
export function setLimits(
  { wallet, app, account, onProgress }: ContractContext,
  limits: { dailyLimit: number | null; frozen: boolean },
): Promise<Hex> {
  const args = [limits.dailyLimit !== null, limits.dailyLimit ?? 0, limits.frozen];
  return transact(wallet, account, { ...escrowOf(app), functionName: "setLimits", args }, onProgress);
}

/** Mints test tokens; only the test token of development chains can do it. */
export function mintTestTokens({ wallet, app, account, onProgress }: ContractContext, credits: number): Promise<Hex> {
  const call = { ...tokenOf(app), functionName: "mint", args: [account, toUnits(credits)] };
  return transact(wallet, account, call, onProgress);
}

/** Token units the wallet holds. */
export const tokenBalance = (wallet: WalletConfig, app: AppConfig, account: Address): Promise<bigint> =>
  readerOf(wallet.getClient(), tokenOf(app))("balanceOf", [account]);

/** Token units that the escrow may take from the wallet. */
export const tokenAllowance = (wallet: WalletConfig, app: AppConfig, account: Address): Promise<bigint> =>
  readerOf(wallet.getClient(), tokenOf(app))("allowance", [account, escrowOf(app).address]);
