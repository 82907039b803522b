import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { blockQuery, latestQuery } from "../data/queries.ts";
import { JsonLink, ListedTransactions, TwinLink } from "../explorer/lists.tsx";
import { Hash } from "../ui/copy.tsx";
import { count, momentOf, percent, units } from "../ui/format.ts";
import { AddressLink, LinkButton } from "../ui/links.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Fact, Page } from "../ui/page.tsx";

/** A block, and the protocol's transactions in it. */
export function BlockPage() {
  const { number = "" } = useParams();
  const block = useQuery(blockQuery(number));
  const head = useQuery(latestQuery).data?.head_block ?? 0;
  const at = Number(number);
  const turn = (
    <>
      {at > 0 ? <LinkButton to={`/app/block/${at - 1}`}>Block before</LinkButton> : null}
      {at < head ? <LinkButton to={`/app/block/${at + 1}`}>Block after</LinkButton> : null}
      <TwinLink path={`block/${number}`} />
      <JsonLink path={`/explorer/blocks/${number}`} name={`block-${number}`} />
    </>
  );
  return (
    <Page key={number} title={`Block ${number}`} actions={turn}>
      <Loaded query={block} rows={3} height={80}>
        {(data) => (
          <>
            <Card>
              <dl className="facts">
                <Fact label="Time">{momentOf(data.timestamp)}</Fact>
                <Fact label="Confirmations">{head < data.number ? "–" : count(head - data.number + 1)}</Fact>
                <Fact label="Transactions">
                  {count(data.transaction_count)} ({count(data.transactions.length)} of the protocol)
                </Fact>
                <Fact label="Gas used">
                  {count(data.gas_used)} ({percent(data.gas_used / data.gas_limit)})
                </Fact>
                <Fact label="Base fee">
                  {data.base_fee_wei === null ? "–" : `${units(BigInt(data.base_fee_wei), 9, 0)} gwei`}
                </Fact>
                <Fact label="Producer">
                  <AddressLink address={data.producer} what="producer" />
                </Fact>
                <Fact label="Hash">
                  <Hash value={data.hash} what="block hash" />
                </Fact>
                <Fact label="Parent">
                  <Hash
                    value={data.parent_hash}
                    what="parent's hash"
                    {...(data.number > 0 ? { to: `/app/block/${data.number - 1}` } : {})}
                  />
                </Fact>
              </dl>
            </Card>
            <Card title="Transactions of the protocol">
              <ListedTransactions transactions={data.transactions} />
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}
