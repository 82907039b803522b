/** The queries of all pages, by name: this file alone decides how often each one is asked again. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import type {
  AccountInfo,
  ChainAddress,
  ChainBlock,
  ChainJob,
  ChainTransaction,
  Delivery,
  DeliveryDetail,
  Dispute,
  DisputePage,
  FoundHash,
  HistoryEvent,
  Job,
  JobPage,
  KeyInfo,
  Latest,
  ListedDispute,
  ListedJob,
  ListedTransaction,
  ListPage,
  Model,
  ModelSeen,
  Network,
  Operator,
  OperatorGas,
  OperatorSpan,
  Owed,
  OwnWebhook,
  Range,
  SessionState,
  Spending,
  Statement,
  Status,
  Usage,
  UsageRange,
  WalletSettings,
  Worker,
  WorkerSpan,
} from "../../contract.ts";
import { ApiFailure, call } from "./client.ts";

const LIVE_MS = 4_000;

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: () => call<SessionState>("GET", "/session"),
  staleTime: 60_000,
});

export const accountQuery = queryOptions({
  queryKey: ["own", "account"],
  queryFn: () => call<AccountInfo>("GET", "/account"),
  refetchInterval: LIVE_MS,
});

export const keyQuery = queryOptions({ queryKey: ["own", "key"], queryFn: () => call<KeyInfo>("GET", "/key") });

export const usageQuery = (range: UsageRange) =>
  queryOptions({
    queryKey: ["own", "usage", range],
    queryFn: () => call<Usage>("GET", `/usage?range=${range}`),
    refetchInterval: 15_000,
    placeholderData: keepPreviousData,
  });

/** `month`: `2026-11`; empty for this one. */
export const statementQuery = (month: string) =>
  queryOptions({
    queryKey: ["own", "statement", month],
    queryFn: () => call<Statement>("GET", `/statement${queryString({ month })}`),
    refetchInterval: ({ state }) => (state.data?.complete ? false : 15_000),
    placeholderData: keepPreviousData,
  });

export const spendingQuery = queryOptions({
  queryKey: ["own", "spending"],
  queryFn: () => call<Spending>("GET", "/spending"),
  refetchInterval: 30_000,
});

type JobFilter = { status?: string; model?: string; before?: string; after?: string; limit?: number };

/** The query string of a filter; empty values are left out. */
export function queryString(filter: Record<string, string | number | undefined>): string {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined && value !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([key, value]) => [key, String(value)]))}`;
}

export const jobsQuery = (filter: JobFilter) =>
  queryOptions({
    queryKey: ["own", "jobs", filter],
    queryFn: () => call<JobPage>("GET", `/jobs${queryString(filter)}`),
    refetchInterval: LIVE_MS,
    placeholderData: keepPreviousData,
  });

/** The signed-in wallet's view of a job; null when it is another wallet's. */
export const ownJobQuery = (id: string) =>
  queryOptions({
    queryKey: ["own", "job", id],
    queryFn: async (): Promise<Job | null> => {
      try {
        return await call<Job>("GET", `/jobs/${id}`);
      } catch (error) {
        if (error instanceof ApiFailure && error.code === "job_not_found") return null;
        throw error;
      }
    },
    refetchInterval: LIVE_MS,
  });

export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: () => call<{ data: Model[] }>("GET", "/models"),
  refetchInterval: 30_000,
});

export const networkQuery = queryOptions({
  queryKey: ["network"],
  queryFn: () => call<Network>("GET", "/network"),
  refetchInterval: LIVE_MS,
});

/** The demo account's keys, which only a local stack has. */
export const demoQuery = queryOptions({
  queryKey: ["demo"],
  queryFn: () => call<{ api_key: string | null; private_key: string | null }>("GET", "/demo"),
  staleTime: Number.POSITIVE_INFINITY,
});

export const workersQuery = queryOptions({
  queryKey: ["workers"],
  queryFn: () => call<{ data: Worker[] }>("GET", "/workers"),
  refetchInterval: 30_000,
});

export const modelQuery = (id: string) =>
  queryOptions({
    queryKey: ["models", id],
    queryFn: () => call<Model & { history: HistoryEvent[] }>("GET", `/models/${encodeURIComponent(id)}`),
    refetchInterval: 30_000,
  });

export const modelSeenQuery = (id: string, range: Range) =>
  queryOptions({
    queryKey: ["models", id, "observed", range],
    queryFn: () => call<ModelSeen>("GET", `/models/${encodeURIComponent(id)}/observed?range=${range}`),
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
  });

export const workerQuery = (id: string) =>
  queryOptions({
    queryKey: ["workers", id],
    queryFn: () =>
      call<Worker & { owed: Owed[]; jobs: ListedJob[]; history: HistoryEvent[] }>(
        "GET",
        `/workers/${encodeURIComponent(id)}`,
      ),
    refetchInterval: 15_000,
  });

export const workerSeenQuery = (id: string, range: Range) =>
  queryOptions({
    queryKey: ["workers", id, "observed", range],
    queryFn: () => call<{ spans: WorkerSpan[] }>("GET", `/workers/${encodeURIComponent(id)}/observed?range=${range}`),
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
  });

/** A service that is down answers 503 with the same body. */
export const statusQuery = queryOptions({
  queryKey: ["status"],
  queryFn: () => call<Status>("GET", "/status", undefined, [503]),
  refetchInterval: 5_000,
});

export const operatorsQuery = queryOptions({
  queryKey: ["operators"],
  queryFn: () => call<{ data: Operator[] }>("GET", "/operators"),
  refetchInterval: 30_000,
});

export const operatorQuery = (id: string) =>
  queryOptions({
    queryKey: ["operators", id],
    queryFn: () =>
      call<Operator & { against: ListedDispute[]; jobs: ListedJob[]; history: HistoryEvent[] }>(
        "GET",
        `/operators/${encodeURIComponent(id)}`,
      ),
    refetchInterval: 15_000,
  });

export const operatorSeenQuery = (id: string, range: Range) =>
  queryOptions({
    queryKey: ["operators", id, "observed", range],
    queryFn: () =>
      call<{ spans: OperatorSpan[] }>("GET", `/operators/${encodeURIComponent(id)}/observed?range=${range}`),
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
  });

export const operatorGasQuery = (id: string) =>
  queryOptions({
    queryKey: ["operators", id, "gas"],
    queryFn: () => call<OperatorGas>("GET", `/operators/${encodeURIComponent(id)}/gas`),
    staleTime: 60_000,
  });

/** The newest block, jobs and transactions. */
export const latestQuery = queryOptions({
  queryKey: ["latest"],
  queryFn: () => call<Latest>("GET", "/explorer/latest"),
  refetchInterval: LIVE_MS,
});

const listQuery = <T>(list: "transactions" | "jobs", before: string) =>
  queryOptions({
    queryKey: ["explorer", list, before],
    queryFn: () => call<ListPage<T>>("GET", `/explorer/${list}${queryString({ before })}`),
    // Older pages stay as they are, but for the states of jobs.
    refetchInterval: before === "" ? LIVE_MS : 30_000,
    placeholderData: keepPreviousData,
  });
export const transactionsQuery = (before: string) => listQuery<ListedTransaction>("transactions", before);
export const allJobsQuery = (before: string) => listQuery<ListedJob>("jobs", before);

export const blockQuery = (number: string) =>
  queryOptions({
    queryKey: ["block", number],
    queryFn: () => call<ChainBlock>("GET", `/explorer/blocks/${encodeURIComponent(number)}`),
    staleTime: 30_000,
  });

export const addressQuery = (address: string, before: string) =>
  queryOptions({
    queryKey: ["address", address, before],
    queryFn: () =>
      call<ChainAddress>("GET", `/explorer/addresses/${encodeURIComponent(address)}${queryString({ before })}`),
    refetchInterval: 15_000,
    placeholderData: keepPreviousData,
  });

export const foundQuery = (hash: string | null) =>
  queryOptions({
    queryKey: ["find", hash],
    queryFn: () => call<FoundHash>("GET", `/explorer/find/${hash}`),
    enabled: hash !== null,
    staleTime: 30_000,
  });

export const transactionQuery = (hash: string) =>
  queryOptions({
    queryKey: ["tx", hash],
    queryFn: () => call<ChainTransaction>("GET", `/tx/${hash}`),
    refetchInterval: ({ state }) => (state.data?.status === "pending" ? 2_000 : false),
    staleTime: 30_000,
  });

export const chainJobQuery = (id: string) =>
  queryOptions({
    queryKey: ["chain-job", id],
    queryFn: () => call<ChainJob>("GET", `/explorer/jobs/${encodeURIComponent(id)}`),
    refetchInterval: LIVE_MS,
  });

export const settingsQuery = queryOptions({
  queryKey: ["own", "settings"],
  queryFn: () => call<WalletSettings>("GET", "/settings"),
});

export const webhooksQuery = queryOptions({
  queryKey: ["own", "webhooks"],
  queryFn: () => call<{ data: OwnWebhook[] }>("GET", "/webhooks"),
  refetchInterval: 10_000,
});

export const deliveriesQuery = (webhookId: string, filter: { status?: string; before?: string }) =>
  queryOptions({
    queryKey: ["own", "deliveries", webhookId, filter],
    queryFn: () =>
      call<{ data: Delivery[]; has_more: boolean }>("GET", `/webhooks/${webhookId}/deliveries${queryString(filter)}`),
    // One without a time for its next attempt is being sent, and ends within ten seconds.
    refetchInterval: ({ state }) =>
      state.data?.data.some((one) => one.status === "pending" && one.next_attempt_at === null) ? 1_000 : LIVE_MS,
    placeholderData: keepPreviousData,
  });

export const deliveryQuery = (id: string) =>
  queryOptions({
    queryKey: ["own", "delivery", id],
    queryFn: () => call<DeliveryDetail>("GET", `/deliveries/${id}`),
    // One that is being sent ends within ten seconds.
    refetchInterval: ({ state }) => (state.data?.status === "pending" ? 1_000 : LIVE_MS),
  });

export const disputesQuery = (before: string) =>
  queryOptions({
    queryKey: ["disputes", before],
    queryFn: () => call<DisputePage>("GET", `/disputes${queryString({ before })}`),
    refetchInterval: LIVE_MS,
    placeholderData: keepPreviousData,
  });

export const disputeQuery = (jobId: string) =>
  queryOptions({
    queryKey: ["dispute", jobId],
    queryFn: () => call<Dispute>("GET", `/disputes/${encodeURIComponent(jobId)}`),
    refetchInterval: LIVE_MS,
  });
