/** Stock clients, unmodified but for base URL and key: plain, streamed, refused, retried, aborted. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { apiClient, eventually } from "../support/api-client.ts";
import { Client } from "../support/client.ts";
import { ABSENT_MODEL, MODEL, SLOW_MODEL } from "../support/service-stack.ts";
import { STOCK_CLIENTS, type StockClient } from "../support/stock-clients.ts";
import { startWorker } from "../support/worker-process.ts";
import { openService, settled } from "./support/service.ts";

type Name = keyof typeof STOCK_CLIENTS;
const NAMES = Object.keys(STOCK_CLIENTS) as Name[];

const { stack, pool } = await openService();
/** Each client, and its wallet's view of the API. */
const clients = {} as Record<Name, StockClient & { api: Client["api"] }>;
for (const name of NAMES) {
  const { api, apiKey } = await Client.funded(stack, pool, 1_000);
  clients[name] = { ...STOCK_CLIENTS[name](stack.info.base_url, apiKey), api };
}

const sha256 = (text: string) => `sha256:${createHash("sha256").update(text, "utf8").digest("hex")}`;
const newest = async (name: Name) => (await clients[name].api.get("/v1/jobs?limit=1")).body.data[0];

describe.each(NAMES)("%s", (name) => {
  it("gets a plain answer, whose hash is on chain", async () => {
    const { text, jobId } = await clients[name].plain(MODEL, "Say hello to 東京.");
    expect((await settled(clients[name].api, jobId)).on_chain.proof_hash).toBe(sha256(text));
  });

  it("gets a streamed answer piece by piece, whose hash is on chain", async () => {
    const pieces: string[] = [];
    for await (const piece of clients[name].streamed(SLOW_MODEL, "Tell me about cafés ✨ [[tokens:150]]"))
      pieces.push(piece);
    // What comes while somebody is slow is put together: how many pieces there are is nobody's promise.
    expect(pieces.filter(Boolean).length).toBeGreaterThan(1);
    const { id } = await newest(name);
    expect((await settled(clients[name].api, id)).on_chain.proof_hash).toBe(sha256(pieces.join("")));
  });

  it("reports an error with its status and code", async () => {
    expect(await clients[name].refused("gpt-none")).toEqual({ status: 400, code: "model_not_found" });
  });
});

describe("a client", () => {
  it.concurrent.each(NAMES)(
    "that aborts mid-stream is billed for what there is by then, and can fetch it: %s",
    async (name) => {
      const before = await newest(name);
      const stop = new AbortController();
      let received = "";
      try {
        for await (const piece of clients[name].streamed(
          SLOW_MODEL,
          `Write for ${name}. [[tokens:400]]`,
          stop.signal,
        )) {
          received += piece;
          if (received !== "") stop.abort();
        }
      } catch (error) {
        // Some clients end quietly, others throw what they were told.
        expect(stop.signal.aborted, String(error)).toBe(true);
      }
      const { id } = await newest(name);
      expect(id).not.toBe(before?.id);
      const job = await settled(clients[name].api, id);
      expect(job.credits_charged).toBe(18);
      // Eight seconds of text were asked for; the worker ended it soon after its client had left.
      expect(job.usage.completion_tokens).toBeLessThan(400);
      const { content } = (await clients[name].api.get(`/v1/jobs/${id}/output`)).body;
      expect(sha256(content)).toBe(job.on_chain.proof_hash);
      expect(content.startsWith(received)).toBe(true);
    },
  );
});

it("every client retries a model without a worker until one is there", async () => {
  const refusals = async () => {
    const text = await (await fetch(`${stack.info.base_url}/metrics`)).text();
    const count = /gateway_requests_total\{route="\/v1\/chat\/completions",method="POST",status="503"\} (\d+)/.exec(
      text,
    );
    return Number(count?.[1] ?? 0);
  };
  // Until the gateway has noticed the end of a worker that another test has played.
  const offered = () => apiClient(stack).get(`/v1/models/${ABSENT_MODEL}`);
  await eventually(offered, ({ status }) => status === 404);
  const before = await refusals();
  const answers = Promise.all(NAMES.map((name) => clients[name].patient(ABSENT_MODEL, "Are you there?")));
  answers.catch(() => {});
  await eventually(refusals, (count) => count >= before + NAMES.length);
  const worker = await startWorker(stack, 3);
  try {
    for (const text of await answers) expect(text).toMatch(/\w+/);
  } finally {
    await worker.stop("SIGTERM");
  }
});
