import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { PATHS } from "../../../shared/web-paths.ts";
import { spendingQuery } from "../data/queries.ts";
import { credits } from "../ui/format.ts";
import { Notice } from "../ui/page.tsx";

const SPANS = [
  ["month", "this month"],
  ["day", "today"],
] as const;

/** Tells on each page of an account that more was charged than the wallet wanted to be told of; until the day or month (UTC) is over. */
export function SpendAlert() {
  const { data } = useQuery(spendingQuery);
  if (data === undefined) return null;
  return SPANS.map(([span, words]) => {
    const spent = data[span];
    if (spent === null || spent.charged < spent.alert) return null;
    return (
      <Notice
        key={span}
        tone="warn"
        title={`${credits(spent.charged)} were charged ${words}`}
        actions={<Link to={PATHS.settings}>Change the alert</Link>}
      >
        <p>
          You wanted to be told from {credits(spent.alert)} on. Requests go on: only a daily limit stops them.{" "}
          <Link to={PATHS.statement}>See the statement</Link>
        </p>
      </Notice>
    );
  });
}
