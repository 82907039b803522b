import { setTimeout as sleep } from "node:timers/promises";
import { privateKeyToAccount } from "viem/accounts";
import { Random } from "../../faults/random.ts";
import { type Asked, ask } from "../../support/asked.ts";
import { type Stack, startTestStack, type TestStack } from "../../support/stack.ts";
import { Crasher } from "./crasher.ts";
import { judge, type Verdict } from "./verdict.ts";

const MODEL = "qwen3-8b";
/** About a second of text: long enough that a crash meets answers under way. */
const TOKENS = 100;
const SPEED = { WORKER_TOKENS_PER_SECOND: "100", WORKER_FIRST_TOKEN_MS: "50" };
/** Longer than a job can take: whoever waits longer hangs. */
const PATIENCE_MS = 150_000;

export type PoolOptions = {
  /** Repeats when and for how long the crashing worker is down, and which requests are streamed. */
  seed: number;
  requests: number;
  concurrency: number;
  /** What the slow worker takes to its first token. */
  slowSeconds: number;
  /** The crashing worker lives at most so long after it was given a job. */
  longestUpMs: number;
  note: (line: string) => void;
};

export type PoolResult = Verdict & { seed: number; crashes: number; seconds: number };

/** Addresses of the three workers. */
export type Pool = { healthy: string; slow: string; crashing: string };

/** Three workers of one model, one healthy, one slow, one crashing at random, under load; then the verdict. */
export async function run(options: PoolOptions): Promise<PoolResult> {
  const { seed, note } = options;
  const random = new Random(seed);
  const stack = await startTestStack({
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
async function load(stack: TestStack, random: Random, options: PoolOptions): Promise<Asked[]> {
  const asked: Asked[] = [];
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
