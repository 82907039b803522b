import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { transactionsQuery } from "../data/queries.ts";
import { ListedTransactions } from "../explorer/lists.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Card, Page } from "../ui/page.tsx";
import { Pager } from "../ui/table.tsx";

/** Every transaction of the protocol, newest first. */
export function Transactions() {
  const before = useSearchParams()[0].get("before") ?? "";
  const page = useQuery(transactionsQuery(before));
  return (
    <Page title="Transactions" about="All transactions with events of the protocol, newest first.">
      <Card className={page.isPlaceholderData ? "stale" : ""}>
        <Loaded query={page} rows={12} height={24}>
          {({ data, next }) => (
            <>
              <ListedTransactions transactions={data} />
              <Pager before={before} older={next} />
            </>
          )}
        </Loaded>
      </Card>
    </Page>
  );
}
