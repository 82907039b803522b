/** `npm run worker` beside a running `npm start`: what it finds out by itself, and who answers from then on. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { DEMO_SENTENCE } from "../../worker/backends/builtin.ts";
import { type ApiClient, apiClient, chat, eventually } from "../support/api-client.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { chunk, type Peer, startPeer, stream, usageAndDone } from "./support/peer.ts";
import { freePort, type Running, start } from "./support/processes.ts";

const TEXT = "A model's own words.";
const SERVED = "qwen3-8b";
const OTHER = "qwen3-14b";

let stack: TestStack;
let api: ApiClient;
let peer: Peer;
const workers: Running[] = [];

beforeAll(async () => {
  peer = await startPeer(["Qwen/Qwen3-8B-GGUF", "my-model-4b"]);
  peer.play(stream(chunk({ content: TEXT }), chunk({}, "stop"), usageAndDone(3, 2)));
  stack = await startTestStack({ workers: [{ models: [SERVED, OTHER] }, { models: [SERVED] }] });
  api = apiClient(stack);
});
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.end("SIGKILL")));
  await stack?.remove();
  await peer?.stop();
});

/** `npm run worker -- …` in a shell in which only DATA_DIR is set. */
async function joinStack(args: string[]): Promise<Running> {
  const worker = start(process.execPath, ["worker/main.ts", "--yes", "--port", String(await freePort()), ...args], {
    DATA_DIR: stack.options.dataDir,
    LOOK_FOR_MODELS: "no",
  });
  workers.push(worker);
  return worker;
}

/** The text of an answer, or the code of an error. */
async function answer(model: string): Promise<string> {
  const { body } = await api.post("/v1/chat/completions", chat(model, "Say hello."));
  return body.error?.code ?? body.choices[0].message.content;
}

it("finds the stack by DATA_DIR alone, and asks for a model server", async () => {
  const worker = await joinStack([]);
  await eventually(
    async () => worker.child.exitCode,
    (code) => code === 1,
  );
  expect(worker.output()).toMatch(/no model server answers on this machine .*name it with --backend URL/);
  expect((await answer(SERVED)).startsWith(DEMO_SENTENCE)).toBe(true);
});

it("three that join at once come up without passphrases, and serve all", async () => {
  const folder = (name: string) => ["--data-dir", join(stack.options.dataDir, name)];
  const joined = await Promise.all([
    joinStack(["--backend", peer.url]),
    joinStack(["--backend", peer.url, ...folder("second")]),
    joinStack(["--backend", peer.url, "--models", "own=my-model-4b", ...folder("third")]),
  ]);
  for (const worker of joined) {
    await eventually(
      async () => worker.output(),
      (text) => text.includes('"listening"') || worker.child.exitCode !== null,
    );
    expect(worker.child.exitCode, worker.output()).toBeNull();
  }
  expect(joined[0]?.output()).toContain("serves Qwen/Qwen3-8B-GGUF as qwen3-8b, my-model-4b");
  expect(joined[0]?.output()).toContain(join(stack.options.dataDir, "worker", "keystore.json"));
});

it("from its first heartbeat on no generator answers for its models", async () => {
  const { body } = await eventually(
    () => api.get("/v1/models/my-model-4b"),
    ({ body }) => body.service?.active_workers === 2,
  );
  expect(body).toMatchObject({ service: { tier: "lite", parameters: "4B", context_window: 4_096 } });
  // The gateway hears of the third worker by itself, some seconds after it listens.
  for (const model of [SERVED, "own"]) {
    await eventually(
      () => answer(model),
      (text) => text === TEXT,
    );
  }
  for (let left = 20; left > 0; left--) expect(await answer(SERVED)).toBe(TEXT);
  expect([await answer("own"), await answer("my-model-4b")]).toEqual([TEXT, TEXT]);
  // Nobody serves this one.
  expect((await answer(OTHER)).startsWith(DEMO_SENTENCE)).toBe(true);
});
