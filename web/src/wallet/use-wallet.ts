import { useQuery } from "@tanstack/react-query";
import type { Address } from "viem";
import { useConnection } from "wagmi";
import { app } from "../data/app.ts";
import { type ErrorMessage, errorMessageOf } from "../data/error-message.ts";
import { sessionQuery } from "../data/queries.ts";

/** The signed-in wallet, and whether the browser's wallet is the same one and on the right chain. */
export function useWallet() {
  const session = useQuery(sessionQuery).data?.session ?? null;
  const { address, chainId, status } = useConnection();
  const connected = status === "connected";
  return {
    session,
    connected,
    address,
    otherAccount: connected && session ? address !== session.wallet : false,
    wrongChain: connected && chainId !== undefined && chainId !== app.chain_id,
  };
}

/** A query of the chain through the browser's wallet, while that is connected to the right chain. */
export function useChain<T>(name: string, of: unknown, read: (account: Address) => Promise<T>) {
  const { session, connected, wrongChain } = useWallet();
  return useQuery({
    queryKey: ["chain", name, of, session?.wallet],
    queryFn: () => read(session?.wallet as Address),
    enabled: session !== null && connected && !wrongChain,
    refetchInterval: 10_000,
  });
}

/** The words for an error of a wallet, the chain or the service; they are loaded when they are needed. */
export const inWords = (error: unknown): Promise<ErrorMessage> =>
  import("./errors.ts").then(
    ({ walletErrorMessage }) => walletErrorMessage(error),
    () => errorMessageOf(error),
  );
