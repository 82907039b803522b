import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { useParams } from "react-router";
import type { ListedDispute, Operator } from "../../contract.ts";
import { app } from "../data/app.ts";
import { operatorQuery } from "../data/queries.ts";
import { History, JsonLink, ListedJobs } from "../explorer/lists.tsx";
import { count, credits, moment, success, units, usdg } from "../ui/format.ts";
import { AddressLink } from "../ui/links.tsx";
import { Loaded, Skeleton } from "../ui/loaded.tsx";
import { Card, Fact, Page } from "../ui/page.tsx";
import { Badge } from "../ui/status.tsx";
import { Table } from "../ui/table.tsx";
import { EndedDisputes } from "./dispute/ended.tsx";
import { OperatorState } from "./workers.tsx";

const Margin = lazy(() => import("./operator/margin.tsx"));
const OverTime = lazy(() => import("./operator/over-time.tsx"));

/** An operator: its jobs over time, what it is and may do, what backs its faults and what was ruled against it, what it earns, its newest charged jobs and its history. */
export function OperatorPage() {
  const { id = "" } = useParams();
  const operator = useQuery(operatorQuery(id));
  return (
    <Page
      key={id}
      title={`Operator ${id}`}
      {...(Number(id) === app.operator ? { about: "It runs this service." } : {})}
      actions={<JsonLink path={`/operators/${id}`} name={`operator-${id}`} />}
    >
      <Loaded query={operator} rows={4} height={100}>
        {(data) => (
          <>
            <Card>
              <dl className="facts">
                <Fact label="State">
                  <OperatorState operator={data} />
                </Fact>
                <Fact label="Jobs charged in 24 hours">{count(data.jobs_24h)}</Fact>
                <Fact label="Success in 24 hours">{success(data.success_24h)}</Fact>
                <Fact label="Charged in 24 hours">{credits(data.credits_24h)}</Fact>
                <Fact label="Earned and not withdrawn">{units(BigInt(data.earned), 6)} USDG</Fact>
                <Fact label="Admitted">{moment(data.admitted_at)}</Fact>
                <Fact label="Admin">
                  <AddressLink address={data.admin} what="admin's address" />
                </Fact>
              </dl>
            </Card>
            <Suspense fallback={<Skeleton rows={2} height={220} />}>
              <OverTime id={id} />
            </Suspense>
            <About />
            <Backing operator={data} />
            <Suspense fallback={<Skeleton rows={2} height={160} />}>
              <Margin operator={data} />
            </Suspense>
            <Card title="Signers">
              <Table caption="Keys that act for the operator" columns={["Key", "State", { end: "Added" }]}>
                {data.signers.map(({ address, added_at, removed_at }) => (
                  <tr key={address}>
                    <td>
                      <AddressLink address={address} what="signer" />
                    </td>
                    <td>
                      {removed_at === null ? (
                        <Badge tone="good">in office</Badge>
                      ) : (
                        <Badge tone="mild">{`removed ${moment(removed_at)}`}</Badge>
                      )}
                    </td>
                    <td className="end">{moment(added_at)}</td>
                  </tr>
                ))}
              </Table>
            </Card>
            <Card title="Latest charged jobs">
              <ListedJobs jobs={data.jobs} empty="No job of it was charged yet" />
            </Card>
            <Card title="History">
              <History events={data.history} />
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}

const About = () => (
  <Card title="What an operator is">
    <p>
      An operator runs gateways: it takes requests, locks credits of the wallets that chose it, offers the jobs to
      workers and settles what their answers cost. Governance admits operators and can stop one.
    </p>
    <p>
      It cannot take credits. The contract pays what it locks to the worker whose signed answer it brings, and the
      protocol’s fee to the treasury, less the operator’s part of it, or gives it back. A wallet can choose another
      operator at any time, limit what one may lock a day, or have each job signed by a key of its own.
    </p>
  </Card>
);

/** The credits that pay for the operator's faults, and how its disputes ended. */
function Backing({ operator }: { operator: Operator & { against: readonly ListedDispute[] } }) {
  const { reserve, held, leaving, leaves_at, disputes, paid, against } = operator;
  const all = Object.values(disputes).reduce((sum, one) => sum + one, 0);
  return (
    <Card title="What backs it, and what was ruled against it">
      <p>
        Its reserve pays first where arbiters find it at fault: the whole charge, or at most 100 credits of a job that
        it had not settled. The treasury pays the rest, up to a limit a day.
      </p>
      <dl className="facts">
        <Fact label="Reserve">
          {credits(reserve)}, worth {usdg(reserve)}
        </Fact>
        <Fact label="Held for disputes">{credits(held)}</Fact>
        <Fact label="Reserve to be withdrawn">
          {leaving === null || leaves_at === null ? "nothing" : `${credits(leaving)} from ${moment(leaves_at)}`}
        </Fact>
        <Fact label="Paid for its faults">{credits(paid)}</Fact>
        <Fact label="Disputes of its jobs">
          {count(all)}, {count(disputes.open)} open
        </Fact>
        <Fact label="Ruled against it">{count(disputes.gateway_at_fault)}</Fact>
        <Fact label="Ruled against workers">{count(disputes.worker_at_fault)}</Fact>
        <Fact label="Rejected">{count(disputes.rejected)}</Fact>
        <Fact label="Without a ruling">{count(disputes.expired)}</Fact>
      </dl>
      {against.length === 0 ? (
        <p className="hint">No arbiters have found it at fault.</p>
      ) : (
        <EndedDisputes disputes={against} />
      )}
    </Card>
  );
}
