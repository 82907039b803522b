import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { Address } from "viem";
import { app } from "../data/app.ts";
import { walletConfig } from "./config.ts";
import { tokenBalance } from "./ledger.ts";
import { type ContractCall, type Progress, transact } from "./transact.ts";
import { useAction, useWallet } from "./use-wallet.ts";

/** Token units in the signed-in wallet, read through the browser's wallet; undefined while it is not connected to the right chain. */
export function useTokenBalance() {
  const { session, connected, wrongChain } = useWallet();
  return useQuery({
    queryKey: ["token", session?.wallet],
    queryFn: () => tokenBalance(walletConfig, app, session?.wallet as Address),
    enabled: session !== null && connected && !wrongChain,
    refetchInterval: 10_000,
  });
}

/** What wallet actions need, for the signed-in wallet. */
export function useWalletContext() {
  const { session } = useWallet();
  return (onProgress: (progress: Progress) => void) => {
    if (session === null) throw new Error("Sign in first.");
    return { app, wallet: walletConfig, account: session.wallet, onProgress };
  };
}

/** The wallet that is connected, signed in or not: whoever acts on the chain alone needs no session. */
export function useConnectedWallet() {
  const { connected, address } = useWallet();
  const context = (onProgress: (progress: Progress) => void) => {
    if (address === undefined) throw new Error("Connect a wallet first.");
    return { app, wallet: walletConfig, account: address, onProgress };
  };
  return { connected, address, context };
}

/** One call of the connected wallet at a time, and how far it is. What was read before is read again after it. */
export function useCall() {
  const cache = useQueryClient();
  const { context } = useConnectedWallet();
  const { state, busy, run } = useAction();
  /** True when it went through. */
  const send = async (call: ContractCall): Promise<boolean> => {
    const sent = await run((onProgress) => {
      const { wallet, account } = context(onProgress);
      return transact(wallet, account, call, onProgress);
    });
    if (sent) await cache.invalidateQueries();
    return sent;
  };
  return { state, busy, send };
}
