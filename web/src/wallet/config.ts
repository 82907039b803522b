import { defineChain } from "viem";
import { createConfig, injected, unstable_connector } from "wagmi";
import type { AppConfig } from "../data/types.ts";

/** The settlement chain as viem and wallets describe one. */
export function chainOf(app: AppConfig) {
  return defineChain({
    id: app.chain_id,
    name: app.chain_name,
    nativeCurrency: { name: app.currency, symbol: app.currency, decimals: 18 },
    rpcUrls: { default: { http: app.rpc_url === null ? [] : [app.rpc_url] } },
  });
}

/**
 * Everything goes through the wallet in the browser (EIP-1193, found by EIP-6963): the page itself connects to no node, so its
 * content security policy needs no foreign host.
 */
export function createWalletConfig(app: AppConfig) {
  const chain = chainOf(app);
  return createConfig({
    chains: [chain],
    connectors: [injected()],
    transports: { [chain.id]: unstable_connector(injected) },
    pollingInterval: app.development ? 500 : 4_000,
  });
}

export type WalletConfig = ReturnType<typeof createWalletConfig>;
