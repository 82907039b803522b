/** The demo account of a local stack as one more wallet to choose from: who tries the service out needs no wallet of their own. */
import { injected } from "wagmi";

export const DEMO_WALLET = "demo-account";

/** Answers a call of the demo wallet, whose code is loaded when somebody chooses it. */
async function request(call: { method: string; params?: unknown }): Promise<unknown> {
  if (call.method === "eth_requestAccounts") localStorage.setItem(DEMO_WALLET, "chosen");
  // A page connects it again by itself only for those who chose it.
  if (call.method === "eth_accounts" && localStorage.getItem(DEMO_WALLET) === null) return [];
  return (await import("./demo-account.ts")).answer(call);
}

const provider = { request, on: () => provider, removeListener: () => provider };

export const demoWallet = injected({
  target: { id: DEMO_WALLET, name: "the demo account", provider: provider as never },
  shimDisconnect: false,
});
