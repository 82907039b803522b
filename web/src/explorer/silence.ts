import { nodeHost } from "../../../shared/node-url.ts";

/** As long as pages wait for the service (`data/client.ts`). Without it the transport's own repetitions would take a minute. */
const SILENCE_MS = 10_000;

/** Resolves with a node's first answer; rejects if the node says nothing for ten seconds. */
export function unlessSilent<T>(node: string, first: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const silent = () => reject(new Error(`The node at ${nodeHost(node)} has not answered for 10 seconds.`));
  const timer = setTimeout(silent, SILENCE_MS);
  return Promise.race([first, promise]).finally(() => clearTimeout(timer));
}
