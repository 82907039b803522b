/** One payment for one answer: Idempotency-Key, and the answer again after a lost connection. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ApiClient, apiClient, chat, eventually, readStream } from "../support/api-client.ts";
import { type ChainReader, chainReader } from "../support/chain-reader.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

let stack: TestStack;
let api: ApiClient;
let chain: ChainReader;

beforeAll(async () => {
  stack = await startTestStack({
    workers: [{ models: ["qwen3-8b"] }, { models: ["qwen3-14b"], env: { WORKER_TOKENS_PER_SECOND: "50" } }],
  });
  api = apiClient(stack);
  chain = chainReader(stack);
});
afterAll(() => stack?.remove());

const send = (key: string, body: unknown) =>
  fetch(`${stack.info.base_url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${stack.info.demo?.api_key}`,
      "content-type": "application/json",
      "idempotency-key": key,
    },
    body: JSON.stringify(body),
  });
const spent = async () => {
  const { free, escrowed } = await eventually(
    () => chain.account(stack.info.demo?.wallet as string),
    (account) => account.escrowed === 0,
  );
  return 10_000 - free - escrowed;
};

describe("an Idempotency-Key", () => {
  it("repeated after the answer: the same job, the same text, one charge", async () => {
    const first = await send("key-1", chat("qwen3-8b", "Hello"));
    const before = await spent();
    const again = await send("key-1", chat("qwen3-8b", "Hello"));
    expect(again.status).toBe(200);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    for (const header of ["x-service-job-id", "x-service-tx-hash", "x-service-worker"]) {
      expect(again.headers.get(header)).toBe(first.headers.get(header));
    }
    expect(await again.json()).toEqual(await first.json());
    expect(await spent()).toBe(before);
  });

  it("repeated while the first still runs: both get the one answer", async () => {
    const before = await spent();
    const body = chat("qwen3-14b", "Hello [[tokens:40]]");
    const [first, second] = await Promise.all([send("key-2", body), send("key-2", body)]);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(await first.json()).toEqual(await second.json());
    expect((await spent()) - before).toBe(18);
  });

  it("repeated as a stream: the same text as a stream", async () => {
    const first = await (await send("key-3", chat("qwen3-8b", "Hello", { stream: true }))).text();
    const again = await readStream(await send("key-3", chat("qwen3-8b", "Hello", { stream: true })));
    const text = (events: string[]) =>
      events
        .filter((event) => event !== "[DONE]")
        .map((event) => JSON.parse(event).choices[0]?.delta.content ?? "")
        .join("");
    const events = first.split("\n\n").flatMap((event) => (event.startsWith("data: ") ? [event.slice(6)] : []));
    expect(text(again)).toBe(text(events));
    expect(again.at(-1)).toBe("[DONE]");
  });

  it("with another body: 409 conflict, nothing charged", async () => {
    const before = await spent();
    const reply = await send("key-1", chat("qwen3-8b", "Something else"));
    expect(reply.status).toBe(409);
    expect(((await reply.json()) as { error: unknown }).error).toMatchObject({
      code: "conflict",
      type: "conflict_error",
      param: "Idempotency-Key",
    });
    expect(await spent()).toBe(before);
  });

  it("is not used up by an error", async () => {
    const refused = await send("key-4", chat("qwen3-1.7b", "Hello"));
    expect(refused.status).toBe(503);
    expect((await send("key-4", chat("qwen3-8b", "Hello"))).status).toBe(200);
  });

  it("of another form: 400", async () => {
    const reply = await send("k".repeat(256), chat("qwen3-8b", "Hello"));
    expect(reply.status).toBe(400);
    expect(((await reply.json()) as { error: { param: string } }).error.param).toBe("Idempotency-Key");
  });
});

describe("GET /v1/jobs/{job_id}/output", () => {
  it("gives the answer again, with the hash that is on chain", async () => {
    const reply = await api.post("/v1/chat/completions", chat("qwen3-8b", "Zürich 東京 ✨"));
    const id = reply.headers.get("x-service-job-id");
    const { status, body } = await api.get(`/v1/jobs/${id}/output`);
    expect(status).toBe(200);
    expect(body).toEqual({
      object: "job.output",
      job_id: id,
      content: reply.body.choices[0].message.content,
      finish_reason: "stop",
      proof_hash: `sha256:${createHash("sha256").update(reply.body.choices[0].message.content).digest("hex")}`,
      service: reply.body.service,
    });
  });

  it("a client that hung up mid-stream finds its whole answer there, and is billed for it", async () => {
    const stop = new AbortController();
    const response = await api.request(
      "POST",
      "/v1/chat/completions",
      // Eight seconds of text: it is not over when the client asks and leaves.
      chat("qwen3-14b", "Write. [[tokens:400]]", { stream: true }),
      stop.signal,
    );
    const id = response.headers.get("x-service-job-id");
    const early = await api.get(`/v1/jobs/${id}/output`);
    expect(early.status).toBe(409);
    expect(early.body.error.code).toBe("job_not_settled");
    stop.abort();
    const job = await eventually(
      () => api.get(`/v1/jobs/${id}`),
      ({ body }) => body.status === "settled",
    );
    expect(job.body).toMatchObject({ credits_charged: 18, usage: { completion_tokens: 400 } });
    const { body } = await api.get(`/v1/jobs/${id}/output`);
    expect(`sha256:${createHash("sha256").update(body.content).digest("hex")}`).toBe(job.body.on_chain.proof_hash);
  });

  it("is encrypted where it lies", async () => {
    const { default: pg } = await import("pg");
    const client = new pg.Client({ connectionString: stack.info.database_url });
    await client.connect();
    const rows = await client.query("SELECT output FROM gateway.job WHERE output IS NOT NULL");
    await client.end();
    expect(rows.rows.length).toBeGreaterThan(0);
    for (const { output } of rows.rows) expect(output.toString("utf8")).not.toMatch(/closer look|worth|question/);
  });
});
