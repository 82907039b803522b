/** The worker registry as the wallet sees and calls it: stake, unbonding, and how a worker is registered. */
import { type Address, type ContractFunctionReturnType, erc20Abi, type Hex } from "viem";
import { workerRegistryAbi } from "../../../protocol/generated/abi.ts";
import { readerOf } from "../../../shared/contract-reader.ts";
import type { AppConfig } from "../data/types.ts";
import type { WalletConfig } from "./config.ts";
import { approveFor, type ContractContext } from "./ledger.ts";
import { transact } from "./transact.ts";

/** Base units of SVC in a millionth of one, in which the registry counts stake. */
const STAKE_UNIT = 10n ** 12n;

const registryOf = (app: AppConfig) =>
  ({ address: app.contracts["WorkerRegistry"] as Address, abi: workerRegistryAbi }) as const;
const stakeTokenOf = (app: AppConfig) =>
  ({ address: app.contracts["ServiceToken"] as Address, abi: erc20Abi }) as const;

export type Registered = ContractFunctionReturnType<typeof workerRegistryAbi, "view", "workerAt">;

/** What the registry demands, in millionths of an SVC, and what of it the wallet has. */
export type StakeTerms = {
  minimum: bigint;
  slash: bigint;
  /** Announced: in force from `changeAt` on (Unix seconds); null if nothing is announced. */
  next: { minimum: bigint; slash: bigint; changeAt: number } | null;
  unbondingSeconds: number;
  /** What the wallet holds, whole millionths. */
  held: bigint;
};

/** A worker by its number, as the chain has it now. */
export const readWorker = (wallet: WalletConfig, app: AppConfig, number: number): Promise<Registered> =>
  readerOf(wallet.getClient(), registryOf(app))("workerAt", [number]);

export async function readTerms(wallet: WalletConfig, app: AppConfig, account: Address): Promise<StakeTerms> {
  const registry = readerOf(wallet.getClient(), registryOf(app));
  const token = readerOf(wallet.getClient(), stakeTokenOf(app));
  const [minimum, slash, [nextMinimum, nextSlash, changeAt], unbondingSeconds, held] = await Promise.all([
    registry("minimumStake", []),
    registry("slashAmount", []),
    registry("nextStakeTerms", []),
    registry("unbondingPeriod", []),
    token("balanceOf", [account]),
  ]);
  const next = changeAt === 0 ? null : { minimum: nextMinimum, slash: nextSlash, changeAt };
  return { minimum, slash, next, unbondingSeconds, held: held / STAKE_UNIT };
}

/** The changes of a worker that take one call, with their arguments after the worker's signing key. */
type Change =
  | ["startUnbonding" | "cancelUnbonding"]
  | ["withdrawStake" | "setPayout", Address]
  | ["setEndpoint", string]
  | ["setHosting", readonly number[], boolean];

/** Has the worker's owner change it. */
export function changeWorker(
  { wallet, app, account, onProgress }: ContractContext,
  signer: Address,
  [functionName, ...args]: Change,
): Promise<Hex> {
  return transact(wallet, account, { ...registryOf(app), functionName, args: [signer, ...args] }, onProgress);
}

/** Adds stake, millionths of an SVC: an approval unless the registry may take so much already, then one transaction. */
export async function addStake(context: ContractContext, signer: Address, stake: bigint): Promise<Hex> {
  const { wallet, app, account, onProgress } = context;
  const step = await allowStake(context, stake);
  const call = { ...registryOf(app), functionName: "addStake", args: [signer, stake] };
  return await transact(wallet, account, call, onProgress, `Confirm the stake in your wallet${step}`);
}

export type NewWorker = { payout: Address; endpoint: string; models: readonly number[]; stake: bigint };

/** Registers a worker that the wallet owns. Its signing key consents to that owner. */
export async function register(
  context: ContractContext,
  signer: { address: Address; sign: (data: Awaited<ReturnType<typeof enrollmentOf>>) => Promise<Hex> },
  { payout, endpoint, models, stake }: NewWorker,
): Promise<Hex> {
  const { wallet, app, account, onProgress } = context;
  const { compactSignature } = await import("../../../protocol/messages.ts");
  const enrollment = compactSignature(await signer.sign(await enrollmentOf(app, account)));
  const step = await allowStake(context, stake);
  const args = [signer.address, payout, endpoint, models, stake, enrollment];
  const call = { ...registryOf(app), functionName: "register", args };
  return await transact(wallet, account, call, onProgress, `Confirm the registration in your wallet${step}`);
}

async function enrollmentOf(app: AppConfig, owner: Address) {
  const { enrollmentTypes, registryDomain } = await import("../../../protocol/messages.ts");
  const domain = registryDomain(app.chain_id, registryOf(app).address);
  return { domain, types: enrollmentTypes, primaryType: "Enrollment", message: { owner } } as const;
}

/** Has the registry allowed to take the stake. Returns which step comes next, if there was one before. */
async function allowStake(context: ContractContext, stake: bigint): Promise<string> {
  const { wallet, app, account } = context;
  const [token, spender] = [stakeTokenOf(app), registryOf(app).address];
  const allowed = await readerOf(wallet.getClient(), token)("allowance", [account, spender]);
  const value = stake * STAKE_UNIT;
  if (allowed >= value) return "";
  await approveFor(context, { token: token.address, spender, value });
  return " (2 of 2)";
}
