/**
 * Three workers of one model on a real stack: one healthy, one that takes `slow` seconds to its first token, one that is killed at random
 * and started again. The verdict comes from the chain and the gateway's metrics; the printed seed repeats the run's choices.
 */
import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { privateKeyToAccount } from "viem/accounts";
import { PARTS } from "../../../scripts/dev/stack.ts";
import { scenario } from "../../scenarios/scenario.ts";
import { Patience } from "../../support/patience.ts";
import { Random } from "../../support/random.ts";
import { ask, type RecordedRequest } from "../../support/recorded-request.ts";
import { type Stack, startTestStack } from "../../support/stack.ts";
import { checkLedger, checkRequests, type Story, untilEveryJobEnds } from "../../support/stories.ts";

const MODEL = "qwen3-8b";
/** About a second of text: long enough that a crash meets answers under way. */
const TOKENS = 100;
const SPEED = { WORKER_TOKENS_PER_SECOND: "100", WORKER_FIRST_TOKEN_MS: "50" };
/** Longer than a job can take: whoever waits longer hangs. */
const PATIENCE_MS = 150_000;
/** The crashing worker lives at most so long after it was given a job: long enough that the gateway trusts it again in between. */
const LONGEST_UP_MS = 4_000;

type PoolOptions = {
  /** Repeats when and for how long the crashing worker is down, and which requests are streamed. */
  seed: number;
  requests: number;
  concurrency: number;
  /** What the slow worker takes to its first token. */
  slowSeconds: number;
  note: (line: string) => void;
};

type PoolResult = Verdict & { seed: number; crashes: number; seconds: number };

/** Addresses of the three workers. */
type Pool = { healthy: string; slow: string; crashing: string };

/** Three workers of one model, one healthy, one slow, one crashing at random, under load; then the verdict. */
async function run(options: PoolOptions): Promise<PoolResult> {
  const { seed, note } = options;
  const random = new Random(seed);
  const stack = await startTestStack({
    // Nothing here is read from the index.
    parts: PARTS.filter((part) => part !== "indexer"),
    workers: [
      { models: [MODEL], env: SPEED },
      { models: [MODEL], env: { ...SPEED, WORKER_FIRST_TOKEN_MS: String(options.slowSeconds * 1000) } },
      { models: [MODEL], env: SPEED },
    ],
    env: { api: { LOG_LEVEL: "warn" } },
  });
  const [healthy, slow, crashing] = stack.workers.map(({ privateKey }) => privateKeyToAccount(privateKey).address);
  const pool = { healthy, slow, crashing } as Pool;
  try {
    const started = performance.now();
    const crasher = new Crasher(stack, stack.workers[2] as Stack["workers"][number], {
      ...options,
      random: random.fork(),
    });
    const asked = await load(stack, random.fork(), options);
    const crashes = await crasher.stop();
    note(`${asked.length} requests made, ${crashes} crashes; waiting for every job to end`);
    const verdict = await judge(stack, pool, asked);
    return { seed, crashes, seconds: Math.round((performance.now() - started) / 1000), ...verdict };
  } finally {
    await stack.remove();
  }
}

/** Sends `requests` requests, `concurrency` at a time; what each client saw, in the order in which they began. */
async function load(stack: Stack, random: Random, options: PoolOptions): Promise<RecordedRequest[]> {
  const asked: RecordedRequest[] = [];
  let next = 0;
  const client = async (own: Random): Promise<void> => {
    while (next < options.requests) {
      const number = next++;
      const seen = await ask({
        gateway: stack.info.base_url,
        apiKey: stack.info.demo?.api_key as string,
        patienceMs: PATIENCE_MS,
        body: {
          model: MODEL,
          stream: own.chance(0.5),
          messages: [{ role: "user", content: `Request ${number}: write. [[tokens:${TOKENS}]]` }],
        },
      });
      asked[number] = seen;
      if ((number + 1) % 50 === 0) options.note(`request ${number + 1} of ${options.requests}: ${seen.outcome}`);
      // Whoever is refused waits a moment, as clients do.
      if (seen.outcome !== "answered") await sleep(own.int(100, 400));
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, () => client(random.fork())));
  return asked;
}

type CrasherOptions = {
  random: Random;
  note: (line: string) => void;
};

/** Kills one worker of a stack with SIGKILL, again and again at random moments, and starts it anew after a random pause. */
class Crasher {
  readonly #stack: Stack;
  readonly #worker: Stack["workers"][number];
  readonly #random: Random;
  readonly #note: (line: string) => void;
  readonly #stopping = new AbortController();
  readonly #done: Promise<number>;

  constructor(stack: Stack, worker: Stack["workers"][number], options: CrasherOptions) {
    this.#stack = stack;
    this.#worker = worker;
    this.#random = options.random;
    this.#note = options.note;
    this.#done = this.#crash();
    // `stop` throws it; the load goes on until then.
    this.#done.catch(() => {});
  }

  /** Leaves the worker running; returns how often it crashed. */
  async stop(): Promise<number> {
    this.#stopping.abort();
    return await this.#done;
  }

  async #crash(): Promise<number> {
    const { signal } = this.#stopping;
    const { name } = this.#worker;
    for (let crashes = 0; ; crashes++) {
      // An idle worker's crash harms nobody.
      while (!signal.aborted && !(await this.#hasJob())) await pause(50, signal);
      await pause(this.#random.int(100, LONGEST_UP_MS), signal);
      if (signal.aborted) return crashes;
      await this.#stack.kill(name, "SIGKILL");
      const down = this.#random.int(100, 2_000);
      this.#note(`${name} killed, down for ${down} ms`);
      await pause(down, signal);
      await this.#stack.restart(name);
    }
  }

  async #hasJob(): Promise<boolean> {
    try {
      const health = (await (await fetch(`${this.#worker.endpoint}/healthz`)).json()) as { in_flight: number };
      return health.in_flight > 0;
    } catch {
      // A connection from before the kill: the next look has a new one.
      return false;
    }
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // The end of the run ends the pause too.
  await sleep(ms, undefined, { signal }).catch(() => {});
}

/** How many of some requests each worker answered. */
type Answers = Record<keyof Pool, number>;

/** What a run came to. `problems` is empty when no client was let down, nothing was charged without an answer and the load moved. */
type Verdict = {
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
async function judge(stack: Stack, pool: Pool, asked: RecordedRequest[]): Promise<Verdict> {
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
function checkClients(asked: RecordedRequest[], problems: string[]): Record<string, number> {
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
function answersOf(pool: Pool, asked: readonly RecordedRequest[], stories: ReadonlyMap<string, Story>): Answers {
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

export const pool = scenario({
  name: "pool",
  does: "a healthy, a slow and a crashing worker of one model: nobody is let down",
  options: { seed: 0, requests: 200, concurrency: 20, slow: 30 },
  run: ({ seed, slow, ...given }, note) => run({ ...given, seed: seed || randomInt(2 ** 31), slowSeconds: slow, note }),
});
