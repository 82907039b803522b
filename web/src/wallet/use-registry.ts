import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Address, Hex } from "viem";
import { app } from "../data/app.ts";
import { walletConfig } from "./config.ts";
import type { ContractContext } from "./ledger.ts";
import { readTerms, readWorker } from "./registry.ts";
import { useWalletContext } from "./use-token.ts";
import { useAction, useWallet } from "./use-wallet.ts";

/** A query of the chain through the browser's wallet, while that is connected to the right chain. */
function useChain<T>(name: string, of: unknown, read: (account: Address) => Promise<T>) {
  const { session, connected, wrongChain } = useWallet();
  return useQuery({
    queryKey: ["chain", name, of, session?.wallet],
    queryFn: () => read(session?.wallet as Address),
    enabled: session !== null && connected && !wrongChain,
    refetchInterval: 10_000,
  });
}

/** A worker by its number, as the chain has it now. */
export const useRegistered = (number: number) =>
  useChain("worker", number, () => readWorker(walletConfig, app, number));

/** What the registry demands, and what of it the wallet has. */
export const useTerms = () => useChain("terms", null, (account) => readTerms(walletConfig, app, account));

/** Runs one transaction of the signed-in wallet at a time. It is `busy` until the page has read anew what that changed. */
export function useTransaction() {
  const cache = useQueryClient();
  const context = useWalletContext();
  const { state, run } = useAction();
  const [busy, setBusy] = useState(false);
  const send = async (action: (context: ContractContext) => Promise<Hex>): Promise<boolean> => {
    setBusy(true);
    const worked = await run((onProgress) => action(context(onProgress)));
    await cache.invalidateQueries();
    setBusy(false);
    return worked;
  };
  return { state, busy, send };
}
