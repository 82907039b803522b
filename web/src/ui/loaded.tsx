import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ApiFailure, isOutage } from "../data/client.ts";
import { errorMessageOf } from "../data/error-message.ts";
import { Search } from "../explorer/search.tsx";
import { Button } from "./controls.tsx";
import { Empty, Failure } from "./page.tsx";

/** Grey bars in the size of what is coming, so that nothing jumps when it is there. */
export function Skeleton({ rows = 3, height = 20 }: { rows?: number; height?: number }) {
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: bars without identity
        <span key={index} style={{ height }} />
      ))}
    </div>
  );
}

/**
 * Shows the result of a query: bars while it reads, words and a way to try again when it failed, and the search if nothing was found. Old
 * data stays when a refresh fails. An outage is told once, by the shell.
 */
export function Loaded<T>({
  query,
  rows,
  height,
  children,
}: {
  query: UseQueryResult<T>;
  rows?: number;
  height?: number;
  children: (data: T) => ReactNode;
}) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.error === null) return <Skeleton rows={rows ?? 3} height={height ?? 20} />;
  if (isOutage(query.error)) return <Empty title="This could not be read" />;
  const again = (
    <Button onClick={() => void query.refetch()} busy={query.isFetching}>
      Try again
    </Button>
  );
  return (
    <>
      <Failure message={errorMessageOf(query.error)} actions={again} />
      {query.error instanceof ApiFailure && query.error.status === 404 ? <Search /> : null}
    </>
  );
}
