/** The worker registry as the wallet sees and calls it: stake, unbonding, and how a worker is registered. */
import { type Address, type ContractFunctionReturnType, erc20Abi, type Hex } from "viem";
import { workerRegistryAbi } from "../../../protocol/generated/abi.ts";
import { readerOf } from "../../../shared/contract-reader.ts";
import { app } from "../data/app.ts";
import { walletConfig } from "./config.ts";
import { approval } from "./ledger.ts";
import type { ContractCall } from "./send.ts";
import { type Sender, transact } from "./transact.ts";
import { useChain } from "./use-wallet.ts";

/** Base units of SVC in a millionth of one, in which the registry counts stake. */
const STAKE_UNIT = 10n ** 12n;

const REGISTRY = { address: app.contracts["WorkerRegistry"] as Address, abi: workerRegistryAbi } as const;
const STAKE_TOKEN = { address: app.contracts["ServiceToken"] as Address, abi: erc20Abi } as const;
const readRegistry = () => readerOf(walletConfig.getClient(), REGISTRY);
const readStakeToken = () => readerOf(walletConfig.getClient(), STAKE_TOKEN);

export type Registered = ContractFunctionReturnType<typeof workerRegistryAbi, "view", "workerAt">;

/** The stake that the registry demands, in millionths of an SVC, and the SVC that the wallet has. */
export type StakeTerms = {
  minimum: bigint;
  slash: bigint;
  /** Announced: in force from `changeAt` on (Unix seconds); null if nothing is announced. */
  next: { minimum: bigint; slash: bigint; changeAt: number } | null;
  unbondingSeconds: number;
  /** The SVC that the wallet holds, whole millionths. */
  held: bigint;
};

/** A worker by its number, as the chain has it now. */
export const useRegistered = (number: number) => useChain("worker", number, () => readRegistry()("workerAt", [number]));

/** The stake that the registry demands, and the SVC that the wallet has. */
export const useTerms = () => useChain("terms", null, readTerms);

async function readTerms(account: Address): Promise<StakeTerms> {
  const registry = readRegistry();
  const [minimum, slash, [nextMinimum, nextSlash, changeAt], unbondingSeconds, held] = await Promise.all([
    registry("minimumStake", []),
    registry("slashAmount", []),
    registry("nextStakeTerms", []),
    registry("unbondingPeriod", []),
    readStakeToken()("balanceOf", [account]),
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
export const changeWorker = (signer: Address, ...[functionName, ...args]: Change): ContractCall => ({
  ...REGISTRY,
  functionName,
  args: [signer, ...args],
});

/** Adds stake, millionths of an SVC: an approval unless the registry may take so much already, then one transaction. */
export async function addStake(sender: Sender, signer: Address, stake: bigint): Promise<void> {
  const call = { ...REGISTRY, functionName: "addStake", args: [signer, stake], what: "Confirm the stake" };
  await transact(sender, [...(await allowStake(sender.account, stake)), call]);
}

type NewWorker = { payout: Address; endpoint: string; models: readonly number[]; stake: bigint };

/** Registers a worker that the wallet owns. Its signing key consents to that owner. */
export async function register(
  sender: Sender,
  signer: { address: Address; sign: (data: Awaited<ReturnType<typeof enrollmentOf>>) => Promise<Hex> },
  { payout, endpoint, models, stake }: NewWorker,
): Promise<void> {
  const { compactSignature } = await import("../../../protocol/messages.ts");
  const enrollment = compactSignature(await signer.sign(await enrollmentOf(sender.account)));
  const args = [signer.address, payout, endpoint, models, stake, enrollment];
  const call = { ...REGISTRY, functionName: "register", args, what: "Confirm the registration" };
  await transact(sender, [...(await allowStake(sender.account, stake)), call]);
}

async function enrollmentOf(owner: Address) {
  const { enrollmentTypes, registryDomain } = await import("../../../protocol/messages.ts");
  const domain = registryDomain(app.chain_id, REGISTRY.address);
  return { domain, types: enrollmentTypes, primaryType: "Enrollment", message: { owner } } as const;
}

/** The approval of the stake; none where the registry may take so much already. */
async function allowStake(account: Address, stake: bigint): Promise<ContractCall[]> {
  const [token, spender] = [STAKE_TOKEN.address, REGISTRY.address];
  const allowed = await readStakeToken()("allowance", [account, spender]);
  const value = stake * STAKE_UNIT;
  return allowed >= value ? [] : [approval({ token, spender, value })];
}
