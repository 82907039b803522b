import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link, useNavigate } from "react-router";
import type { Network } from "../../contract.ts";
import { app } from "../data/app.ts";
import { modelsQuery, networkQuery } from "../data/queries.ts";
import { pathOf } from "../explorer/find.ts";
import { Button } from "../ui/controls.tsx";
import { FirstCall } from "../ui/first-call.tsx";
import { count, credits, usdg } from "../ui/format.ts";
import { JobLink, ModelLink, When } from "../ui/links.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Figure, useTitle } from "../ui/page.tsx";
import { PriceTable } from "../ui/price-table.tsx";

import { Playground } from "./front/playground.tsx";
import { ShownVerdict } from "./front/shown-verdict.tsx";

/** The front page: the service in two sentences, a playground, prices, code and live numbers. */
export function Front() {
  useTitle("Chat completions with a receipt");
  const network = useQuery(networkQuery);
  const models = useQuery(modelsQuery);
  return (
    <main id="content" className="front">
      <header className="hero">
        <div className="claim">
          <h1>Chat completions with a receipt</h1>
          <p className="lead">
            An OpenAI-compatible API for prepaid credits: a contract locks each request's highest price, a worker
            answers and signs, and the contract pays the exact charge. Everybody can check every charge, without
            trusting us.
          </p>
          <div className="actions">
            <Link className="button primary" to="/app/settings">
              Get an API key
            </Link>
            <a className="button" href={app.docs_url}>
              Read the guide
            </a>
          </div>
          <VerifyAJob />
        </div>
        <ShownVerdict jobs={network.data?.latest} />
      </header>
      <Numbers network={network.data} />
      <Playground />
      <Card title="Prices" aside={<span className="hint">in credits; 1 credit is 0.01 USDG</span>}>
        <Loaded query={models} rows={8} height={30}>
          {({ data }) => <PriceTable models={data.filter(({ retired }) => !retired)} />}
        </Loaded>
      </Card>
      <div className="columns">
        <Card title="A first call" aside={<a href={`${app.docs_url}#start`}>Guide</a>}>
          <FirstCall model="qwen3-8b" />
        </Card>
        <Card title="Settled just now" aside={<Link to="/app/explorer">Explorer</Link>}>
          <Loaded query={network} rows={6} height={24}>
            {({ latest }) => <Latest jobs={latest} />}
          </Loaded>
        </Card>
      </div>
    </main>
  );
}

/** Leads to the verdict on a job, or to a transaction. */
function VerifyAJob() {
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const [isWrong, setWrong] = useState(false);
  const go = (event: FormEvent) => {
    event.preventDefault();
    const path = pathOf(text);
    if (path === null) setWrong(true);
    else void navigate(path);
  };
  return (
    <form className="verify" onSubmit={go}>
      <label className="visually-hidden" htmlFor="verify">
        Verify a job: its id, or a transaction hash
      </label>
      <div className="input">
        <input
          id="verify"
          className="mono"
          placeholder="job_… or 0x…"
          autoComplete="off"
          spellCheck={false}
          value={text}
          aria-invalid={isWrong || undefined}
          aria-describedby="verify-about"
          onChange={(event) => {
            setText(event.target.value);
            setWrong(false);
          }}
        />
      </div>
      <Button type="submit" disabled={text.trim() === ""}>
        Verify a job
      </Button>
      <p id="verify-about" role="status" className={isWrong ? "hint wrong" : "visually-hidden"}>
        {isWrong
          ? "This is neither a job's id nor a transaction hash."
          : "Every answer names its job in x-service-job-id."}
      </p>
    </form>
  );
}

function Numbers({ network }: { network: Network | undefined }) {
  const shown = (value: number | undefined) => (value === undefined ? "–" : count(value));
  const worth = (value: number | undefined) => (value === undefined ? "–" : usdg(value));
  const { workers, models, jobs_24h, credits_24h, credits_total } = network ?? {};
  return (
    <dl className="figures four">
      <Figure label="Workers that answer" value={shown(workers)}>
        for {shown(models)} {models === 1 ? "model" : "models"}
      </Figure>
      <Figure label="Jobs in 24 hours" value={shown(jobs_24h)}>
        each in the explorer
      </Figure>
      <Figure label="Credits settled in 24 hours" value={shown(credits_24h)}>
        {worth(credits_24h)}
      </Figure>
      <Figure label="Credits settled in all" value={shown(credits_total)}>
        {worth(credits_total)}
      </Figure>
    </dl>
  );
}

function Latest({ jobs }: { jobs: Network["latest"] }) {
  if (jobs.length === 0) {
    return (
      <Empty title="No job was settled yet">
        <p>Ask a model above: your job shows up here.</p>
      </Empty>
    );
  }
  return (
    <ul className="plain-list latest">
      {jobs.map((job) => (
        <li key={job.id}>
          <JobLink id={job.id} />
          <ModelLink id={job.model} />
          <span className="end">{credits(job.credits)}</span>
          <span className="hint end">
            <When iso={job.created_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
