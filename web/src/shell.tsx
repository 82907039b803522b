import { notifyManager, type QueryCache, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Suspense, useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { Link, Outlet, useLocation } from "react-router";
import { PATHS } from "../../shared/web-paths.ts";
import { app } from "./data/app.ts";
import { call, isOutage } from "./data/client.ts";
import { sessionQuery } from "./data/queries.ts";
import { Search } from "./explorer/search.tsx";
import { Button } from "./ui/controls.tsx";
import { moment, short } from "./ui/format.ts";
import { Skeleton } from "./ui/loaded.tsx";
import { Failure, Notice } from "./ui/page.tsx";
import { ThemeSwitch } from "./ui/theme.tsx";
import { Unbroken } from "./ui/unbroken.tsx";

/** A path, its label, and how the paths of other pages begin that belong there. */
type Places = readonly (readonly [path: string, label: string, ...more: string[]])[];

const OWN: Places = [
  [PATHS.overview, "Overview"],
  [PATHS.fund, "Fund"],
  [PATHS.jobs, "Jobs"],
  [PATHS.statement, "Statement"],
  [PATHS.webhooks, "Webhooks"],
  [PATHS.desk, "Workers"],
  [PATHS.settings, "Settings"],
];
const PUBLIC: Places = [
  [PATHS.models, "Models"],
  [PATHS.workers, "Network", "/app/operators/", PATHS.disputes, PATHS.governance],
  [PATHS.explorer, "Explorer", "/app/jobs/", "/app/tx/", "/app/block/", "/app/address/"],
];

/** The frame of every page: the links, who is signed in, and whether the service answers. */
export function Shell() {
  const [open, setOpen] = useState(false);
  const pathname = useLocation().pathname.replace(/(.)\/$/, "$1");
  const session = useQuery(sessionQuery).data?.session ?? null;
  // A job's page is below "Jobs", but everybody's.
  const isOwn = OWN.some(([path]) => path === pathname || (session && path !== "/app" && pathname.startsWith(path)));
  // biome-ignore lint/correctness/useExhaustiveDependencies: going somewhere closes the menu
  useEffect(() => setOpen(false), [pathname]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a phone shows where one is, also when the wallet has taken its place beside it
  useEffect(() => {
    document.querySelector(".own [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [pathname, isOwn, session === null]);
  return (
    <>
      <a className="skip" href="#content">
        Skip to content
      </a>
      <header className="top">
        <div className="bar">
          <Link to={PATHS.front} className="brand">
            <Mark /> Credit-metered inference
          </Link>
          <Search everywhere />
          <Button
            kind="quiet"
            className="menu"
            aria-expanded={open}
            aria-controls="navigation"
            onClick={() => setOpen(!open)}
          >
            {open ? "Close" : "Menu"}
          </Button>
          <div id="navigation" className={open ? "places open" : "places"}>
            <nav aria-label="Pages">
              <ul>
                <Links links={PUBLIC} at={isOwn ? "" : pathname} />
                <li>
                  <a href={app.docs_url}>Guide</a>
                </li>
              </ul>
            </nav>
            <Link className="button" to={PATHS.overview}>
              {session === null ? "Sign in" : "Your account"}
            </Link>
          </div>
        </div>
        {isOwn ? (
          <div className="bar own">
            <nav aria-label="Your account">
              <ul>
                <Links links={OWN} at={pathname} />
              </ul>
            </nav>
            {session === null ? null : <SignedIn wallet={session.wallet} />}
          </div>
        ) : null}
      </header>
      <div className="body">
        <Outage />
        <OtherOrigin />
        <Unbroken place={pathname}>
          <Suspense fallback={<Skeleton rows={4} height={48} />}>
            <Outlet />
          </Suspense>
        </Unbroken>
      </div>
      <Foot />
    </>
  );
}

/** The link to where one is says so; each path but the overview's has pages below it. */
const Links = ({ links, at }: { links: Places; at: string }) =>
  links.map(([to, label, ...more]) => {
    const below = to === PATHS.overview ? [] : [`${to}/`, ...more];
    const isHere = at === to || below.some((path) => at.startsWith(path));
    return (
      <li key={to}>
        <Link to={to} aria-current={isHere ? "page" : undefined}>
          {label}
        </Link>
      </li>
    );
  });

const Mark = () => (
  <svg viewBox="0 0 32 32" className="mark" aria-hidden="true">
    <rect width="32" height="32" rx="8" />
    <path d="M9 11h14M9 16h9M9 21h12" />
  </svg>
);

function SignedIn({ wallet }: { wallet: string }) {
  const cache = useQueryClient();
  const signOut = useMutation({
    mutationFn: () => call("DELETE", "/session"),
    onSuccess: () => {
      cache.removeQueries({ queryKey: ["own"] });
      cache.setQueryData(sessionQuery.queryKey, { session: null, ended: false });
    },
  });
  return (
    <div className="who">
      <code title={wallet}>{short(wallet)}</code>
      <Button kind="quiet" busy={signOut.isPending} onClick={() => signOut.mutate()}>
        Sign out
      </Button>
    </div>
  );
}

function Foot() {
  const { docs_url, base_url, chain_name, chain_id } = app;
  return (
    <footer className="foot">
      <p>
        Settled on {chain_name} (chain {chain_id})
      </p>
      <ThemeSwitch />
      <nav aria-label="Documentation">
        <ul>
          <li>
            <a href={docs_url}>Guide</a>
          </li>
          <li>
            <a href={`${docs_url}/reference`}>API reference</a>
          </li>
          <li>
            <a href={`${docs_url}/errors`}>Errors</a>
          </li>
          <li>
            <a href={`${base_url}/openapi.json`}>OpenAPI</a>
          </li>
          <li>
            <Link to={PATHS.status}>Status</Link>
          </li>
        </ul>
      </nav>
    </footer>
  );
}

/** A query that failed during an outage is asked again this often, until it is answered. */
const AGAIN_MS = 5_000;

/** The queries that failed because of an outage. Each stays from its failure until it is answered. */
class Outages {
  readonly #failed = new Map<string, string>();
  readonly #cache: QueryCache;

  constructor(cache: QueryCache) {
    this.#cache = cache;
  }

  /** Follows the cache; returns what ends that. */
  follow = (changed: () => void): (() => void) =>
    this.#cache.subscribe(
      notifyManager.batchCalls((event) => {
        const { queryHash } = event.query;
        if (event.type === "updated") {
          if (event.action.type === "success") this.#failed.delete(queryHash);
          if (event.action.type !== "error") return changed();
          if (isOutage(event.action.error)) this.#failed.set(queryHash, event.action.error.message);
          else this.#failed.delete(queryHash);
        } else if (event.type === "removed") this.#failed.delete(queryHash);
        changed();
      }),
    );

  /** The queries of this page that failed. */
  active = () =>
    [...this.#failed.keys()].flatMap((hash) => this.#cache.get(hash) ?? []).filter((one) => one.isActive());

  /** The message about what failed and how old the shown data is; null while nothing failed. */
  text = (): string | null => {
    const failed = this.active();
    if (failed[0] === undefined) return null;
    const read = failed.map(({ state }) => state.dataUpdatedAt).filter((at) => at > 0);
    const old = read.length === 0 ? "" : ` What you see is from ${moment(new Date(Math.min(...read)).toISOString())}.`;
    return `${this.#failed.get(failed[0].queryHash)}${old}`;
  };
}

/** Says so once for the whole page when the service does not answer, and asks again until it does. */
function Outage() {
  const client = useQueryClient();
  const [outages] = useState(() => new Outages(client.getQueryCache()));
  const text = useSyncExternalStore(outages.follow, outages.text);
  const again = useCallback(() => {
    for (const query of outages.active()) if (query.state.fetchStatus === "idle") void query.fetch().catch(() => {}); // told above
  }, [outages]);
  const isOut = text !== null;
  useEffect(() => {
    if (!isOut) return;
    const timer = setInterval(again, AGAIN_MS);
    return () => clearInterval(timer);
  }, [isOut, again]);
  // A page at rest asks for nothing: what it shows is told to be old when the network goes.
  useEffect(() => {
    const ask = () => void client.refetchQueries({ type: "active", stale: true });
    addEventListener("offline", ask);
    return () => removeEventListener("offline", ask);
  }, [client]);
  if (text === null) return null;
  return (
    <Failure message={{ title: "Service out of reach", text }} actions={<Button onClick={again}>Try again</Button>} />
  );
}

/** Signing in works only at the service's own address. */
function OtherOrigin() {
  if (location.origin === app.origin) return null;
  return (
    <Notice tone="error" title="Another address than the service's own">
      <p>
        Signing in works only at <a href={`${app.origin}${location.pathname}`}>{app.origin}</a>; you are at{" "}
        {location.origin}.
      </p>
    </Notice>
  );
}
