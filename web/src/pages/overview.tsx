import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { accountQuery, jobsQuery, keyQuery, usageQuery } from "../data/queries.ts";
import type { AccountInfo } from "../data/types.ts";
import { count, credits, usdg } from "../ui/format.ts";
import { JobTable } from "../ui/job-table.tsx";
import { Loaded, Skeleton } from "../ui/loaded.tsx";
import { Card, Empty, Notice, Page } from "../ui/page.tsx";
import { UsageChart } from "../ui/usage-chart.tsx";
import { OperatorNotice } from "../wallet/operator-notice.tsx";

const LATEST = 8;
const DAYS = 30;

export function Overview() {
  const account = useQuery(accountQuery);
  const usage = useQuery(usageQuery(DAYS));
  const jobs = useQuery(jobsQuery({ limit: LATEST }));
  return (
    <Page title="Overview">
      <Loaded query={account} rows={1} height={112}>
        {(data) => <Balance account={data} />}
      </Loaded>
      <Card title="Usage" aside={<span className="hint">last {DAYS} days, credits a day (UTC)</span>}>
        <div className="chart-room">
          <Loaded query={usage} rows={1} height={180}>
            {({ data }) => <UsageChart days={data} />}
          </Loaded>
        </div>
      </Card>
      <Card title="Latest jobs" aside={<Link to="/app/jobs">All jobs</Link>}>
        <Loaded query={jobs} rows={LATEST} height={28}>
          {({ data }) => (data.length === 0 ? <NoJobs /> : <JobTable jobs={data} />)}
        </Loaded>
      </Card>
    </Page>
  );
}

function Balance({ account }: { account: AccountInfo }) {
  if (!account.has_account) {
    return (
      <Card>
        <Empty title="No credits yet">
          <p>Credits pay for requests; the smallest deposit is worth 1 USDG.</p>
          <Link className="button primary" to="/app/fund">
            Fund your account
          </Link>
        </Empty>
      </Card>
    );
  }
  return (
    <>
      <OperatorNotice account={account} />
      {account.frozen ? (
        <Notice tone="warn" title="Spending is frozen" actions={<Link to="/app/settings">Change it</Link>}>
          <p>New requests are refused until you lift the freeze.</p>
        </Notice>
      ) : null}
      <dl className="figures">
        <Figure label="Free" value={account.free} main />
        <Figure
          label="In escrow"
          value={account.escrowed}
          about="held for running jobs and for the bonds of your disputes"
        />
        <Figure
          label="Daily limit"
          value={account.daily_limit}
          about={account.daily_limit === null ? "none set" : `${count(account.spent_today)} used today`}
        />
      </dl>
    </>
  );
}

function Figure({
  label,
  value,
  about,
  main = false,
}: {
  label: string;
  value: number | null;
  about?: string;
  main?: boolean;
}) {
  return (
    <div className={main ? "figure main" : "figure"}>
      <dt>{label}</dt>
      <dd>
        <span className="number">{value === null ? "–" : count(value)}</span>
        <span className="hint">{about ?? `credits, worth ${usdg(value ?? 0)}`}</span>
      </dd>
    </div>
  );
}

function NoJobs() {
  const key = useQuery(keyQuery);
  if (key.data === undefined) return <Skeleton rows={2} />;
  return (
    <Empty title="No jobs yet">
      {key.data.key === null ? (
        <p>
          <Link to="/app/settings">Create an API key</Link> and send a first request.
        </p>
      ) : (
        <p>Every request with your key shows up here with its charge, a job of {credits(2)} or more.</p>
      )}
    </Empty>
  );
}
