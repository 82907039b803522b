import { type Abi, type Address, BaseError, encodeFunctionData, type Hex } from "viem";
import { getConnection, simulateContract, switchChain, writeContract } from "wagmi/actions";
import type { WalletConfig } from "./config.ts";
import { chainOf, mined } from "./mined.ts";

/** A call of a contract, as viem takes it. */
export type ContractCall = {
  address: Address;
  abi: Abi | readonly unknown[];
  functionName: string;
  args: readonly unknown[];
};

/** How far a transaction is; `hash` is known from `mining` on, and another one at the end where the wallet raised the fee. */
export type Progress = { step: "wallet"; what: string } | { step: "mining"; hash: Hex } | { step: "done"; hash: Hex };

/** The wallet's account is not the one that is signed in. */
export class OtherAccount extends Error {
  constructor(wallet: Address, session: Address) {
    super(
      `The wallet uses ${wallet}, but you are signed in as ${session}. Switch the account in your wallet, or sign in again.`,
    );
    this.name = "OtherAccount";
  }
}

/** Makes sure that the wallet is connected as `account` and on the settlement chain; asks it to switch if it is not. */
export async function readyWallet(wallet: WalletConfig, account: Address): Promise<void> {
  const { status, address, chainId } = getConnection(wallet);
  if (status !== "connected" || address === undefined) {
    throw new Error("The wallet is not connected to this page any more. Connect it and try again.");
  }
  if (address !== account) throw new OtherAccount(address, account);
  const [chain] = wallet.chains;
  if (chainId !== chain.id) await switchChain(wallet, { chainId: chain.id });
}

/**
 * Sends a call and waits until it is mined. It is tried out first, so that a call the contract would refuse costs nothing and says
 * why. Rejects with what was thrown, and with `Replaced` when the wallet's owner cancelled it; `tell` has the words. Returns the hash
 * under which it was mined.
 */
export async function transact(
  wallet: WalletConfig,
  account: Address,
  call: ContractCall,
  onProgress: (progress: Progress) => void,
  what = "Confirm the transaction in your wallet",
): Promise<Hex> {
  await readyWallet(wallet, account);
  const request = { ...call, abi: call.abi as Abi, account } as const;
  await simulateContract(wallet, request);
  onProgress({ step: "wallet", what });
  const hash = await writeContract(wallet, request);
  onProgress({ step: "mining", hash });
  const sent = { hash, from: account, to: call.address, data: encodeFunctionData(request) };
  const receipt = await mined(chainOf(wallet.getClient()), sent);
  if (receipt.status === "reverted") {
    // Between trying and mining something changed; the same call on the chain of now says what.
    await simulateContract(wallet, request);
    throw new BaseError("The transaction was reverted, and the chain does not say why.");
  }
  onProgress({ step: "done", hash: receipt.transactionHash });
  return receipt.transactionHash;
}
