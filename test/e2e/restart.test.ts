/** Stopped or killed, and started again: balances, keys and jobs are all there. */
import { statSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chainFiles, rpc } from "../../scripts/dev/chain.ts";
import { removeDataDir } from "../../scripts/dev/postgres.ts";
import { apiClient, chat, eventually } from "../support/api-client.ts";
import { startTestStack, type TestStack, temporaryDataDir } from "../support/stack.ts";

const dataDir = temporaryDataDir();
let stack: TestStack;
let before: { key: string | undefined; account: unknown; jobs: unknown };

const start = async () => {
  const said: string[] = [];
  stack = await startTestStack({
    dataDir,
    workers: [{ models: ["qwen3-8b"], env: { WORKER_TOKENS_PER_SECOND: "100" } }],
    write: (line) => said.push(line),
  });
  return said.join("\n");
};
const state = async () => {
  const api = apiClient(stack);
  const { body: jobs } = await eventually(
    () => api.get("/v1/jobs"),
    ({ body }) => body.data.length > 0 && body.data.every((job: { status: string }) => job.status === "settled"),
  );
  return { key: stack.info.demo?.api_key, account: (await api.get("/v1/account")).body, jobs };
};
const complete = () =>
  eventually(
    () => apiClient(stack).post("/v1/chat/completions", chat("qwen3-8b", "Hello")),
    ({ status }) => status === 200,
  );

const dumpedAt = () => statSync(chainFiles(dataDir).state).mtimeMs;
/** Waits until the chain has written its state once more; when that was. */
const nextDump = () => {
  const last = dumpedAt();
  return eventually(
    async () => dumpedAt(),
    (at) => at > last,
  );
};

/** Begins short jobs, which are somewhere between lock and settlement then, and one whose worker is at work; their ends. */
async function underWay(): Promise<Promise<unknown>[]> {
  const client = apiClient(stack);
  const ask = (content: string, more = {}) =>
    client.request("POST", "/v1/chat/completions", chat("qwen3-8b", content, { max_tokens: 400, ...more }));
  const rest = (response: Response) => response.text().catch(() => null);
  const short = Array.from({ length: 4 }, () => ask("Hello").then(rest, () => null));
  // The headers of a stream come with its first token.
  return [...short, rest(await ask("Write. [[tokens:400]]", { stream: true }))];
}

beforeAll(async () => {
  await start();
  await complete();
  before = await state();
});
afterAll(async () => {
  await stack?.stop();
  removeDataDir(dataDir);
});

describe("the whole stack", () => {
  it("stopped and started again goes on where it was", async () => {
    await stack.stop();
    await start();
    expect(await state()).toEqual(before);
    await complete();
    before = await state();
    expect((before.jobs as { data: unknown[] }).data).toHaveLength(2);
  });

  it("killed at once between two dumps of the chain leaves no process; started again it says what is lost, and ends each job", async () => {
    // A dump can have begun before the last job; the one after it has that job too.
    await nextDump();
    let [head, dump, cut] = [0, 0, [] as Promise<unknown>[]];
    do {
      // Where there was time for another dump, what came before it is not lost.
      await Promise.all(cut);
      dump = await nextDump();
      for (let n = 0; n < 3; n++) await complete();
      head = Number(await rpc<string>(stack.info.rpc_url, "eth_blockNumber"));
      cut = await underWay();
    } while (dumpedAt() !== dump);
    const killed = stack.processes().map(({ pid }) => pid);
    stack.killAll();
    await stack.stop();
    await Promise.all(cut);
    const said = await start();
    const [, from, to] = said.match(/blocks (\d+) to (\d+) are lost/) ?? [];
    expect(Number(from), said).toBeLessThanOrEqual(head);
    expect(Number(to)).toBeGreaterThanOrEqual(head);
    for (const pid of killed) expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);

    const { get } = apiClient(stack);
    const ended = (job: { status: string }) => ["settled", "failed", "refunded"].includes(job.status);
    const { body: jobs } = await eventually(
      () => get("/v1/jobs"),
      ({ body }) => body.data.every(ended),
    );
    // The key, and what was in the chain before its last dump, are there.
    expect(stack.info.demo?.api_key).toBe(before.key);
    expect(jobs.data).toEqual(expect.arrayContaining((before.jobs as { data: unknown[] }).data));
    const charged = jobs.data.reduce((sum: number, job: { credits_charged: number }) => sum + job.credits_charged, 0);
    const { body: account } = await get("/v1/account");
    expect(account.credits_remaining + charged).toBe(10_000);
    await complete();
  }, 240_000);
});
