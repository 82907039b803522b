import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import type { ListedDispute } from "../../contract.ts";
import { disputesQuery } from "../data/queries.ts";
import { useNow } from "../ui/clock.ts";
import { countdown, credits, moment } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Empty, Page } from "../ui/page.tsx";
import { Badge } from "../ui/status.tsx";
import { Pager, Table } from "../ui/table.tsx";
import { DisputeLink, EndedDisputes } from "./dispute/ended.tsx";

/** All disputes: the open ones first, with the time that is left to rule on them. */
export function Disputes() {
  const [search] = useSearchParams();
  const before = search.get("before") ?? "";
  const disputes = useQuery(disputesQuery(before));
  return (
    <Page
      title="Disputes"
      about="A client, or its operator, says that another text arrived than the worker signed. Arbiters rule on it within 24 hours."
    >
      <Loaded query={disputes} rows={4} height={40}>
        {({ open, ended, next }) => (
          <>
            {before === "" ? (
              <Card title="Open" aside={<span className="hint">the first to end comes first</span>}>
                {open.length === 0 ? <Empty title="No dispute is open" /> : <Open disputes={open} />}
              </Card>
            ) : null}
            <Card title="Ended">
              {ended.length === 0 ? <Empty title="No dispute has ended here" /> : <EndedDisputes disputes={ended} />}
              <Pager before={before} older={next} />
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Open({ disputes }: { disputes: readonly ListedDispute[] }) {
  const now = useNow();
  const columns = ["Job", "State", { end: "Time left" }, { end: "Votes" }, { end: "Charge" }, "Opened by"];
  return (
    <Table caption="Open disputes" columns={columns}>
      {disputes.map((dispute) => {
        const left = Date.parse(dispute.rule_before) - now;
        return (
          <tr key={dispute.job_id}>
            <td>
              <DisputeLink id={dispute.job_id} />
            </td>
            <td>
              <OpenBadge dispute={dispute} now={now} />
            </td>
            <td className="end" title={moment(dispute.rule_before)}>
              {left > 0 ? countdown(left) : "over"}
            </td>
            <td className="end">{Object.values(dispute.votes).reduce((sum, one) => sum + one, 0)}</td>
            <td className="end">{credits(dispute.credits)}</td>
            <td>{dispute.opened_by === "operator" ? "operator" : "client's wallet"}</td>
          </tr>
        );
      })}
    </Table>
  );
}

/** Shows if the arbiters' time to vote is still to come, runs, or is over. */
export function OpenBadge({
  dispute,
  now,
}: {
  dispute: Pick<ListedDispute, "rule_from" | "rule_before">;
  now: number;
}) {
  if (now >= Date.parse(dispute.rule_before)) return <Badge tone="bad">not ruled</Badge>;
  return now >= Date.parse(dispute.rule_from) ? <Badge tone="wait">voting</Badge> : <Badge tone="mild">hearing</Badge>;
}
