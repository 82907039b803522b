import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Hex } from "viem";
import { useConnection } from "wagmi";
import { app } from "../data/app.ts";
import { sessionQuery } from "../data/queries.ts";
import { type Told, tellFailure } from "../data/told.ts";
import type { Progress } from "./send.ts";

/** Who is signed in, and whether the wallet in the browser is theirs and on the right chain. */
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

export type ActionState =
  | { step: "idle" }
  | { step: "starting" }
  | Progress
  | { step: "failed"; told: Told; hash: Hex | null };

/** What a wallet, the chain or the service threw; the words are loaded when they are needed. */
export const inWords = (error: unknown): Promise<Told> =>
  import("./errors.ts").then(
    ({ tell }) => tell(error),
    () => tellFailure(error),
  );

/** Runs one wallet action at a time and says how far it is. */
export function useAction() {
  const [state, setState] = useState<ActionState>({ step: "idle" });
  const busy = state.step === "starting" || state.step === "wallet" || state.step === "mining";

  /** True when it went through. */
  const run = async (action: (onProgress: (progress: Progress) => void) => Promise<unknown>): Promise<boolean> => {
    let hash: Hex | null = null;
    setState({ step: "starting" });
    try {
      await action((progress) => {
        if ("hash" in progress) hash = progress.hash;
        setState(progress);
      });
      return true;
    } catch (error) {
      setState({ step: "failed", told: await inWords(error), hash });
      return false;
    }
  };
  return { state, busy, run, reset: () => setState({ step: "idle" }) };
}
