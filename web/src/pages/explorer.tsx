import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { PATHS } from "../../../shared/web-paths.ts";
import { app } from "../data/app.ts";
import { latestQuery } from "../data/queries.ts";
import { ListedJobs, ListedTransactions } from "../explorer/lists.tsx";
import { Search } from "../explorer/search.tsx";
import { count } from "../ui/format.ts";
import { AddressLink } from "../ui/links.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Fact, Page } from "../ui/page.tsx";

/** The explorer's first page: the search, the latest jobs and transactions, and the addresses of the contracts. */
export function Explorer() {
  const { contracts, chain_name, chain_id } = app;
  const latest = useQuery(latestQuery);
  const head = latest.data?.head_block;
  return (
    <Page
      title="Explorer"
      about={
        <>
          Everything on {chain_name} (chain {chain_id}), open to everyone
          {head === undefined ? "" : ", up to block "}
          {head === undefined ? null : <Link to={`/app/block/${head}`}>{count(head)}</Link>}.
        </>
      }
    >
      <Search />
      <div className="columns lists">
        <Card title="Latest jobs" aside={<Link to={PATHS.joblist}>All jobs</Link>}>
          <Loaded query={latest} rows={12} height={24}>
            {({ jobs }) => <ListedJobs jobs={jobs} empty="No job was locked yet" />}
          </Loaded>
        </Card>
        <Card title="Latest transactions" aside={<Link to={PATHS.transactions}>All transactions</Link>}>
          <Loaded query={latest} rows={12} height={24}>
            {({ transactions }) => <ListedTransactions transactions={transactions} />}
          </Loaded>
        </Card>
      </div>
      <Card title="Contracts">
        <dl className="facts">
          {Object.entries(contracts).map(([name, address]) => (
            <Fact key={name} label={name}>
              <AddressLink address={address} what={`address of ${name}`} />
            </Fact>
          ))}
        </dl>
      </Card>
    </Page>
  );
}
