import { lazy, Suspense } from "react";
import { useConnect } from "wagmi";
import { Button } from "../ui/controls.tsx";
import { Failure, Notice } from "../ui/page.tsx";
import { useWallets } from "./sign-in-panel.tsx";

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

const Told = lazy(async () => {
  const { tell } = await import("./errors.ts");
  return { default: ({ error }: { error: Error }) => <Failure told={tell(error)} /> };
});

/** What a wallet threw; the words are loaded when they are needed. */
export const WalletFailure = ({ error }: { error: Error }) => (
  <Suspense>
    <Told error={error} />
  </Suspense>
);
