import { Link } from "react-router";
import type { ListedDispute } from "../../../contract.ts";
import { credits, short, shortMoment } from "../../ui/format.ts";
import { Table } from "../../ui/table.tsx";
import { RulingBadge } from "./rulings.tsx";

/** To a dispute, by its job. */
export const DisputeLink = ({ id }: { id: string }) => (
  <Link to={`/app/disputes/${id}`}>
    <code title={id}>{short(id, 10, 6)}</code>
  </Link>
);

export function EndedDisputes({ disputes }: { disputes: readonly ListedDispute[] }) {
  const columns = ["Job", "Ruling", { end: "Ended" }, { end: "Charge" }, "Opened by"];
  return (
    <Table caption="Ended disputes, newest first" columns={columns}>
      {disputes.map((dispute) => (
        <tr key={dispute.job_id}>
          <td>
            <DisputeLink id={dispute.job_id} />
          </td>
          <td>{dispute.ruling === null ? null : <RulingBadge ruling={dispute.ruling} />}</td>
          <td className="end">{dispute.resolved_at === null ? "–" : shortMoment(dispute.resolved_at)}</td>
          <td className="end">{credits(dispute.credits)}</td>
          <td>{dispute.opened_by === "operator" ? "operator" : "client's wallet"}</td>
        </tr>
      ))}
    </Table>
  );
}
