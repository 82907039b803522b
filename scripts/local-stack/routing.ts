import { setTimeout as sleep } from "node:timers/promises";
import type { StackContext } from "./context.ts";
import { GivenUp, messageOf } from "./errors.ts";
import type { WorkerEntry } from "./programs.ts";

/** A gateway looks for new workers once a second and asks each how it is; one that rests after a failure may take longer. */
const PATIENCE_MS = 20_000;
const LOOK_MS = 100;

type Listed = { id: string; service: { active_workers: number } };

/**
 * Waits until the gateway offers every model of the started workers through all of them: only then the first request finds
 * one. Workers that stay away do not stop the start, for the gateway serves what it has; the line says which models wait.
 */
export async function awaitRouting(
  context: StackContext,
  workers: readonly WorkerEntry[],
  apiKey: string,
): Promise<string> {
  const wanted = new Map<string, number>();
  for (const worker of workers.filter(({ start }) => start)) {
    for (const model of worker.models) wanted.set(model, (wanted.get(model) ?? 0) + 1);
  }
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    if (context.abort.aborted) throw new GivenUp();
    const missing = await missingModels(context.urls.api, apiKey, wanted);
    if (missing.length === 0) return `${wanted.size} models answered for`;
    if (Date.now() > deadline) return `not all workers answer the gateway: ${missing.join(", ")}`;
    await sleep(LOOK_MS);
  }
}

async function missingModels(api: string, apiKey: string, wanted: Map<string, number>): Promise<string[]> {
  if (wanted.size === 0) return [];
  let offered: Map<string, number>;
  try {
    const response = await fetch(`${api}/v1/models`, {
      headers: { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.timeout(5_000),
    });
    if (response.status !== 200) return [`GET /v1/models answers ${response.status}`];
    const { data } = (await response.json()) as { data: Listed[] };
    offered = new Map(data.map(({ id, service }) => [id, service.active_workers]));
  } catch (error) {
    return [`GET /v1/models fails (${messageOf(error)})`];
  }
  return [...wanted].flatMap(([model, count]) => {
    const found = offered.get(model) ?? 0;
    return found < count ? [`${model} has ${found} of ${count}`] : [];
  });
}
