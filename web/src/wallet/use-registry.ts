import { useQuery } from "@tanstack/react-query";
import type { Address } from "viem";
import { app } from "../data/app.ts";
import { walletConfig } from "./config.ts";
import { readTerms, readWorker } from "./registry.ts";
import { useWallet } from "./use-wallet.ts";

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
