import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Link, useParams } from "react-router";
import { PATHS } from "../../../shared/web-paths.ts";
import type { Owed, Worker } from "../../contract.ts";
import { workerQuery } from "../data/queries.ts";
import { count, firstToken, success, svc } from "../ui/format.ts";
import { AddressLink, LinkButton } from "../ui/links.tsx";
import { Loaded, Skeleton } from "../ui/loaded.tsx";
import { Card, Empty, Fact, Page } from "../ui/page.tsx";
import { ConnectNotice } from "../wallet/connect.tsx";
import { useRegistered, useTerms } from "../wallet/registry.ts";
import { useWallet } from "../wallet/use-wallet.ts";
import { Earnings } from "./desk/earnings.tsx";
import { PayCard } from "./desk/pay-card.tsx";
import { SettingsCards } from "./desk/settings-cards.tsx";
import { StakeCard } from "./desk/stake-card.tsx";
import { HourlyFacts } from "./worker/hourly.tsx";
import { Slashes } from "./worker/slashes.tsx";
import { rolesOf, WorkerState } from "./worker/state.tsx";

const Seen = lazy(() => import("./worker/seen.tsx"));

/** One worker of the signed-in wallet: what it earns, and everything that its owner can change. */
export function MyWorker() {
  const { id = "" } = useParams();
  const { session, connected } = useWallet();
  const worker = useQuery({ ...workerQuery(id), refetchInterval: 5_000 });
  return (
    <Page
      key={id}
      title={worker.data === undefined ? "My worker" : `Worker ${worker.data.number}`}
      about={<Link to={PATHS.desk}>All my workers</Link>}
      actions={<LinkButton to={`/app/workers/${id}`}>Public page</LinkButton>}
    >
      {connected ? null : <ConnectNotice />}
      <Loaded query={worker} rows={4} height={100}>
        {(data) => <Desk worker={data} roles={rolesOf(data, session?.wallet)} />}
      </Loaded>
    </Page>
  );
}

function Desk({ worker, roles }: { worker: Worker & { owed: Owed[] }; roles: readonly string[] }) {
  const { connected, wrongChain } = useWallet();
  const isManaged = connected && !wrongChain && roles.includes("owner");
  if (roles.length === 0) {
    return (
      <Empty title="This worker is not yours">
        <p>
          Your wallet does not own it, and it is not paid to your wallet. Its owner is{" "}
          <AddressLink address={worker.owner} what="owner's address" />: sign in with that wallet.
        </p>
      </Empty>
    );
  }
  return (
    <>
      <Earnings workers={[worker]} />
      <Card>
        <dl className="facts">
          <Fact label="State">
            <WorkerState worker={worker} />
          </Fact>
          <Fact label="Stake">{svc(BigInt(worker.stake))}</Fact>
          <Fact label="Jobs in 24 hours">{count(worker.jobs_24h)}</Fact>
          <Fact label="Success in 24 hours">{success(worker.success_24h)}</Fact>
          <Fact label="Time to first token">{firstToken(worker.first_token_ms)}</Fact>
          <HourlyFacts worker={worker} />
          <Fact label="Signing key">
            <AddressLink address={worker.address} what="worker address" />
          </Fact>
        </dl>
      </Card>
      <Suspense fallback={<Skeleton rows={2} height={220} />}>
        <Seen id={String(worker.number)} />
      </Suspense>
      <div className="columns">
        {isManaged ? <OwnersStake number={worker.number} /> : null}
        <div className="pile">
          <PayCard worker={worker} />
          <Slashes worker={worker} />
        </div>
      </div>
      {isManaged ? <OwnersSettings number={worker.number} /> : null}
    </>
  );
}

/** The stake as the chain has it, which only the owner moves. */
function OwnersStake({ number }: { number: number }) {
  const registered = useRegistered(number);
  const terms = useTerms();
  return (
    <Loaded query={registered} rows={1} height={220}>
      {(worker) => (
        <Loaded query={terms} rows={1} height={220}>
          {(data) => <StakeCard worker={worker} terms={data} />}
        </Loaded>
      )}
    </Loaded>
  );
}

function OwnersSettings({ number }: { number: number }) {
  const registered = useRegistered(number);
  return (
    <Loaded query={registered} rows={2} height={160}>
      {(worker) => <SettingsCards worker={worker} />}
    </Loaded>
  );
}
