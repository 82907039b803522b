import { notifyManager, type QueryCache, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { NavLink, Outlet, useLocation } from "react-router";
import { useSwitchChain } from "wagmi";
import { app } from "./data/app.ts";
import { call, isOutage } from "./data/client.ts";
import { sessionQuery } from "./data/queries.ts";
import { Button } from "./ui/controls.tsx";
import { moment, short } from "./ui/format.ts";
import { Skeleton } from "./ui/loaded.tsx";
import { Failure, Notice, Page } from "./ui/page.tsx";
import { tell } from "./wallet/errors.ts";
import { SignInPanel } from "./wallet/sign-in-panel.tsx";
import { useWallet } from "./wallet/use-wallet.ts";

const OWN = [
  ["/", "Overview"],
  ["/fund", "Fund"],
  ["/jobs", "Jobs"],
  ["/webhooks", "Webhooks"],
  ["/settings", "Settings"],
] as const;
const PUBLIC = [
  ["/models", "Models"],
  ["/workers", "Workers"],
  ["/explorer", "Explorer"],
] as const;

/** What stands around every page: where one can go, who is signed in, and what is wrong with the wallet. */
export function Shell() {
  const [open, setOpen] = useState(false);
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: going somewhere closes the menu
  useEffect(() => setOpen(false), [pathname]);
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to content
      </a>
      <header className="top">
        <NavLink to="/" className="brand">
          <Mark /> Inference credits
        </NavLink>
        <Button
          kind="quiet"
          className="menu"
          aria-expanded={open}
          aria-controls="navigation"
          onClick={() => setOpen(!open)}
        >
          {open ? "Close" : "Menu"}
        </Button>
        <div id="navigation" className={open ? "side open" : "side"}>
          <nav aria-label="Pages">
            <Links links={OWN} />
            <p className="nav-title">Open to everyone</p>
            <Links links={PUBLIC} />
          </nav>
          <Account />
        </div>
      </header>
      <div className="body">
        <Outage />
        <WalletNotices />
        <Outlet />
      </div>
    </div>
  );
}

const Links = ({ links }: { links: readonly (readonly [string, string])[] }) => (
  <ul>
    {links.map(([to, label]) => (
      <li key={to}>
        <NavLink to={to} end={to === "/"}>
          {label}
        </NavLink>
      </li>
    ))}
  </ul>
);

const Mark = () => (
  <svg viewBox="0 0 32 32" className="mark" aria-hidden="true">
    <rect width="32" height="32" rx="8" />
    <path d="M9 11h14M9 16h9M9 21h12" />
  </svg>
);

function Account() {
  const { session } = useWallet();
  const cache = useQueryClient();
  const signOut = useMutation({
    mutationFn: () => call("DELETE", "/session"),
    onSuccess: () => {
      cache.removeQueries({ queryKey: ["own"] });
      cache.setQueryData(sessionQuery.queryKey, { session: null, ended: false });
    },
  });
  if (session === null) return <p className="who hint">Not signed in</p>;
  return (
    <div className="who">
      <code title={session.wallet}>{short(session.wallet)}</code>
      <Button kind="quiet" busy={signOut.isPending} onClick={() => signOut.mutate()}>
        Sign out
      </Button>
    </div>
  );
}

/** What failed to be read because the service is out of reach, and since when the page shows what it read before. */
function outageOf(cache: QueryCache): string | null {
  const failed = cache.getAll().filter((query) => query.isActive() && isOutage(query.state.error));
  if (failed.length === 0) return null;
  const read = failed.map(({ state }) => state.dataUpdatedAt).filter((at) => at > 0);
  const old = read.length === 0 ? "" : ` What you see is from ${moment(new Date(Math.min(...read)).toISOString())}.`;
  return `${failed[0]?.state.error?.message}${old}`;
}

/** Says so once for the whole page when the service does not answer. */
function Outage() {
  const client = useQueryClient();
  const cache = client.getQueryCache();
  const subscribe = useCallback((changed: () => void) => cache.subscribe(notifyManager.batchCalls(changed)), [cache]);
  const text = useSyncExternalStore(subscribe, () => outageOf(cache));
  if (text === null) return null;
  const again = () => client.refetchQueries({ type: "active", predicate: ({ state }) => isOutage(state.error) });
  return (
    <Failure
      told={{ title: "Service out of reach", text }}
      actions={<Button onClick={() => void again()}>Try again</Button>}
    />
  );
}

/** What stands between the person and a working transaction. */
function WalletNotices() {
  const { wrongChain, otherAccount, address, session } = useWallet();
  const switching = useSwitchChain();
  if (location.origin !== app.origin) {
    return (
      <Notice tone="error" title="Another address than the service's own">
        <p>
          Signing in works only at <a href={`${app.origin}${location.pathname}`}>{app.origin}</a>; you are at{" "}
          {location.origin}.
        </p>
      </Notice>
    );
  }
  return (
    <>
      {session && wrongChain ? (
        <Notice
          tone="warn"
          title="Your wallet is on another chain"
          actions={
            <Button
              kind="primary"
              busy={switching.isPending}
              onClick={() => switching.mutate({ chainId: app.chain_id })}
            >
              Switch to {app.chain_name}
            </Button>
          }
        >
          <p>
            Transactions go to {app.chain_name} (chain {app.chain_id}). Reading works all the same.
          </p>
        </Notice>
      ) : null}
      {switching.error ? <Failure told={tell(switching.error)} /> : null}
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

/** A page of one's own: the sign-in panel stands in its place until somebody is signed in. */
export function Own({ title, reason, children }: { title: string; reason: string; children: ReactNode }) {
  const { data, error, isPending } = useQuery(sessionQuery);
  if (data?.session) return <>{children}</>;
  return (
    <Page title={title}>
      {isPending ? <Skeleton rows={4} height={48} /> : null}
      {error && !isOutage(error) ? <Failure told={tell(error)} /> : null}
      {data ? <SignInPanel reason={reason} /> : null}
    </Page>
  );
}
