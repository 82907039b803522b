import { useQuery } from "@tanstack/react-query";
import type { Address } from "viem";
import { tokenBalance } from "./ledger.ts";
import type { Progress } from "./transact.ts";
import { useApp, useWallet, useWalletConfig } from "./use-wallet.ts";

/** Token units in the signed-in wallet, read through the browser's wallet; undefined while it is not connected to the right chain. */
export function useTokenBalance() {
  const app = useApp();
  const wallet = useWalletConfig();
  const { session, connected, wrongChain } = useWallet();
  return useQuery({
    queryKey: ["token", session?.wallet],
    queryFn: () => tokenBalance(wallet, app, session?.wallet as Address),
    enabled: session !== null && connected && !wrongChain,
    refetchInterval: 10_000,
  });
}

/** What wallet actions need, for the signed-in wallet. */
export function useWalletContext() {
  const app = useApp();
  const wallet = useWalletConfig();
  const { session } = useWallet();
  return (onProgress: (progress: Progress) => void) => {
    if (session === null) throw new Error("Sign in first.");
    return { app, wallet, account: session.wallet, onProgress };
  };
}
