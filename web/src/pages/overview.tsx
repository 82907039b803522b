import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useRef } from "react";
import { Link } from "react-router";
import { PATHS } from "../../../shared/web-paths.ts";
import type { AccountInfo, Job } from "../../contract.ts";
import { app } from "../data/app.ts";
import { accountQuery, jobsQuery, keyQuery, usageQuery } from "../data/queries.ts";
import { count, usdg } from "../ui/format.ts";
import { JobTable } from "../ui/job-table.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Figure, Notice, Page } from "../ui/page.tsx";
import { lastsFor } from "./overview/lasts.ts";
import { UsageCard } from "./overview/usage-card.tsx";

const LATEST = 8;

export function Overview() {
  const account = useQuery(accountQuery);
  const jobs = useQuery(jobsQuery({ limit: LATEST }));
  return (
    <Page title="Overview">
      <Loaded query={account} rows={1} height={112}>
        {(data) => (
          <>
            <FirstSteps account={data} latest={jobs.data?.data ?? []} />
            {data.has_account ? <Balance account={data} /> : null}
          </>
        )}
      </Loaded>
      <UsageCard />
      <Card title="Latest jobs" aside={<Link to={PATHS.jobs}>All jobs</Link>}>
        <Loaded query={jobs} rows={LATEST} height={28}>
          {({ data }) =>
            data.length > 0 ? (
              <JobTable jobs={data} />
            ) : (
              <Empty title="No jobs yet">
                <p>Every request with your API key shows up here with its charge.</p>
              </Empty>
            )
          }
        </Loaded>
      </Card>
    </Page>
  );
}

const wasSettled = (job: Job) => job.on_chain.settlement_tx !== null;

/** The steps that are left until the first call works; nothing from the first settled job on. */
function FirstSteps({ account, latest }: { account: AccountInfo; latest: readonly Job[] }) {
  const isOver = latest.some(wasSettled);
  const key = useQuery({ ...keyQuery, enabled: !isOver });
  // The latest jobs may all have failed, and an earlier one not.
  const settled = useQuery({ ...jobsQuery({ status: "settled", limit: 1 }), enabled: !isOver });
  if (isOver || key.data === undefined || settled.data === undefined || settled.data.data.length > 0) return null;
  const steps: FirstStep[] = [
    { title: "Sign in with your wallet", done: true },
    {
      title: "Deposit credits",
      done: account.has_account,
      text: "No credits yet. They pay for requests; the smallest deposit is worth 1 USDG.",
      link: [PATHS.fund, "Fund your account"],
    },
    {
      title: "Create an API key",
      done: key.data.key !== null,
      text: "Requests to the API need one. It can spend credits, never withdraw them.",
      link: [PATHS.settings, "Create a key"],
    },
    {
      title: "Have a first request answered",
      done: false,
      text: "Chat with a model on the front page, or copy a call in your language there.",
      link: [PATHS.front, "Send a request"],
    },
  ];
  const next = steps.find(({ done }) => !done);
  return (
    <Card title="First steps" aside={<span className="hint">{steps.filter(({ done }) => done).length} of 4 done</span>}>
      <ol>
        {steps.map((step) => (
          <Step key={step.title} {...step} isNext={step === next} />
        ))}
      </ol>
    </Card>
  );
}

type FirstStep = { title: string; done: boolean; text?: string; link?: readonly [to: string, label: string] };

const Step = ({ title, done, text, link, isNext }: FirstStep & { isNext: boolean }) => (
  <li className={done ? "step done" : "step"} aria-current={isNext ? "step" : undefined}>
    <p className="step-title">
      {title} <span className="hint">{done ? "done" : "to do"}</span>
    </p>
    {done ? null : <p className="step-text">{text}</p>}
    {done || link === undefined ? null : (
      <p>
        <Link className={isNext ? "button primary" : undefined} to={link[0]}>
          {link[1]}
        </Link>
      </p>
    )}
  </li>
);

const shown = (value: number | null): string => (value === null ? "–" : count(value));

/** Few accounts need to choose an operator: the code that sends transactions is loaded for them. */
const OperatorNotice = lazy(async () => ({ default: (await import("../wallet/operator-notice.tsx")).OperatorNotice }));

function Balance({ account }: { account: AccountInfo }) {
  const { free, escrowed, in_bonds: bonds } = account;
  const day = useQuery(usageQuery("24h"));
  const spent = day.data?.data.reduce((sum, hour) => sum + hour.credits, 0) ?? 0;
  const lasts = lastsFor(free, spent);
  // Once it is there it stays, and says that this service is chosen.
  const noticed = useRef(false);
  noticed.current ||= account.has_account && account.operator !== app.operator;
  return (
    <>
      {noticed.current ? (
        <Suspense>
          <OperatorNotice account={account} />
        </Suspense>
      ) : null}
      {account.frozen ? (
        <Notice tone="warn" title="Spending is frozen" actions={<Link to={PATHS.settings}>Change it</Link>}>
          <p>New requests are refused until you lift the freeze.</p>
        </Notice>
      ) : null}
      <dl className="figures four">
        <Figure label="Free" value={count(free)} main>
          worth {usdg(free)}
          {lasts === null ? null : (
            <>
              <br />
              {lasts} left at today’s rate
            </>
          )}
        </Figure>
        <Figure label="In running jobs" value={shown(bonds === null ? null : escrowed - bonds)}>
          {bonds === null ? `${count(escrowed)} in jobs and bonds` : "what is not charged comes back"}
        </Figure>
        <Figure label="In bonds" value={shown(bonds)}>
          of disputes that you opened
        </Figure>
        <Figure label="Daily limit" value={shown(account.daily_limit)}>
          {account.daily_limit === null ? "none set" : `${count(account.spent_today)} used today`}
        </Figure>
      </dl>
    </>
  );
}
