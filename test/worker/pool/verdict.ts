import type { Asked } from "../../support/asked.ts";
import { Patience } from "../../support/patience.ts";
import type { Stack } from "../../support/stack.ts";
import { checkLedger, checkRequests, type Story, untilEveryJobEnds } from "../../support/stories.ts";
import type { Pool } from "./run.ts";

/** How many of some requests each worker answered. */
export type Answers = Record<keyof Pool, number>;

/** What a run came to. `problems` is empty when no client was let down, nothing was charged without an answer and the load moved. */
export type Verdict = {
  problems: string[];
  requests: number;
  answered: number;
  /** Refused requests by their error's code. */
  refused: Record<string, number>;
  settled: number;
  failed: number;
  refunded: number;
  /** All answers; those of the first requests, when nothing was known of the workers yet; and those of the later half. */
  answers: { all: Answers; first: Answers; later: Answers };
  /** What the gateway blames each worker for, by incident. */
  incidents: Record<keyof Pool, Record<string, number>>;
};

/** The errors that a client may retry, by the specification. */
const RETRYABLE: Record<string, string> = {
  no_workers_available: "capacity_error",
  service_unavailable: "capacity_error",
  job_timeout: "timeout_error",
};
/** For every job to come to its end. */
const END_MS = 240_000;
/** As many as are under way at once: they were all given out before the first answer. */
const FIRST = 20;

/** A share that had this size from the beginning need not grow. */
const LARGE_SHARE = 0.75;

/** Waits until every job has come to its end, then judges from the chain and from the gateway's own metrics. */
export async function judge(stack: Stack, pool: Pool, asked: Asked[]): Promise<Verdict> {
  const problems: string[] = [];
  const { stories } = await untilEveryJobEnds(stack, problems, new Patience(END_MS, console.error));
  const unpaid = checkRequests(asked, stories, problems);
  if (unpaid.length > 0) problems.push(`${unpaid.length} answers are not paid for`);
  await checkLedger(stack, problems);
  const refused = checkClients(asked, problems);

  const count = (pick: (story: Story) => boolean): number => [...stories.values()].filter(pick).length;
  const answers = {
    all: answersOf(pool, asked, stories),
    first: answersOf(pool, asked.slice(0, FIRST), stories),
    later: answersOf(pool, asked.slice(Math.floor(asked.length / 2)), stories),
  };
  const share = (of: Answers, requests: number): number => of.healthy / requests;
  const later = share(answers.later, Math.ceil(asked.length / 2));
  const first = share(answers.first, Math.min(FIRST, asked.length));
  if (later <= first && later < LARGE_SHARE)
    problems.push(`the healthy worker's share of the requests did not grow: ${first}, then ${later}`);
  const { healthy, slow, crashing } = answers.all;
  if (healthy <= slow + crashing) {
    problems.push(`the healthy worker answered ${healthy}, the slow one ${slow} and the crashing one ${crashing}`);
  }
  const incidents = await readIncidents(stack, pool);
  if (Object.keys(incidents.healthy).length > 0) {
    problems.push(`the healthy worker is blamed: ${JSON.stringify(incidents.healthy)}`);
  }
  return {
    problems,
    requests: asked.length,
    answered: asked.filter(({ outcome }) => outcome === "answered").length,
    refused,
    settled: count((story) => story.settled > 0),
    failed: count((story) => story.failed > 0),
    refunded: count((story) => story.refunded > 0),
    answers,
    incidents,
  };
}

/** Every client has an answer, or an error that says what it is and that a retry is safe. */
function checkClients(asked: Asked[], problems: string[]): Record<string, number> {
  const refused: Record<string, number> = {};
  for (const [number, { outcome, status, code, type, hung }] of asked.entries()) {
    if (hung) problems.push(`request ${number} got no answer at all`);
    else if (outcome === "broken") problems.push(`request ${number} ended without an answer or an error (${status})`);
    if (outcome !== "refused") continue;
    refused[String(code)] = (refused[String(code)] ?? 0) + 1;
    // An error inside a stream comes after its 200.
    const retryable = (status === 200 || status >= 500) && type !== null && RETRYABLE[String(code)] === type;
    if (!retryable) problems.push(`request ${number} got ${status} ${code} (${type}), which no client would retry`);
  }
  return refused;
}

/** Who was paid for the answers to these requests: the chain's word, not the header's. */
function answersOf(pool: Pool, asked: readonly Asked[], stories: ReadonlyMap<string, Story>): Answers {
  const paid = asked.map(({ jobId }) => stories.get(jobId ?? "")?.worker ?? null);
  const of = (worker: string): number => paid.filter((one) => one === worker).length;
  return { healthy: of(pool.healthy), slow: of(pool.slow), crashing: of(pool.crashing) };
}

async function readIncidents({ info }: Stack, pool: Pool): Promise<Verdict["incidents"]> {
  const metrics = await (await fetch(`${info.base_url}/metrics`)).text();
  const of = (worker: string): Record<string, number> => {
    const series = new RegExp(`^gateway_worker_failures_total\\{worker="${worker}",code="(\\w+)"\\} (\\d+)$`, "gm");
    return Object.fromEntries([...metrics.matchAll(series)].map(([, code, count]) => [code, Number(count)]));
  };
  return { healthy: of(pool.healthy), slow: of(pool.slow), crashing: of(pool.crashing) };
}
