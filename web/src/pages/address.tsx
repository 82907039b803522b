import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearchParams } from "react-router";
import type { ChainAddress } from "../../contract.ts";
import { app } from "../data/app.ts";
import { addressQuery } from "../data/queries.ts";
import { namesOf } from "../explorer/labels.ts";
import { History, JsonLink, ListedJobs } from "../explorer/lists.tsx";
import { Hash } from "../ui/copy.tsx";
import { coins, count, credits, short, units } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Fact, Page } from "../ui/page.tsx";
import { Badge } from "../ui/status.tsx";
import { Pager } from "../ui/table.tsx";

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
      actions={<JsonLink path={`/explorer/addresses/${address}`} name={address} />}
    >
      <Loaded query={found} rows={3} height={100}>
        {(data) => <Contents data={data} before={before} isContract={name !== undefined} />}
      </Loaded>
    </Page>
  );
}

function Contents({ data, before, isContract }: { data: ChainAddress; before: string; isContract: boolean }) {
  const { account, workers, operators, jobs, history, has_more } = data;
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
      </Card>
      {account === null ? null : (
        <>
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
          <Card title="Jobs">
            <ListedJobs jobs={jobs} empty="No jobs here" />
            <Pager before={before} older={has_more ? (jobs.at(-1)?.id ?? null) : null} />
          </Card>
          <Card title="Deposits, withdrawals and settings">
            <History events={history} />
          </Card>
        </>
      )}
      {account === null && workers.length + operators.length === 0 && !isContract ? (
        <Card>
          <p>The protocol has no account, worker or operator at this address.</p>
        </Card>
      ) : null}
    </>
  );
}
