import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Address, Hex } from "viem";
import { app } from "../data/app.ts";
import { walletConfig } from "./config.ts";
import { type ContractContext, tokenBalance } from "./ledger.ts";
import type { ContractCall, Progress } from "./send.ts";
import { transact } from "./transact.ts";
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

/** One transaction at a time, and how far it is. It is `busy` until the page has read anew what that changed. */
function useSender(context: (onProgress: (progress: Progress) => void) => ContractContext) {
  const cache = useQueryClient();
  const { state, run } = useAction();
  const [busy, setBusy] = useState(false);
  /** True when it went through. */
  const send = async (action: (context: ContractContext) => Promise<Hex>): Promise<boolean> => {
    setBusy(true);
    const worked = await run((onProgress) => action(context(onProgress)));
    await cache.invalidateQueries();
    setBusy(false);
    return worked;
  };
  return { state, busy, send };
}

/** Transactions of the signed-in wallet. */
export const useTransaction = () => useSender(useWalletContext());

/** Calls of the connected wallet, each of one contract. */
export function useCall() {
  const { state, busy, send } = useSender(useConnectedWallet().context);
  return {
    state,
    busy,
    send: (call: ContractCall) =>
      send(({ wallet, account, onProgress }) => transact(wallet, account, call, onProgress)),
  };
}
