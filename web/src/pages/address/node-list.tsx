import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { LogFilter } from "../../../../verify/chain.ts";
import { NodeChoice, useNode } from "../../explorer/node.tsx";
import { logsBefore, type PlacedLog } from "../../explorer/node-logs.ts";
import { Button } from "../../ui/controls.tsx";
import { count } from "../../ui/format.ts";
import { Skeleton } from "../../ui/loaded.tsx";
import { Empty, Failure } from "../../ui/page.tsx";

type NodeListProps = {
  /** Names the list in the cache. */
  name: string;
  filters: readonly LogFilter[];
  says: string;
  empty: string;
  children: (logs: readonly PlacedLog[]) => ReactNode;
};

/** Logs that the visitor's node finds, newest first, as far back as somebody looks. */
export function NodeList({ name, filters, says, empty, children }: NodeListProps) {
  const { node, choose } = useNode();
  const pages = useInfiniteQuery({
    queryKey: ["logs", name, node],
    queryFn: ({ pageParam }) => logsBefore(node as string, filters, pageParam),
    initialPageParam: null as number | null,
    getNextPageParam: ({ next }) => next,
    enabled: node !== null,
    retry: false,
    staleTime: 15_000,
  });
  const logs = pages.data?.pages.flatMap((page) => page.logs) ?? [];
  const from = pages.data?.pages.at(-1)?.from;
  return (
    <>
      {node !== null && pages.isPending ? <Skeleton rows={5} height={28} /> : null}
      {pages.error ? (
        <Failure
          message={{ title: "The node did not answer", text: pages.error.message }}
          actions={<Button onClick={() => void pages.refetch()}>Try again</Button>}
        />
      ) : null}
      {logs.length > 0 ? children(logs) : null}
      {logs.length === 0 && pages.isSuccess ? <Empty title={empty} /> : null}
      {from === undefined ? null : (
        <div className="row">
          <span className="hint">{pages.hasNextPage ? `Down to block ${count(from)}` : "All of them"}</span>
          {pages.hasNextPage ? (
            <Button busy={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
              Look further back
            </Button>
          ) : null}
        </div>
      )}
      <NodeChoice url={node} onChange={choose} says={says} />
    </>
  );
}
