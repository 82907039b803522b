import { describe, expect, it } from "vitest";
import { ChainStatus } from "../../../protocol/job-status.ts";
import { chat, readStream } from "../../support/api-client.ts";
import { Contract } from "../../support/contract.ts";
import { COMPLETION_SECONDS, MUTE, SLOW, type World } from "./world.ts";

/** Workers that never answer, or stop in the middle. */
export function silentWorkers(world: World): void {
  describe("a worker that never answers", () => {
    it("costs nothing: 504 job_timeout with the refund's transaction", async () => {
      const before = await world.account();
      const started = Date.now();
      const reply = await world.api.request("POST", "/v1/chat/completions", chat(MUTE, "Hello"));
      expect(reply.status).toBe(504);
      expect(Date.now() - started).toBeGreaterThanOrEqual((COMPLETION_SECONDS - 1) * 1000);
      const jobId = reply.headers.get("x-service-job-id") as string;
      const document = await Contract.of(world.stack.info.base_url);
      const { error } = await document.check("post", "/v1/chat/completions", reply);
      expect(error).toEqual({
        code: "job_timeout",
        message: expect.stringContaining("refunded"),
        type: "timeout_error",
        param: null,
        docs: `${world.stack.info.base_url}/docs/errors#job_timeout`,
        details: { job_id: jobId, credits_refunded: 18, refund_tx: expect.stringMatching(/^0x[0-9a-f]{64}$/) },
      });
      const { events } = await world.chain.transaction(error.details.refund_tx, jobId);
      expect(events).toMatchObject([{ eventName: "JobRefunded", args: { wallet: world.wallet, credits: 18 } }]);
      expect(await world.account()).toEqual(before);
      expect((await world.api.get(`/v1/jobs/${jobId}`)).body).toMatchObject({ status: "refunded", credits_charged: 0 });
    });
  });

  describe("a worker that dies mid-stream", () => {
    it("ends the stream with an error event; the job is failed and nothing is charged", async () => {
      await world.isListed(SLOW);
      const before = await world.account();
      const response = await world.api.request(
        "POST",
        "/v1/chat/completions",
        chat(SLOW, "Write. [[tokens:400]]", { stream: true }),
      );
      expect(response.status).toBe(200);
      const jobId = response.headers.get("x-service-job-id") as string;
      const reading = readStream(response);
      await world.stack.kill("worker-3");
      const events = await reading;
      expect(events.length).toBeGreaterThan(1);
      expect(events).not.toContain("[DONE]");
      expect(JSON.parse(events.at(-1) as string).error).toMatchObject({
        code: "service_unavailable",
        type: "capacity_error",
      });
      expect(await world.account()).toEqual(before);
      expect((await world.api.get(`/v1/jobs/${jobId}`)).body).toMatchObject({
        status: "failed",
        credits_charged: 0,
        completed_at: null,
      });
      expect((await world.chain.job(jobId)).status).toBe(ChainStatus.Failed);
    });

    it("is taken off the list; without another host, a request gets 503", async () => {
      await world.isListed(SLOW, false);
      const reply = await world.api.post("/v1/chat/completions", chat(SLOW, "Hello"));
      expect(reply.status).toBe(503);
      expect(reply.headers.get("retry-after")).toBe("5");
      expect(reply.body.error).toMatchObject({
        code: "no_workers_available",
        type: "capacity_error",
        details: { model: SLOW, retry_after: 5 },
      });
    });

    it("is back on the list once it runs again", async () => {
      await world.stack.restart("worker-3");
      await world.isListed(SLOW);
    });
  });
}
