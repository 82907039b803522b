import type { Abi, Address, Hex } from "viem";
import { getConnection, switchChain } from "wagmi/actions";
import { walletConfig } from "./config.ts";
import type { ContractCall, Progress } from "./send.ts";

/** Who sends, and who hears how far it is. */
export type Sender = { account: Address; onProgress: (progress: Progress) => void };

/** Makes sure that the wallet is connected as `account` and on the settlement chain; asks it to switch if it is not. */
export async function readyWallet(account: Address): Promise<void> {
  const { status, address, chainId } = getConnection(walletConfig);
  if (status !== "connected" || address === undefined) {
    throw new Error("The wallet is not connected to this page any more. Connect it and try again.");
  }
  if (address !== account) {
    throw new Error(
      `The wallet uses ${address}, but you are signed in as ${account}. Switch the account in your wallet, or sign in again.`,
    );
  }
  const [chain] = walletConfig.chains;
  if (chainId !== chain.id) await switchChain(walletConfig, { chainId: chain.id });
}

/**
 * Sends a call and waits until it is mined. It is tried out first, so that a call the contract would refuse costs nothing and says
 * why. Rejects with what was thrown, and with `Replaced` when the wallet's owner cancelled it; `tell` has the words. Returns the hash
 * under which it was mined. What sends is loaded now, and not with the page.
 */
export async function transact(
  { account, onProgress }: Sender,
  call: ContractCall,
  what = "Confirm the transaction in your wallet",
): Promise<Hex> {
  await readyWallet(account);
  const { send } = await import("./send.ts");
  return await send({ ...call, abi: call.abi as Abi, account }, onProgress, what);
}

/** Sends calls one after the other, each when the one before is mined. The last one alone is told as done. */
export async function transactAll(sender: Sender, calls: readonly ContractCall[]): Promise<void> {
  for (const [n, call] of calls.entries()) {
    const place = calls.length > 1 ? ` (${n + 1} of ${calls.length})` : "";
    const onProgress: Sender["onProgress"] = (progress) => {
      if (progress.step !== "done" || n === calls.length - 1) sender.onProgress(progress);
    };
    await transact({ ...sender, onProgress }, call, `Confirm the transaction in your wallet${place}`);
  }
}
