import { useQuery } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import type { ChainAddress } from "../../contract.ts";
import { app } from "../data/app.ts";
import { addressQuery } from "../data/queries.ts";
import { namesOf } from "../explorer/labels.ts";
import { History, JsonLink, ListedJobs, ListedTransactions, TwinLink } from "../explorer/lists.tsx";
import { Segments } from "../ui/controls.tsx";
import { Hash } from "../ui/copy.tsx";
import { coins, count, credits, short, units } from "../ui/format.ts";
import { Loaded, Skeleton } from "../ui/loaded.tsx";
import { Card, Fact, Page } from "../ui/page.tsx";
import { Badge } from "../ui/status.tsx";
import { Pager } from "../ui/table.tsx";

/** The parts that read the visitor's node or decode are loaded when somebody opens them. */
const Transfers = lazy(() => import("./address/transfers.tsx"));
const contractParts = () => import("./address/contract.tsx");
const ContractEvents = lazy(async () => ({ default: (await contractParts()).ContractEvents }));
const ReadFunctions = lazy(async () => ({ default: (await contractParts()).ReadFunctions }));
const SourceAndAbi = lazy(async () => ({ default: (await contractParts()).SourceAndAbi }));

/** Whatever the chain says of an address: its credits, its jobs, and what it is to workers, operators and contracts. */
export function AddressPage() {
  const { address = "" } = useParams();
  const [search] = useSearchParams();
  const before = search.get("before") ?? "";
  const found = useQuery(addressQuery(address.toLowerCase(), before));
  const name = namesOf(app.contracts).get(address.toLowerCase());
  return (
    <Page
      key={address}
      title={name ?? "Address"}
      tab={`${name ?? "Address"} ${short(address)}`}
      about={<Hash value={found.data?.address ?? address} what="address" full />}
      actions={
        <>
          <TwinLink path={`address/${address}`} />
          <JsonLink path={`/explorer/addresses/${address}`} name={address} />
        </>
      }
    >
      <Loaded query={found} rows={3} height={100}>
        {(data) => <Contents data={data} before={before} contract={name ?? null} />}
      </Loaded>
    </Page>
  );
}

type ContentsProps = { data: ChainAddress; before: string; contract: string | null };

function Contents({ data, before, contract }: ContentsProps) {
  const { account, workers, operators } = data;
  const isContract = contract !== null;
  return (
    <>
      <Card>
        <dl className="facts">
          <Fact label="Balance">{`${coins(data.balance_wei)} ${app.currency}`}</Fact>
          <Fact label={isContract ? "Contracts made" : "Transactions sent"}>{count(data.transactions_sent)}</Fact>
          <Fact label="Stablecoin">{`${units(BigInt(data.usdg_units), 6)} USDG`}</Fact>
          {data.claimable_units === "0" ? null : (
            <Fact label="Waits to be claimed">{`${units(BigInt(data.claimable_units), 6)} USDG`}</Fact>
          )}
          {workers.map(({ number, roles }) => (
            <Fact key={`worker ${number}`} label={roles.join(", ")}>
              <Link to={`/app/workers/${number}`}>Worker {number}</Link>
            </Fact>
          ))}
          {operators.map(({ number, roles }) => (
            <Fact key={`operator ${number}`} label={roles.join(", ")}>
              <Link to={`/app/operators/${number}`}>Operator {number}</Link>
            </Fact>
          ))}
        </dl>
        {account === null && workers.length + operators.length === 0 && !isContract ? (
          <p>The protocol has no account, worker or operator at this address.</p>
        ) : null}
      </Card>
      {account === null ? null : <Credits account={account} />}
      <Tabs data={data} before={before} contract={contract} />
    </>
  );
}

function Credits({ account }: { account: NonNullable<ChainAddress["account"]> }) {
  return (
    <Card title="Credits" aside={account.frozen ? <Badge tone="bad">frozen</Badge> : null}>
      <dl className="facts">
        <Fact label="Free">{credits(account.free)}</Fact>
        <Fact label="In escrow">{credits(account.escrowed)}</Fact>
        <Fact label="Deposited ever">{credits(account.deposited)}</Fact>
        <Fact label="Withdrawn ever">{credits(account.withdrawn)}</Fact>
        <Fact label="Charged ever">{credits(account.charged)}</Fact>
        <Fact label="Given back ever">{credits(account.compensated)}</Fact>
        <Fact label="Operator">
          {account.operator === null ? (
            "none"
          ) : (
            <Link to={`/app/operators/${account.operator}`}>Operator {account.operator}</Link>
          )}
        </Fact>
        <Fact label="Limit a day">{account.daily_limit === null ? "none" : credits(account.daily_limit)}</Fact>
        <Fact label="Disputes">{count(account.disputes)}</Fact>
      </dl>
    </Card>
  );
}

/** The lists about an address, one at a time; the page's URL says which. */
function Tabs({ data, before, contract }: ContentsProps) {
  const [search, setSearch] = useSearchParams();
  const { account, address, jobs, transactions, history, has_more } = data;
  const chosen = search.get("tab") ?? "";
  const pager = <Pager before={before} older={has_more ? (jobs.at(-1)?.id ?? null) : null} beside={{ tab: chosen }} />;
  const tabs: Record<string, { label: string; shows: () => ReactNode }> = {
    ...(account !== null && {
      jobs: {
        label: "Jobs",
        shows: () => (
          <>
            <ListedJobs jobs={jobs} empty="No jobs here" />
            {pager}
          </>
        ),
      },
      transactions: {
        label: "Transactions",
        shows: () => (
          <>
            <ListedTransactions transactions={transactions} />
            {pager}
          </>
        ),
      },
      history: { label: "Deposits, withdrawals and settings", shows: () => <History events={history} /> },
    }),
    ...(contract !== null && {
      events: { label: "Events", shows: () => <ContractEvents name={contract} address={address} /> },
      read: { label: "Read", shows: () => <ReadFunctions name={contract} address={address} /> },
      source: { label: "Source and ABI", shows: () => <SourceAndAbi name={contract} /> },
    }),
    transfers: { label: "Token transfers", shows: () => <Transfers address={address} /> },
  };
  const shown = Object.hasOwn(tabs, chosen) ? chosen : (Object.keys(tabs)[0] as string);
  return (
    <Card
      title={tabs[shown]?.label ?? ""}
      aside={
        <Segments
          legend="What to see of the address"
          name="tab"
          options={Object.entries(tabs).map(([name, { label }]) => [name, label])}
          value={shown}
          choose={(name) => setSearch({ tab: name }, { replace: true })}
        />
      }
    >
      <Suspense fallback={<Skeleton rows={5} height={28} />}>{tabs[shown]?.shows()}</Suspense>
    </Card>
  );
}
