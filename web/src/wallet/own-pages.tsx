import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, Suspense, useEffect } from "react";
import { Outlet, useLocation } from "react-router";
import { WagmiContext } from "wagmi";
import { reconnect } from "wagmi/actions";
import { PATHS } from "../../../shared/web-paths.ts";
import { app } from "../data/app.ts";
import { sessionQuery } from "../data/queries.ts";
import { Button } from "../ui/controls.tsx";
import { short } from "../ui/format.ts";
import { Loaded, Skeleton } from "../ui/loaded.tsx";
import { Notice, Page } from "../ui/page.tsx";
import { walletConfig } from "./config.ts";
import { SignInPanel, WalletFailure } from "./connect.tsx";
import { SpendAlert } from "./spend-alert.tsx";
import { switchToOurChain } from "./transact.ts";
import { useWallet } from "./use-wallet.ts";

/** The title that is shown instead of a page, and of those below it, until somebody is signed in, and the reason to sign in. */
const REASONS = [
  [PATHS.overview, "Overview", "See your balance, usage and latest jobs."],
  [PATHS.fund, "Fund", "Buy and withdraw credits."],
  [PATHS.jobs, "Jobs", "See what each request cost."],
  [PATHS.statement, "Statement", "See what each month cost."],
  [PATHS.settings, "Settings", "Manage your API key and limit your spending."],
  [PATHS.webhooks, "Webhooks", "Have events sent to your server."],
  [PATHS.desk, "My workers", "See what your workers earn, and manage their stake and settings."],
] as const;

/** Pages of the signed-in wallet; the sign-in panel stands in their place until somebody is signed in. */
export const OwnPages = () => (
  <WithWallet>
    <SignedInOnly />
  </WithWallet>
);

function SignedInOnly() {
  const { pathname } = useLocation();
  // The overview's path begins all of them.
  const [, title, reason] = REASONS.findLast(([path]) => pathname.startsWith(path)) ?? REASONS[0];
  const session = useQuery(sessionQuery);
  if (session.data?.session) {
    return (
      <>
        <SpendAlert />
        <Outlet />
      </>
    );
  }
  return (
    <Page key={title} title={title}>
      <Loaded query={session} rows={4} height={48}>
        {() => <SignInPanel reason={reason} />}
      </Loaded>
    </Page>
  );
}

/**
 * Encloses the parts that use the wallet in the browser. Before them it shows what keeps the person from a working transaction. Wagmi's own
 * provider looks for the wallet at each of its renders, and the wallet counts as lost meanwhile: this one looks once.
 */
export function WithWallet({ children }: { children: ReactNode }) {
  useEffect(() => void reconnect(walletConfig), []);
  return (
    <WagmiContext value={walletConfig}>
      <WalletNotices />
      <Suspense fallback={<Skeleton rows={4} height={48} />}>{children}</Suspense>
    </WagmiContext>
  );
}

function WalletNotices() {
  const { wrongChain, otherAccount, address, session } = useWallet();
  const switching = useMutation({ mutationFn: switchToOurChain });
  return (
    <>
      {session && wrongChain ? (
        <Notice
          tone="warn"
          title="Your wallet is on another chain"
          actions={
            <Button kind="primary" busy={switching.isPending} onClick={() => switching.mutate()}>
              Switch to {app.chain_name}
            </Button>
          }
        >
          <p>
            Transactions go to {app.chain_name} (chain {app.chain_id}). Reading works all the same.
          </p>
        </Notice>
      ) : null}
      {switching.error ? <WalletFailure error={switching.error} /> : null}
      {session && otherAccount && address ? (
        <Notice tone="warn" title="Another account is selected in your wallet">
          <p>
            The wallet shows {short(address)}, you are signed in as {short(session.wallet)}. Select that account, or
            sign out and in again.
          </p>
        </Notice>
      ) : null}
    </>
  );
}
