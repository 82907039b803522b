/** Stopped or killed, and started again: balances, keys and jobs are all there. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { removeDataDir } from "../../scripts/local-stack/postgres-home.ts";
import { apiClient, chat, eventually } from "../support/api-client.ts";
import { startTestStack, type TestStack, temporaryDataDir } from "../support/stack.ts";

const dataDir = temporaryDataDir();
let stack: TestStack;
let before: { key: string | undefined; account: unknown; jobs: unknown };

const start = async () => {
  stack = await startTestStack({ dataDir, workers: [{ models: ["qwen3-8b"] }] });
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

  it("killed all at once and started again goes on, and leaves no process of before", async () => {
    // The chain keeps its state every ten seconds: what is older than that survives kill -9.
    await new Promise((resolve) => setTimeout(resolve, 11_000));
    const killed = stack.processes().map(({ pid }) => pid);
    stack.killAll();
    await stack.stop();
    await start();
    expect(await state()).toEqual(before);
    for (const pid of killed) expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
    await complete();
  });
});
