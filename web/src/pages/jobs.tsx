import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import { Link, useSearchParams } from "react-router";
import { JOB_STATES } from "../../../protocol/job-status.ts";
import { jobsQuery, modelsQuery, queryString } from "../data/queries.ts";
import { Button, Select } from "../ui/controls.tsx";
import { JobTable } from "../ui/job-table.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Page } from "../ui/page.tsx";
import { dayRange, idRange, within } from "./jobs/id-range.ts";

const LIMIT = 25;

/** All jobs of the wallet. Filters, search and place are in the address: they survive a reload, and the browser's back button works. */
export function Jobs() {
  const [search, setSearch] = useSearchParams();
  const status = search.get("status") ?? "";
  const model = search.get("model") ?? "";
  const id = search.get("id") ?? "";
  const before = search.get("before") ?? "";
  const after = search.get("after") ?? "";
  const [from, to] = [search.get("from") ?? "", search.get("to") ?? ""];
  const range = within(idRange(id), dayRange(from, to));
  // Inside a range of ids one pages from the newest on; `after` is its end then.
  const place = range === null ? { before, after } : { ...range, ...(before && { before }) };
  const page = useQuery(jobsQuery({ status, model, ...place, limit: LIMIT }));
  const models = useQuery(modelsQuery);
  const filters = Object.entries({ status, model, id, from, to }).filter(([, value]) => value !== "");
  const turn = (place: { before?: string; after?: string }) => setSearch({ ...Object.fromEntries(filters), ...place });
  const choose = (name: string, value: string) => {
    const next = new URLSearchParams(search);
    for (const gone of ["before", "after", name]) next.delete(gone);
    if (value !== "") next.set(name, value);
    setSearch(next);
  };
  const jobs = page.data?.data ?? [];
  const { has_more: more = false } = page.data ?? {};
  const isNewest = before === "" && (range !== null || after === "" || !more);
  const download = (
    <a
      className="button plain"
      href={`/app/api/jobs.csv${queryString({ status, model, ...range })}`}
      download="usage.csv"
    >
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
        <Day label="From (UTC)" value={from} max={to} choose={(day) => choose("from", day)} />
        <Day label="To (UTC)" value={to} min={from} choose={(day) => choose("to", day)} />
        <FindById key={id} shown={id} find={(text) => choose("id", text)} />
      </search>
      <Card className={page.isPlaceholderData ? "stale" : ""}>
        <Loaded query={page} rows={10} height={28}>
          {({ data }) =>
            data.length > 0 ? (
              <JobTable jobs={data} />
            ) : filters.length > 0 || before || after ? (
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
        <Button disabled={isNewest} onClick={() => turn(jobs[0] && range === null ? { after: jobs[0].id } : {})}>
          Newer
        </Button>
        {/* A page that "Newer" led to has the jobs behind it that one comes from. */}
        <Button
          disabled={jobs.length === 0 || (!more && (range !== null || after === ""))}
          onClick={() => turn({ before: jobs.at(-1)?.id ?? "" })}
        >
          Older
        </Button>
      </nav>
    </Page>
  );
}

type DayProps = { label: string; value: string; min?: string; max?: string; choose: (day: string) => void };

function Day({ label, choose, ...rest }: DayProps) {
  const id = useId();
  return (
    <div className="field compact">
      <label htmlFor={id}>{label}</label>
      <div className="input">
        <input id={id} type="date" {...rest} onChange={(event) => choose(event.target.value)} />
      </div>
    </div>
  );
}

/** Finds the jobs whose ids begin so. Only what can be one gets into the address. */
function FindById({ shown, find }: { shown: string; find: (id: string) => void }) {
  const [text, setText] = useState(shown);
  const [isWrong, setWrong] = useState(shown !== "" && idRange(shown) === null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const id = text.trim();
    if (id === "" || idRange(id) !== null) find(id);
    else setWrong(true);
  };
  return (
    <form className="field compact" onSubmit={submit}>
      <label htmlFor="job-id">Job id</label>
      <div className="verify" style={{ flexBasis: "auto" }}>
        <div className="input">
          <input
            id="job-id"
            type="search"
            className="mono"
            placeholder="job_… or its beginning"
            autoComplete="off"
            spellCheck={false}
            value={text}
            aria-invalid={isWrong || undefined}
            aria-describedby="job-id-about"
            onChange={(event) => {
              setText(event.target.value);
              setWrong(false);
            }}
          />
        </div>
        <Button type="submit">Find</Button>
      </div>
      <p id="job-id-about" role="status" className={isWrong ? "hint wrong" : "visually-hidden"}>
        {isWrong ? "An id is job_ and up to 32 digits, 0 to 9 and a to f." : ""}
      </p>
    </form>
  );
}
