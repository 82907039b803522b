/** The demo account of a local stack as one more wallet to choose from: who tries the service out needs no wallet of their own. */
import { injected } from "wagmi";

export const DEMO_WALLET = "demo-account";

/** What it does is loaded when somebody chooses it. */
const request = async (call: { method: string; params?: unknown }): Promise<unknown> =>
  // A page connects it again by itself only for those who chose it.
  call.method === "eth_accounts" && localStorage.getItem(DEMO_WALLET) === null
    ? []
    : (await import("./demo-account.ts")).answer(call);

const provider = { request, on: () => provider, removeListener: () => provider };

export const demoWallet = injected({
  target: { id: DEMO_WALLET, name: "the demo account", provider: provider as never },
  shimDisconnect: false,
});
