import type { Abi, Address } from "viem";
import { addChain } from "viem/actions";
import { getConnection, switchChain } from "wagmi/actions";
import { walletConfig } from "./config.ts";
import { codeOf, wasDeclined } from "./declined.ts";
import type { ContractCall, Progress } from "./send.ts";

/** The account that sends, and the function that hears of the progress. */
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
  if (chainId !== walletConfig.chains[0].id) await switchToOurChain();
}

/** Codes that say nothing: of an internal error, and of any error of a server. */
const MEANINGLESS = new Set([-32603, -32000]);

/**
 * Asks the wallet to switch to the settlement chain. wagmi has a wallet add the chain that says with a code that it does not know it (4902). Some
 * say it in words of their own: whatever was not declined, and has no code that means something else, may mean that.
 */
export async function switchToOurChain(): Promise<void> {
  const [chain] = walletConfig.chains;
  try {
    await switchChain(walletConfig, { chainId: chain.id });
  } catch (error) {
    const code = codeOf(error);
    if (wasDeclined(error) || (code !== null && !MEANINGLESS.has(code))) throw error;
    await addChain(walletConfig.getClient(), { chain }).catch((refused) => {
      throw wasDeclined(refused) ? refused : error;
    });
    await switchChain(walletConfig, { chainId: chain.id });
  }
}

/**
 * Sends calls one after the other, each once the one before is mined. The last one alone is reported as done: the others are steps on the way to it.
 * Each is tried out first, so that a call the contract would refuse costs nothing and says why. Rejects with what was thrown, and with `Replaced`
 * when the wallet's owner cancelled it; `walletErrorMessage` has the words. `before`: steps that the wallet has taken already, such as a signature. What sends
 * is loaded now, and not with the page.
 */
export async function transact(
  { account, onProgress }: Sender,
  calls: readonly ContractCall[],
  { before = 0 } = {},
): Promise<void> {
  const steps = before + calls.length;
  for (const [n, { what = "Confirm the transaction", ...call }] of calls.entries()) {
    await readyWallet(account);
    const { send } = await import("./send.ts");
    const place = steps > 1 ? ` (${before + n + 1} of ${steps})` : "";
    const onStep: Sender["onProgress"] = (progress) => {
      if (progress.step !== "done" || n === calls.length - 1) onProgress(progress);
    };
    await send({ ...call, abi: call.abi as Abi, account }, onStep, `${what} in your wallet${place}`);
  }
}
