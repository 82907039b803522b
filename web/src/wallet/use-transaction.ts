import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Address } from "viem";
import type { ErrorMessage } from "../data/error-message.ts";
import type { ContractCall, Progress } from "./send.ts";
import { type Sender, transact } from "./transact.ts";
import { inWords, useWallet } from "./use-wallet.ts";

export type ActionState =
  | { step: "idle" }
  | { step: "starting" }
  | Progress
  | { step: "failed"; message: ErrorMessage };

/** Calls, or what sends them once it has read or signed something. */
type Action = ContractCall | ContractCall[] | ((sender: Sender) => Promise<void>);

/** One action at a time, and how far it is. It is `busy` until the page has read anew what that changed. */
function useAction(account: Address | undefined) {
  const cache = useQueryClient();
  const { connected } = useWallet();
  const [state, setState] = useState<ActionState>({ step: "idle" });
  const [busy, setBusy] = useState(false);
  /** True when it went through. `onMined` runs then, before the page reads anew. */
  const send = async (action: Action, onMined?: () => void): Promise<boolean> => {
    setBusy(true);
    setState({ step: "starting" });
    let worked = false;
    try {
      if (account === undefined) throw new Error("Connect a wallet and sign in first.");
      const sender = { account, onProgress: setState };
      await (typeof action === "function" ? action(sender) : transact(sender, [action].flat()));
      worked = true;
      onMined?.();
    } catch (error) {
      setState({ step: "failed", message: await inWords(error) });
    }
    await cache.invalidateQueries();
    setBusy(false);
    return worked;
  };
  return { state, busy, connected, send, reset: () => setState({ step: "idle" }) };
}

/** Transactions of the signed-in wallet. */
export const useTransaction = () => useAction(useWallet().session?.wallet);

/** Transactions of the connected wallet, signed in or not: whoever acts on the chain alone needs no session. */
export const useConnectedTransaction = () => useAction(useWallet().address);
