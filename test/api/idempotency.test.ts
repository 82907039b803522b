/** One payment for one answer: Idempotency-Key, and the answer again after a lost connection. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { chat, errorOf, eventually, JSON_TYPE, readStream } from "../support/api-client.ts";
import { chainReader } from "../support/chain-reader.ts";
import { MODEL, SLOW_MODEL, UNHOSTED_MODEL } from "../support/service-stack.ts";
import { openService } from "./support/service.ts";

const { stack, pool, client } = await openService();

const send = (key: string, body: unknown) =>
  client.api.send("POST", "/v1/chat/completions", { ...JSON_TYPE, "idempotency-key": key }, JSON.stringify(body));
const spent = async () => {
  const { free, escrowed } = await eventually(
    () => chainReader(stack).account(client.account.address),
    (account) => account.escrowed === 0,
  );
  return 1_000 - free - escrowed;
};

describe("an Idempotency-Key", () => {
  it("repeated after the answer: the same job, the same text, one charge", async () => {
    const first = await send("key-1", chat(MODEL, "Hello"));
    const before = await spent();
    const again = await send("key-1", chat(MODEL, "Hello"));
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
    const body = chat(SLOW_MODEL, "Hello [[tokens:40]]");
    const [first, second] = await Promise.all([send("key-2", body), send("key-2", body)]);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(await first.json()).toEqual(await second.json());
    expect((await spent()) - before).toBe(18);
  });

  it("repeated as a stream: the same text as a stream", async () => {
    const first = await readStream(await send("key-3", chat(MODEL, "Hello", { stream: true })));
    const again = await readStream(await send("key-3", chat(MODEL, "Hello", { stream: true })));
    const text = (events: string[]) =>
      events
        .filter((event) => event !== "[DONE]")
        .map((event) => JSON.parse(event).choices[0]?.delta.content ?? "")
        .join("");
    expect(text(again)).toBe(text(first));
    expect(again.at(-1)).toBe("[DONE]");
  });

  it("with another body: 409 conflict, nothing charged", async () => {
    const before = await spent();
    const reply = await send("key-1", chat(MODEL, "Something else"));
    expect(reply.status).toBe(409);
    expect(await errorOf(reply)).toMatchObject({
      code: "conflict",
      type: "conflict_error",
      param: "Idempotency-Key",
    });
    expect(await spent()).toBe(before);
  });

  it("with the same JSON, written in another way: the same job", async () => {
    const first = await send("key-5", { model: MODEL, messages: [{ role: "user", content: "Hello" }], max_tokens: 20 });
    const headers = { ...JSON_TYPE, "idempotency-key": "key-5" };
    const text = `{ "max_tokens": 20,\n "messages": [ {"content": "H\\u0065llo", "role": "user"} ], "model": "${MODEL}" }`;
    const again = await client.api.send("POST", "/v1/chat/completions", headers, text);
    expect(again.status).toBe(200);
    expect(again.headers.get("x-service-job-id")).toBe(first.headers.get("x-service-job-id"));
  });

  it("is not used up by an error", async () => {
    const refused = await send("key-4", chat(UNHOSTED_MODEL, "Hello"));
    expect(refused.status).toBe(503);
    expect((await send("key-4", chat(MODEL, "Hello"))).status).toBe(200);
  });

  it("of another form: 400", async () => {
    const reply = await send("k".repeat(256), chat(MODEL, "Hello"));
    expect(reply.status).toBe(400);
    expect((await errorOf(reply)).param).toBe("Idempotency-Key");
  });
});

describe("GET /v1/jobs/{job_id}/output", () => {
  it("gives the answer again, with the hash that is on chain", async () => {
    const reply = await client.api.post("/v1/chat/completions", chat(MODEL, "Zürich 東京 ✨"));
    const id = reply.headers.get("x-service-job-id");
    const { status, body } = await client.api.get(`/v1/jobs/${id}/output`);
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

  it("is not there while the job runs: 409 job_not_settled", async () => {
    const leave = new AbortController();
    // Eight seconds of text: it is not over when the client asks and leaves.
    const body = chat(SLOW_MODEL, "Write. [[tokens:400]]", { stream: true });
    const response = await client.api.request("POST", "/v1/chat/completions", body, leave.signal);
    const early = await client.api.get(`/v1/jobs/${response.headers.get("x-service-job-id")}/output`);
    leave.abort();
    expect([early.status, early.body.error.code]).toEqual([409, "job_not_settled"]);
  });

  it("is encrypted where it lies", async () => {
    const { rows } = await pool.query<{ output: Buffer }>(
      "SELECT output FROM job WHERE output IS NOT NULL AND lower(wallet) = lower($1)",
      [client.account.address],
    );
    expect(rows.length).toBeGreaterThan(0);
    for (const { output } of rows) expect(output.toString("utf8")).not.toMatch(/closer look|worth|question/);
  });
});
