/** The demo account of a local stack, as a wallet (EIP-1193) in the page. */
import { createWalletClient, type Hex, http, numberToHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { app } from "../data/app.ts";
import { call } from "../data/client.ts";
import { askNode } from "./local-node.ts";

async function account() {
  const { private_key } = await call<{ private_key: Hex | null }>("GET", "/demo");
  if (private_key === null) throw new Error("The demo account is there for pages of this machine only.");
  return privateKeyToAccount(private_key);
}

/** Answers a request of the page: signs and sends as asked, and hands the rest to the node. */
export async function answer({ method, params }: { method: string; params?: unknown }): Promise<unknown> {
  const [first, second] = (params ?? []) as [never, never];
  switch (method) {
    case "eth_chainId":
      return numberToHex(app.chain_id);
    case "eth_accounts":
    case "eth_requestAccounts":
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
