import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";
import { JOB_STATES } from "../../../protocol/job-status.ts";
import { jobsQuery, modelsQuery, queryString } from "../data/queries.ts";
import { Button, Select } from "../ui/controls.tsx";
import { JobTable } from "../ui/job-table.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Page } from "../ui/page.tsx";

const LIMIT = 25;

/** All jobs of the wallet. Filter and place are in the address, so that the browser's back button works. */
export function Jobs() {
  const [search, setSearch] = useSearchParams();
  const status = search.get("status") ?? "";
  const model = search.get("model") ?? "";
  const before = search.get("before") ?? "";
  const after = search.get("after") ?? "";
  const page = useQuery(jobsQuery({ status, model, before, after, limit: LIMIT }));
  const models = useQuery(modelsQuery);
  const choose = (name: string, value: string) => {
    const next = new URLSearchParams(search);
    next.delete("before");
    next.delete("after");
    if (value === "") next.delete(name);
    else next.set(name, value);
    setSearch(next);
  };
  const turn = (place: { before?: string; after?: string }) =>
    setSearch({ ...(status && { status }), ...(model && { model }), ...place });
  const jobs = page.data?.data ?? [];
  const { has_more: more = false } = page.data ?? {};
  const isNewest = before === "" && (after === "" || !more);
  const filtered = status !== "" || model !== "";
  const download = (
    <a className="button plain" href={`/app/api/jobs.csv${queryString({ status, model })}`} download="usage.csv">
      Export CSV
    </a>
  );
  return (
    <Page title="Jobs" about="Every request is a job; each one's charge is on the chain." actions={download}>
      <search className="filters">
        <Select label="Status" value={status} onChange={(event) => choose("status", event.target.value)}>
          <option value="">All</option>
          {JOB_STATES.map((state) => (
            <option key={state}>{state}</option>
          ))}
        </Select>
        <Select label="Model" value={model} onChange={(event) => choose("model", event.target.value)}>
          <option value="">All</option>
          {models.data?.data.map(({ id }) => (
            <option key={id}>{id}</option>
          ))}
        </Select>
      </search>
      <Card className={page.isPlaceholderData ? "stale" : ""}>
        <Loaded query={page} rows={10} height={28}>
          {({ data }) =>
            data.length > 0 ? (
              <JobTable jobs={data} />
            ) : filtered || before || after ? (
              <Empty title="No jobs here">
                <Button onClick={() => setSearch({})}>Show all jobs</Button>
              </Empty>
            ) : (
              <Empty title="No jobs yet">
                <p>
                  Every request with your API key shows up here. <Link to="/app/settings">Create a key</Link> to send
                  one.
                </p>
              </Empty>
            )
          }
        </Loaded>
      </Card>
      <nav className="pager" aria-label="Pages of the list">
        <Button disabled={isNewest} onClick={() => turn(jobs[0] ? { after: jobs[0].id } : {})}>
          Newer
        </Button>
        {/* A page that "Newer" led to has the jobs behind it that one comes from. */}
        <Button
          disabled={jobs.length === 0 || (after === "" && !more)}
          onClick={() => turn({ before: jobs.at(-1)?.id ?? "" })}
        >
          Older
        </Button>
      </nav>
    </Page>
  );
}
