/**
 * Workers that cheat or break, seen from the gateway's side: named, refused, the client unharmed, the incident on record. Each way to cheat:
 * test/unit/api/jobs/misconduct.test.ts.
 */
import { afterAll, describe, expect, it } from "vitest";
import type { IncidentCode } from "../../api/db/incidents.ts";
import { chat, eventually } from "../support/api-client.ts";
import { chainReader } from "../support/chain-reader.ts";
import { Receiver } from "../support/receiver.ts";
import { PLAYED_MODEL } from "../support/service-stack.ts";
import { event, PlayedWorker, type Script } from "../worker/support/played-worker.ts";
import { openService, settled } from "./support/service.ts";

const { stack, client } = await openService();
const evil = await PlayedWorker.start(stack, 4);
const receiver = await Receiver.open();
await client.webhook(receiver.url("/failed"), ["job.failed", "job.timeout"]);
afterAll(async () => {
  receiver.close();
  await evil.stop();
});

const ask = async () => {
  await evil.isOffered(PLAYED_MODEL);
  return await client.api.post("/v1/chat/completions", chat(PLAYED_MODEL, "Hello"));
};
const account = async () => {
  const { free, escrowed } = await chainReader(stack).account(client.account.address);
  return { free, escrowed };
};

/** Acknowledges, sends the text in one piece, and signs `other`. */
const answering =
  (text: string, more: object = {}, other = text): Script =>
  async (offer, response) => {
    response.write(await evil.acknowledgement(offer));
    if (text !== "") response.write(event("delta", { content: text }));
    const completed = await evil.completion(offer, other, { completionTokens: text.length });
    response.end(event("completed", { ...completed, ...more }));
  };

/** How often the gateway has counted incidents of the evil worker, by their code. */
async function counted(): Promise<Record<string, number>> {
  const text = await (await fetch(`${stack.info.base_url}/metrics`)).text();
  const lines = text.matchAll(
    new RegExp(`^gateway_worker_failures_total\\{worker="${evil.address}",code="(\\w+)"\\} (\\d+)$`, "gm"),
  );
  return Object.fromEntries([...lines].map(([, code, count]) => [code, Number(count)]));
}

describe("what a client can bring about counts against no worker:", () => {
  it("an answer without text costs the flat price, and leads to a test of the model", async () => {
    evil.play(answering(""));
    const reply = await ask();
    expect(reply.body.choices[0]).toMatchObject({ message: { content: "" }, finish_reason: "stop" });
    const job = await settled(client.api, reply.headers.get("x-service-job-id"));
    expect(job).toMatchObject({ credits_charged: 40, usage: { completion_tokens: 0 } });
    await eventually(
      async () => evil.trials,
      (trials) => trials === 1,
    );
    expect(await counted()).toEqual({});
  });

  it("of a request that the model server refuses, or an answer ended for its content", async () => {
    evil.play(
      (_offer, response) => {
        response.writeHead(400, { "content-type": "application/json" });
        response.end(JSON.stringify({ error: { code: "request_refused", message: "not taken" } }));
      },
      { raw: true },
    );
    expect((await ask()).status).toBe(400);
    evil.play(answering("Half", { finish_reason: "content_filter" }));
    expect((await ask()).body.choices[0]).toMatchObject({ finish_reason: "content_filter" });
    // A refusal is noted, and its worker's model passes the gateway's test.
    expect(await counted()).toEqual({ request_refused: 1 });
  });
});

describe("an attack", () => {
  /** A request that the evil worker spoils: a retryable error, nothing charged, and its incident on record. Returns its job. */
  async function spoiled(code: IncidentCode): Promise<string> {
    const before = await eventually(account, ({ escrowed }) => escrowed === 0);
    const reply = await ask();
    expect(reply.status).toBe(503);
    await eventually(account, ({ free, escrowed }) => free === before.free && escrowed === 0);
    const jobId = reply.headers.get("x-service-job-id") as string;
    expect((await client.api.get(`/v1/jobs/${jobId}`)).body).toMatchObject({ credits_charged: 0 });
    expect(await counted()).toMatchObject({ [code]: 1 });
    const page = async () => {
      // biome-ignore lint/suspicious/noExplicitAny: the page's own data, whose shape its types hold
      const { data } = (await (await fetch(`${stack.info.base_url}/app/api/workers`)).json()) as any;
      return data.find(({ address }: { address: string }) => address === evil.address)?.incidents ?? [];
    };
    await eventually(page, (all) =>
      all.some((one: Record<string, unknown>) => one.code === code && one.job_id === jobId),
    );
    return jobId;
  }
  const told = async (jobId: string) => {
    const [found] = await eventually(
      async () => receiver.to("/failed").filter(({ event }) => event.data.job_id === jobId),
      ({ length }) => length === 1,
    );
    return found?.event;
  };

  it("that answers no offer fails the job, which is told of", async () => {
    evil.play((_offer, response) => void response.destroy());
    expect(await told(await spoiled("unreachable"))).toMatchObject({
      event: "job.failed",
      data: { reason: "routing_failed", credits_refunded: 40, worker_address: null },
    });
  });

  it("with another answer than the signed one fails its job and gets no other", async () => {
    evil.play(answering("What is sent.", {}, "Something else entirely."));
    expect(await told(await spoiled("hash_mismatch"))).toMatchObject({
      event: "job.failed",
      data: { reason: "hash_mismatch", credits_refunded: 40 },
    });
    expect((await client.api.get(`/v1/models/${PLAYED_MODEL}`)).status).toBe(404);
  });
});
