/** The demo account of a local stack as a wallet (EIP-1193) in the page: who tries the service out needs no wallet of their own. */
import { createWalletClient, type Hex, http, numberToHex } from "viem";
import { injected } from "wagmi";
import { app } from "../data/app.ts";
import { call } from "../data/client.ts";
import { askNode } from "./local-node.ts";

export const DEMO_WALLET = "demo-account";

/** Kept in the browser, so that the page connects it again only for those who chose it. */
const chosen = {
  get: () => localStorage.getItem(DEMO_WALLET) !== null,
  set: () => localStorage.setItem(DEMO_WALLET, "chosen"),
};

/** Its key; what signs with it is loaded when somebody chooses it. */
async function account() {
  const { privateKeyToAccount } = await import("viem/accounts");
  const { private_key } = await call<{ private_key: Hex | null }>("GET", "/demo");
  if (private_key === null) throw new Error("The demo account is there for pages of this machine only.");
  return privateKeyToAccount(private_key);
}

type Request = { method: string; params?: unknown };

async function request({ method, params }: Request): Promise<unknown> {
  const [first, second] = (params ?? []) as [never, never];
  switch (method) {
    case "eth_chainId":
      return numberToHex(app.chain_id);
    case "eth_accounts":
      return chosen.get() ? [(await account()).address] : [];
    case "eth_requestAccounts":
      chosen.set();
      return [(await account()).address];
    case "personal_sign":
      return (await account()).signMessage({ message: { raw: first } });
    case "eth_signTypedData_v4":
      return (await account()).signTypedData(JSON.parse(second));
    case "eth_sendTransaction": {
      const wallet = createWalletClient({ account: await account(), transport: http(app.rpc_url ?? "") });
      const { to, data } = first as { to: Hex; data?: Hex };
      return await wallet.sendTransaction({ to, ...(data && { data }), chain: null });
    }
    case "wallet_switchEthereumChain":
      return null;
    default:
      if (method.startsWith("wallet_")) throw Object.assign(new Error("not supported"), { code: 4200 });
      return await askNode(method, params);
  }
}

const provider = { request, on: () => provider, removeListener: () => provider };

/** One more wallet to choose from, on a local stack. */
export const demoWallet = injected({
  target: { id: DEMO_WALLET, name: "the demo account", provider: provider as never },
  shimDisconnect: false,
});
