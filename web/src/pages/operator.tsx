import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { app } from "../data/app.ts";
import { operatorQuery } from "../data/queries.ts";
import { History, JsonLink, ListedJobs, success } from "../explorer/lists.tsx";
import { count, credits, moment } from "../ui/format.ts";
import { AddressLink } from "../ui/links.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Fact, Page } from "../ui/page.tsx";
import { Badge } from "../ui/status.tsx";
import { Table } from "../ui/table.tsx";
import { OperatorState } from "./workers.tsx";

/** An operator: who acts for it, what backs its faults, its newest charged jobs and its history. */
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
                <Fact label="Reserve">{credits(data.reserve)}</Fact>
                <Fact label="Held for disputes">{credits(data.held)}</Fact>
                <Fact label="Reserve to be withdrawn">
                  {data.leaving === null || data.leaves_at === null
                    ? "nothing"
                    : `${credits(data.leaving)} from ${moment(data.leaves_at)}`}
                </Fact>
                <Fact label="Admitted">{moment(data.admitted_at)}</Fact>
                <Fact label="Admin">
                  <AddressLink address={data.admin} what="admin's address" />
                </Fact>
              </dl>
            </Card>
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
