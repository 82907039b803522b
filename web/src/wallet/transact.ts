import type { Abi, Address, Hex } from "viem";
import { getConnection, switchChain } from "wagmi/actions";
import type { WalletConfig } from "./config.ts";
import type { ContractCall, Progress } from "./send.ts";

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
 * under which it was mined. What sends is loaded now, and not with the page.
 */
export async function transact(
  wallet: WalletConfig,
  account: Address,
  call: ContractCall,
  onProgress: (progress: Progress) => void,
  what = "Confirm the transaction in your wallet",
): Promise<Hex> {
  await readyWallet(wallet, account);
  const { send } = await import("./send.ts");
  return await send(wallet, { ...call, abi: call.abi as Abi, account }, onProgress, what);
}
