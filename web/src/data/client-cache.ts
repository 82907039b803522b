import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiFailure, isSignedOut } from "./client.ts";
import { sessionQuery } from "./queries.ts";

const isRefusal = (error: unknown): error is ApiFailure =>
  error instanceof ApiFailure && error.status >= 400 && error.status < 500;

const isSilence = (error: unknown): boolean => error instanceof ApiFailure && error.code === "no_answer";

/** The cache of everything read. A session found to be over signs out everywhere at once. */
export function createCache(): QueryClient {
  const onError = (error: unknown) => {
    if (!isSignedOut(error)) return;
    // A visitor who was signed in a moment ago is told that the session is over, whichever request noticed it first.
    client.setQueryData(sessionQuery.queryKey, (before) => ({
      session: null,
      ended: before?.session ? true : !!before?.ended,
    }));
    client.removeQueries({ queryKey: ["own"], type: "inactive" });
  };
  const client = new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: {
        // Asking again does not change a refusal; it may well change an outage, and a limit of requests a second. Ten seconds of silence are
        // told at once: the shell asks again from then on.
        retry: (count, error) => count < 2 && !isSilence(error) && !(isRefusal(error) && error.status !== 429),
        retryDelay: (count) => 1_000 * 2 ** count,
        refetchOnWindowFocus: true,
        // Without a network a request fails, and the page says so; a service on this machine answers all the same.
        networkMode: "always",
        refetchOnReconnect: true,
      },
      // Otherwise a change would wait, and its button spin, until the network is back.
      mutations: { networkMode: "always" },
    },
  });
  return client;
}
