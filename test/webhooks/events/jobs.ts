import { setTimeout as sleep } from "node:timers/promises";
import Stripe from "stripe";
import { describe, expect, it } from "vitest";
import { EVENT_DATA, type EventName, envelopeSchema } from "../../../api/webhooks/event-schemas.ts";
import { chat, eventually } from "../../support/api-client.ts";
import type { Received } from "../../support/receiver.ts";
import { SECRET, type World } from "./world.ts";

/** What a job tells, and how it is signed. */
export function jobs(world: World): void {
  describe("a job", () => {
    it("tells of its lock, its worker and its settlement, with what the API says of it", async () => {
      await world.client.webhook(
        world.receiver.url("/jobs"),
        ["job.submitted", "job.processing", "job.completed"],
        SECRET,
      );
      const reply = await world.client.api.post("/v1/chat/completions", chat("qwen3-8b", "Hello"));
      expect(reply.status).toBe(200);
      const received = await world.got("/jobs", 3);
      const jobId = reply.headers.get("x-service-job-id");
      const { body: job } = await eventually(
        () => world.client.api.get(`/v1/jobs/${jobId}`),
        ({ body }) => body.status === "settled" && body.on_chain.block_number !== null,
      );
      const data = (name: EventName) => received.find(({ event }) => event.event === name)?.event.data;
      expect(data("job.submitted")).toMatchObject({
        job_id: jobId,
        model: "qwen3-8b",
        tier: "standard",
        credits_locked: 8,
        usdg_value: 0.08,
        escrow_tx: job.on_chain.escrow_tx,
        credits_remaining: 992,
      });
      expect(data("job.processing")).toMatchObject({ job_id: jobId, worker_address: job.worker_address, attempt: 1 });
      // All fields of the specification, and no other.
      expect(data("job.completed")).toEqual({
        job_id: jobId,
        model: "qwen3-8b",
        tier: "standard",
        credits_charged: 8,
        usdg_value: 0.08,
        worker_address: job.worker_address,
        settlement_tx: job.on_chain.settlement_tx,
        block_number: job.on_chain.block_number,
        prompt_tokens: job.usage.prompt_tokens,
        completion_tokens: job.usage.completion_tokens,
        credits_remaining: 992,
      });
      // Whether the worker's acknowledgement was relayed or its settlement came first: it is told before the settlement.
      const { rows } = await world.pool.query(
        `SELECT e.name FROM webhook_delivery d JOIN webhook_event e ON e.id = d.event_id WHERE e.id = ANY ($1) ORDER BY d.id`,
        [received.map(({ event }) => event.id)],
      );
      expect(rows.map(({ name }) => name)).toEqual(["job.submitted", "job.processing", "job.completed"]);
      for (const { event } of received) {
        expect(envelopeSchema(event.event).parse(event)).toEqual(event);
        expect(Object.keys(event)).toEqual(["id", "event", "created_at", "api_version", "data"]);
        expect(Object.keys(event.data).toSorted()).toEqual(Object.keys(EVENT_DATA[event.event].shape).toSorted());
      }
    });

    it("is signed so that Stripe's own library accepts the exact bytes and nothing else", async () => {
      const [{ headers, body }] = (await world.got("/jobs", 1)) as [Received];
      const signature = String(headers["service-signature"]);
      expect(signature).toMatch(/^t=\d{10},v1=[0-9a-f]{64}$/);
      expect(headers["content-type"]).toBe("application/json");
      const { webhooks } = new Stripe("sk_test_unused");
      expect(webhooks.constructEvent(body, signature, SECRET)).toMatchObject({ event: "job.submitted" });
      const changed = Buffer.from(body);
      changed[changed.length - 3] = (changed[changed.length - 3] as number) ^ 1;
      expect(() => webhooks.constructEvent(changed, signature, SECRET)).toThrow(/signature/i);
      expect(() => webhooks.constructEvent(body, signature, `${SECRET}!`)).toThrow(/signature/i);
      const later = signature.replace(/t=(\d+)/, (_, t) => `t=${Number(t) + 1}`);
      expect(() => webhooks.constructEvent(body, later, SECRET)).toThrow(/signature/i);
    });

    it("that nobody can answer tells of its failure", async () => {
      await world.client.webhook(world.receiver.url("/failed"), ["job.failed", "job.timeout"]);
      const askWithoutWorker = async () => {
        await world.stack.kill("worker-1");
        const reply = await world.client.api.post("/v1/chat/completions", chat("qwen3-8b", "Hello"));
        await world.stack.restart("worker-1");
        return reply;
      };
      let reply = await askWithoutWorker();
      while (reply.headers.get("x-service-job-id") === null) {
        // The gateway's probe was faster and it locked nothing. Once its next one has found the worker, another time.
        expect(reply.status).toBe(503);
        await sleep(8_000);
        reply = await askWithoutWorker();
      }
      expect(reply.status).toBe(503);
      const [{ event }] = (await world.got("/failed", 1)) as [Received];
      expect(event).toMatchObject({
        event: "job.failed",
        data: {
          job_id: reply.headers.get("x-service-job-id"),
          reason: "routing_failed",
          credits_refunded: 8,
          worker_address: null,
        },
      });
    });
  });
}
