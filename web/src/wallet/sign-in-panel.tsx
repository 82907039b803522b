import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Connector, useConnectors } from "wagmi";
import { app } from "../data/app.ts";
import { sessionQuery } from "../data/queries.ts";
import type { Told } from "../data/told.ts";
import { Button } from "../ui/controls.tsx";
import { Card, Failure, Notice } from "../ui/page.tsx";
import { walletConfig } from "./config.ts";
import { signIn } from "./sign-in.ts";
import { inWords } from "./use-wallet.ts";

/** Signing in with one of the wallets of this browser; says what is missing when there is none. */
function useSignIn() {
  const cache = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<Told | null>(null);
  const start = async (connector: Connector) => {
    setBusy(true);
    setFailed(null);
    try {
      const state = await signIn(walletConfig, app, connector);
      cache.removeQueries({ queryKey: ["own"] });
      cache.setQueryData(sessionQuery.queryKey, state);
    } catch (error) {
      setFailed(await inWords(error));
    } finally {
      setBusy(false);
    }
  };
  return { busy, failed, start };
}

/** Wallets that announce themselves (EIP-6963) by name; the nameless injected one only if none does. */
export function useWallets(): { connectors: readonly Connector[]; none: boolean } {
  const all = useConnectors();
  const announced = all.filter((connector) => connector.id !== "injected");
  const injected = "ethereum" in window;
  const connectors = announced.length > 0 ? announced : injected ? all : [];
  return { connectors, none: connectors.length === 0 };
}

export function SignInPanel({ reason }: { reason: string }) {
  const { connectors, none } = useWallets();
  const { busy, failed, start } = useSignIn();
  const { data } = useQuery(sessionQuery);
  return (
    <Card title="Sign in with your wallet" className="narrow">
      {data?.ended ? (
        <Notice tone="warn" title="Your session has ended">
          <p>Sign in again to go on; nothing was lost.</p>
        </Notice>
      ) : null}
      <p>{reason} You sign a short message; it costs nothing and moves nothing.</p>
      <div className="stack">
        {connectors.map((connector) => (
          <Button key={connector.uid} kind="primary" busy={busy} onClick={() => void start(connector)}>
            {connector.id === "injected" ? "Sign in with wallet" : `Sign in with ${connector.name}`}
          </Button>
        ))}
      </div>
      {none ? (
        <Notice tone="warn" title="No wallet found in this browser">
          <p>Install a browser wallet for Ethereum, allow it on this page, then reload.</p>
        </Notice>
      ) : null}
      {failed ? <Failure told={failed} /> : null}
      <DemoHint />
    </Card>
  );
}

/** On a development chain only: where to find an account with credits. */
function DemoHint() {
  if (!app.development) return null;
  return (
    <p className="hint">
      Local development: import the demo account into your wallet. Its private key is <code>demo.private_key</code> in{" "}
      <code>stack.json</code> in the data folder (<code>.data/</code>); the chain is {app.rpc_url ?? "the gateway's"},
      id {app.chain_id}.
    </p>
  );
}
