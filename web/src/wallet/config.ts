import { custom, defineChain, type EIP1193RequestFn } from "viem";
import { createConfig, injected } from "wagmi";
import { getConnection } from "wagmi/actions";
import { app } from "../data/app.ts";
import { demoWallet } from "./demo-wallet.ts";

/** The settlement chain as viem and wallets describe one. */
const chain = defineChain({
  id: app.chain_id,
  name: app.chain_name,
  nativeCurrency: { name: app.currency, symbol: app.currency, decimals: 18 },
  rpcUrls: { default: { http: app.rpc_url === null ? [] : [app.rpc_url] } },
});

/** A request to the wallet that is connected now, whichever of several it is. */
const request = (async (call: { method: string; params?: unknown }) => {
  const { connector } = getConnection(walletConfig);
  if (connector === undefined) throw new Error("The wallet is not connected to this page.");
  const provider = (await connector.getProvider()) as { request: (call: unknown) => Promise<unknown> };
  return await provider.request(call);
}) as EIP1193RequestFn;

/** Transactions, and reads about the wallet, go through the wallet in the browser (EIP-1193, found by EIP-6963). */
export const walletConfig = createConfig({
  chains: [chain],
  connectors: app.development && app.rpc_url !== null ? [injected(), demoWallet] : [injected()],
  transports: { [chain.id]: custom({ request }, { retryCount: 1 }) },
  pollingInterval: app.development ? 500 : 4_000,
});
