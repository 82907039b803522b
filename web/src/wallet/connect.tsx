/** Connecting the browser's wallet to the page, and signing in with it. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
import { createSiweMessage } from "viem/siwe";
import { type Connector, useConnect, useConnectors } from "wagmi";
import { connect, getConnection, signMessage } from "wagmi/actions";
import type { SessionState } from "../../contract.ts";
import { app } from "../data/app.ts";
import { call } from "../data/client.ts";
import type { ErrorMessage } from "../data/error-message.ts";
import { demoQuery, sessionQuery } from "../data/queries.ts";
import { Button } from "../ui/controls.tsx";
import { Card, Failure, Notice } from "../ui/page.tsx";
import { walletConfig } from "./config.ts";
import { DEMO_WALLET } from "./demo-wallet.ts";
import { inWords } from "./use-wallet.ts";

/** Wallets that announce themselves (EIP-6963) by name; the nameless injected one only if none does. */
function useWallets(): { connectors: readonly Connector[]; none: boolean } {
  const all = useConnectors().filter((connector) => connector.id !== DEMO_WALLET);
  const announced = all.filter((connector) => connector.id !== "injected");
  const injected = useSyncExternalStore(watchInjected, () => "ethereum" in window);
  const connectors = announced.length > 0 ? announced : injected ? all : [];
  return { connectors, none: connectors.length === 0 };
}

/** So often a page looks whether a wallet has come that announces itself to nobody. */
const LOOK_MS = 500;

/** Wallets put themselves into the page when they are ready, which can be long after it: with an event that some of them send, or without. */
function watchInjected(changed: () => void): () => void {
  window.addEventListener("ethereum#initialized", changed);
  const timer = setInterval(changed, LOOK_MS);
  return () => {
    window.removeEventListener("ethereum#initialized", changed);
    clearInterval(timer);
  };
}

/** Stands in place of a page until somebody signs in; `reason` says what for. */
export function SignInPanel({ reason }: { reason: string }) {
  const { connectors, none } = useWallets();
  const cache = useQueryClient();
  const { data } = useQuery(sessionQuery);
  const demo = useDemoWallet();
  const signing = useMutation({
    mutationFn: signIn,
    onSuccess: (state) => {
      cache.removeQueries({ queryKey: ["own"] });
      cache.setQueryData(sessionQuery.queryKey, state);
    },
  });
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
          <Button key={connector.uid} kind="primary" busy={signing.isPending} onClick={() => signing.mutate(connector)}>
            {connector.id === "injected" ? "Sign in with wallet" : `Sign in with ${connector.name}`}
          </Button>
        ))}
      </div>
      {none && demo === undefined ? (
        <Notice tone="warn" title="No wallet found in this browser">
          <p>Install a browser wallet for Ethereum, allow it on this page, then reload.</p>
        </Notice>
      ) : null}
      {demo === undefined ? null : (
        <>
          <Button kind={none ? "primary" : "plain"} busy={signing.isPending} onClick={() => signing.mutate(demo)}>
            Continue as the demo account
          </Button>
          <p className="hint">
            Local development: the demo account has test credits, and needs no wallet. A wallet of your own finds the
            chain at {app.rpc_url}, id {app.chain_id}.
          </p>
        </>
      )}
      {signing.error ? <WalletFailure error={signing.error} /> : null}
    </Card>
  );
}

/** Connects the wallet if it is not, has a sign-in message (EIP-4361) signed and opens a session with it. */
async function signIn(connector: Connector): Promise<SessionState> {
  const connection = getConnection(walletConfig);
  const connected = connection.status === "connected" && connection.connector.uid === connector.uid;
  const [address] = connected ? connection.addresses : (await connect(walletConfig, { connector })).accounts;
  if (address === undefined) throw new Error("The wallet shows no account to this page. Allow one and try again.");
  const { nonce, expires_at } = await call<{ nonce: string; expires_at: string }>("POST", "/nonce");
  const message = createSiweMessage({
    address,
    nonce,
    domain: location.host,
    uri: `${location.origin}/app`,
    version: "1",
    chainId: app.chain_id,
    statement: "Sign in to manage your inference credits. This costs nothing and moves nothing.",
    issuedAt: new Date(),
    expirationTime: new Date(expires_at),
  });
  const signature = await signMessage(walletConfig, { account: address, message, connector });
  return await call<SessionState>("POST", "/session", { message, signature });
}

/** The demo account, where the page may have it: on a local stack, at an address of this machine. */
function useDemoWallet(): Connector | undefined {
  const isThere = useQuery({ ...demoQuery, enabled: app.development }).data?.private_key;
  const wallet = useConnectors().find(({ id }) => id === DEMO_WALLET);
  return isThere ? wallet : undefined;
}

/** The session outlives the connection to the wallet; a transaction needs both. */
export function ConnectNotice() {
  const { connectors, none } = useWallets();
  const connecting = useConnect();
  return (
    <>
      <Notice
        tone="warn"
        title={none ? "No wallet found in this browser" : "Your wallet is not connected"}
        actions={connectors.map((connector) => (
          <Button
            key={connector.uid}
            kind="primary"
            busy={connecting.isPending}
            onClick={() => connecting.mutate({ connector })}
          >
            Connect {connector.id === "injected" ? "wallet" : connector.name}
          </Button>
        ))}
      >
        <p>You can look around; transactions need it.</p>
      </Notice>
      {connecting.error ? <WalletFailure error={connecting.error} /> : null}
    </>
  );
}

/** Describes in words an error that a wallet threw. */
export function WalletFailure({ error }: { error: Error }) {
  const [message, setMessage] = useState<ErrorMessage | null>(null);
  useEffect(() => void inWords(error).then(setMessage), [error]);
  return message === null ? null : <Failure message={message} />;
}
