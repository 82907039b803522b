import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { allJobsQuery } from "../data/queries.ts";
import { ListedJobs } from "../explorer/lists.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Page } from "../ui/page.tsx";
import { Pager } from "../ui/table.tsx";

/** Every job on the chain, of all wallets and operators: the newest lock first. */
export function JobList() {
  const before = useSearchParams()[0].get("before") ?? "";
  const page = useQuery(allJobsQuery(before));
  return (
    <Page title="Jobs" about="All jobs on the chain, of all wallets and operators, newest first.">
      <Card className={page.isPlaceholderData ? "stale" : ""}>
        <Loaded query={page} rows={12} height={24}>
          {({ data, next }) => (
            <>
              <ListedJobs jobs={data} empty="No job was locked yet" />
              <Pager before={before} older={next} />
            </>
          )}
        </Loaded>
      </Card>
    </Page>
  );
}
