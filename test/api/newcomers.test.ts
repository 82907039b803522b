/** A worker that has earned nothing yet gets jobs as its stake covers them. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { PARTS } from "../../scripts/dev/stack.ts";
import { type ApiClient, apiClient, chat, eventually } from "../support/api-client.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { Contract } from "../support/contract.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

/** 8 credits a request, 4 for a thousand tokens. */
const MODEL = "qwen3-8b";

let stack: TestStack;
let api: ApiClient;
let chain: ChainReader;

beforeAll(async () => {
  stack = await startTestStack({
    // Nothing here is read from the index.
    parts: PARTS.filter((part) => part !== "indexer"),
    workers: [{ models: [MODEL] }],
    // Its stake of 2,000 SVC is worth 19 credits here, and it is nobody's own.
    env: { api: { OWN_WORKERS: "", CREDITS_PER_SVC: "0.0095" } },
  });
  api = apiClient(stack);
  chain = chainReader(stack);
});
afterAll(() => stack?.remove());

const ask = (more: Record<string, unknown> = {}) =>
  api.request("POST", "/v1/chat/completions", chat(MODEL, "Hello", more));
const account = () => chain.account(stack.info.demo?.wallet as string);

/** The request is refused as by a busy pool, before anything is locked. */
async function refused(more: Record<string, unknown> = {}): Promise<string> {
  const document = await Contract.of(stack.info.base_url);
  const before = await eventually(account, ({ escrowed }) => escrowed === 0);
  const reply = await ask(more);
  expect([reply.status, reply.headers.get("retry-after")]).toEqual([503, "5"]);
  const { error } = await document.check("post", "/v1/chat/completions", reply);
  expect(error).toMatchObject({ code: "no_workers_available", details: { model: MODEL, retry_after: 5 } });
  expect(await account()).toEqual(before);
  return error.message;
}

it("takes a job of what its stake is worth, and none of a credit more", async () => {
  expect(await refused({ max_tokens: 4_751 })).toMatch(/a job of 20 credits .* fewer max_tokens/);
  // 19 credits are locked, 8 are charged.
  expect((await ask({ max_tokens: 4_750 })).status).toBe(200);
});

it("takes as many as are covered, also where all come at once", async () => {
  // 11 credits of room are left.
  const before = await eventually(account, ({ escrowed }) => escrowed === 0);
  const statuses = await Promise.all(Array.from({ length: 5 }, async () => (await ask()).status));
  expect(statuses.toSorted()).toEqual([200, 503, 503, 503, 503]);
  await refused();
  expect(await account()).toMatchObject({ free: before.free - 8, escrowed: 0 });
  // It is busy, not gone.
  expect((await api.get(`/v1/models/${MODEL}`)).body.service.active_workers).toBe(1);
});
