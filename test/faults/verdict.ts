import { eventually } from "../support/api-client.ts";
import { checkLedger, checkRequests, type Story, untilEveryJobEnds } from "../support/stories.ts";
import type { Load } from "./load.ts";
import { reindexed } from "./reindex.ts";
import type { World } from "./world.ts";

/** What a run came to. `problems` is empty when nothing was lost. */
export type Verdict = {
  problems: string[];
  requests: number;
  answered: number;
  refused: number;
  broken: number;
  jobs: number;
  settled: number;
  failed: number;
  refunded: number;
  /** Answered, and nobody paid: a chain that was rolled back lost their lock, or their settlement until its window was over. */
  lostWithTheChain: number;
  webhookDeliveries: number;
};

const WEBHOOKS_MS = 120_000;

/** Waits until everything has come to its end, then judges from the chain alone. */
export async function judge(world: World, load: Load, chainWasRolledBack: boolean): Promise<Verdict> {
  const problems: string[] = [];
  const stories = await untilEveryJobEnds(world.stack, problems);
  const count = (pick: (story: Story) => boolean) => [...stories.values()].filter(pick).length;
  const verdict: Verdict = {
    problems,
    requests: load.requests.length,
    answered: load.requests.filter(({ outcome }) => outcome === "answered").length,
    refused: load.requests.filter(({ outcome }) => outcome === "refused").length,
    broken: load.requests.filter(({ outcome }) => outcome === "broken").length,
    jobs: stories.size,
    settled: count((story) => story.settled > 0),
    failed: count((story) => story.failed > 0),
    refunded: count((story) => story.refunded > 0),
    lostWithTheChain: 0,
    webhookDeliveries: world.receiver.received.length,
  };
  const hung = load.requests.filter((request) => request.hung).length;
  if (hung > 0) problems.push(`${hung} requests got no answer at all`);
  verdict.lostWithTheChain = checkRequests(load.requests, stories, problems);
  if (verdict.lostWithTheChain > 0 && !chainWasRolledBack) {
    problems.push(`${verdict.lostWithTheChain} answers are not paid for, and no transaction was ever taken back`);
  }
  await checkLedger(world.stack, problems);
  await checkWebhooks(world, stories, problems);
  problems.push(...(await reindexed(world)));
  return verdict;
}

/** Each wallet's receiver must have heard of each job and of its end, each under one id. */
async function checkWebhooks(world: World, stories: Map<string, Story>, problems: string[]): Promise<void> {
  const names = { settled: "job.completed", failed: "job.failed", refunded: "job.timeout" } as const;
  const missing = (): string[] => {
    const told = new Set(world.receiver.received.map(({ event }) => `${event.event} ${event.data.job_id}`));
    return [...stories].flatMap(([id, story]) => {
      const end = (Object.keys(names) as (keyof typeof names)[]).find((name) => story[name] > 0);
      return ["job.submitted", ...(end ? [names[end]] : [])]
        .map((name) => `${name} ${id}`)
        .filter((one) => !told.has(one));
    });
  };
  const left = await eventually(
    async () => missing(),
    (lines) => lines.length === 0,
    WEBHOOKS_MS,
  ).catch(missing);
  if (left.length > 0) problems.push(`${left.length} webhook events never came: ${left.slice(0, 5).join(", ")}`);
  const ids = new Map<string, string>();
  for (const { event, path } of world.receiver.received) {
    const key = `${path} ${event.event} ${event.data.job_id}`;
    const first = ids.get(key) ?? event.id;
    if (first !== event.id) problems.push(`${key} came under two ids: ${first} and ${event.id}`);
    ids.set(key, first);
  }
}
