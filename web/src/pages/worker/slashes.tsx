import type { Worker } from "../../../contract.ts";
import { moment, svc } from "../../ui/format.ts";
import { JobLink } from "../../ui/links.tsx";
import { Card, Empty } from "../../ui/page.tsx";
import { TxHash } from "../../wallet/action-status.tsx";

export const Slashes = ({ worker }: { worker: Worker }) => (
  <Card title="Slashes">
    {worker.slashes.length === 0 ? (
      <Empty title="Never slashed" />
    ) : (
      <ul className="plain-list">
        {worker.slashes.map((slash) => (
          <li key={slash.job_id}>
            Lost {svc(BigInt(slash.amount))} on {moment(slash.slashed_at)} ({slash.reason.replaceAll("_", " ")}) for{" "}
            <JobLink id={slash.job_id} />: <TxHash hash={slash.tx} />
          </li>
        ))}
      </ul>
    )}
  </Card>
);
