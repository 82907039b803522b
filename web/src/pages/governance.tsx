import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { NodeChoice, useNode } from "../explorer/node.tsx";
import { Button } from "../ui/controls.tsx";
import { moment } from "../ui/format.ts";
import { Loaded, Skeleton } from "../ui/loaded.tsx";
import { Card, Failure, Page } from "../ui/page.tsx";
import { readGovernance } from "./governance/chain.ts";
import { Sections } from "./governance/sections.tsx";

/** Only who wants to act needs the code for wallets. */
const Desk = lazy(() => import("./governance/desk.tsx"));

/** The page on which SVC holders decide and vote, from the visitor's node alone: proposals, the timelock's queue, the treasury. */
export function GovernancePage() {
  const { node, choose } = useNode();
  const [looks, setLooks] = useState(1);
  const [isActing, setActing] = useState(false);
  const governance = useQuery({
    queryKey: ["governance", node, looks],
    queryFn: () => readGovernance(node as string, looks),
    enabled: node !== null,
    refetchInterval: 30_000,
    retry: false,
    placeholderData: (before) => before,
  });
  return (
    <Page
      title="Governance"
      about="SVC is the protocol's token. Workers put it up as stake, and its holders decide on fees, prices, operators, arbiters and the treasury. What they decided waits in a timelock before it happens."
    >
      <Card>
        <NodeChoice
          key={node}
          url={node}
          onChange={choose}
          says="Your browser asks this node for the proposals, the votes and the treasury."
        />
      </Card>
      {governance.data && governance.error ? (
        <Failure
          message={{
            title: "The node does not answer",
            text: `${governance.error.message} What you see is from ${moment(new Date(governance.dataUpdatedAt).toISOString())}.`,
          }}
        />
      ) : null}
      {node === null ? null : (
        <Loaded query={governance} rows={5} height={90}>
          {(data) => (
            <Suspense fallback={<Skeleton rows={5} height={90} />}>
              {isActing ? (
                <Desk governance={data} node={node} older={() => setLooks(looks * 2)} />
              ) : (
                <>
                  <div className="row">
                    <p className="hint">Vote, delegate, propose, queue and execute with your wallet.</p>
                    <Button kind="primary" onClick={() => setActing(true)}>
                      Act with a wallet
                    </Button>
                  </div>
                  <Sections governance={data} older={() => setLooks(looks * 2)} />
                </>
              )}
            </Suspense>
          )}
        </Loaded>
      )}
    </Page>
  );
}
