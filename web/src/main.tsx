import { QueryClientProvider, useQuery } from "@tanstack/react-query";
import { StrictMode, useMemo } from "react";
import { createRoot } from "react-dom/client";
import { WagmiProvider } from "wagmi";
import { createCache } from "./data/client-cache.ts";
import { configQuery } from "./data/queries.ts";
import { Pages } from "./pages.tsx";
import { Configured } from "./shell.tsx";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/parts.css";
import "./styles/pages.css";
import { createWalletConfig } from "./wallet/config.ts";

function WithWallet() {
  const { data: app } = useQuery(configQuery);
  const config = useMemo(() => (app === undefined ? null : createWalletConfig(app)), [app]);
  if (config === null) return null;
  return (
    <WagmiProvider config={config}>
      <Pages />
    </WagmiProvider>
  );
}

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={createCache()}>
      <Configured>
        <WithWallet />
      </Configured>
    </QueryClientProvider>
  </StrictMode>,
);
