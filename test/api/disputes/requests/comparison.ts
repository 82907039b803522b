import { beforeAll, describe, expect, it } from "vitest";
import { GAS_CEILING } from "../../../../api/chain/operations.ts";
import { untilIndexed } from "../../../support/indexed.ts";
import { hashOf, OTHER, type Scene } from "../support.ts";
import { MODEL } from "./workers.ts";

const TX = /^0x[0-9a-f]{64}$/;

/** What the client received against what its worker signed, and the last moment to say so. */
export function comparison(given: () => Scene): void {
  let scene: Scene;
  beforeAll(() => {
    scene = given();
  });

  describe("a client that received what the worker signed", () => {
    it("is told so: 200, nothing is opened", async () => {
      const { id, text } = await scene.settledJob(MODEL);
      const answer = await scene.dispute(id, hashOf(text).toUpperCase().replace("SHA256", "sha256"));
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        job_id: id,
        dispute_opened: false,
        your_hash: hashOf(text),
        worker_hash: hashOf(text),
        dispute_tx: null,
        arbitration_window_hours: 24,
      });
      expect(await scene.status(id)).toBe("settled");
    });
  });

  describe("a client that received something else", () => {
    it("opens a dispute: on chain, in the job and in the list at once", async () => {
      const { id, text } = await scene.settledJob(MODEL);
      const before = await scene.chain.account(scene.client.address);
      const answer = await scene.dispute(id);
      expect(answer.body).toEqual({
        job_id: id,
        dispute_opened: true,
        your_hash: OTHER,
        worker_hash: hashOf(text),
        dispute_tx: expect.stringMatching(TX),
        arbitration_window_hours: 24,
      });
      expect(answer.status).toBe(200);
      const job = await scene.job(id);
      expect(job.body).toMatchObject({ status: "disputed", credits_charged: 8, usdg_value: 0.08 });
      expect(job.body.completed_at).not.toBeNull();
      for (const header of ["x-service-job-id", "x-service-tx-hash", "x-service-settlement-tx", "x-service-worker"])
        expect([header, answer.headers.get(header)]).toEqual([header, job.headers.get(header)]);
      expect((await scene.api.get("/v1/jobs?status=disputed")).body.data[0]).toEqual(job.body);
      const settled = (await scene.api.get("/v1/jobs?status=settled")).body.data;
      expect(settled.map((each: { id: string }) => each.id)).not.toContain(id);

      const { events, receipt } = await scene.chain.transaction(answer.body.dispute_tx, id);
      expect(receipt.gasUsed).toBeLessThan(GAS_CEILING.openDispute);
      expect(events).toMatchObject([
        {
          eventName: "JobDisputed",
          args: {
            receivedHash: `0x${OTHER.slice(7)}`,
            workerHash: `0x${hashOf(text).slice(7)}`,
            byOperator: true,
            bond: 0,
          },
        },
      ]);
      // The client puts up nothing for a dispute that its service opens.
      const after = await scene.chain.account(scene.client.address);
      expect([after.free, after.escrowed, after.openDisputes]).toEqual([before.free, before.escrowed, 1]);
      // And the index says the same once it has seen it.
      await untilIndexed(scene.stack);
      expect((await scene.job(id)).body).toEqual(job.body);
      expect((await scene.api.get("/v1/jobs?status=disputed")).body.data[0]).toEqual(job.body);
    });

    it("does so once: 409 dispute_already_open, also for two requests at a time", async () => {
      const { id } = await scene.settledJob(MODEL);
      const answers = await Promise.all([scene.dispute(id), scene.dispute(id, hashOf("a third text"))]);
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
      const opened = answers.find(({ status }) => status === 200);
      const again = await scene.dispute(id);
      expect(again.status).toBe(409);
      expect(again.body.error).toMatchObject({
        code: "dispute_already_open",
        type: "conflict_error",
        details: { dispute_tx: opened?.body.dispute_tx },
      });
    });

    it("is in time up to the sixtieth second after the final token, and a thousandth later too late", async () => {
      const late = await scene.settledJob(MODEL);
      await scene.answeredAgo(late.id, 61);
      expect((await scene.dispute(late.id)).body.error.code).toBe("dispute_window_expired");
      // A repetition counts from its first arrival, so the border is tested to the point.
      await scene.answeredAgo(late.id, 100);
      await scene.pool.query("DELETE FROM dispute_request WHERE job_id = $1", [late.id]);
      await scene.arrivedAfter(late.id, 60.001);
      const refused = await scene.dispute(late.id);
      expect(refused.status).toBe(422);
      expect(refused.body.error).toMatchObject({
        code: "dispute_window_expired",
        type: "invalid_request_error",
        docs: `${scene.stack.info.base_url}/docs/errors#dispute_window_expired`,
      });
      expect(refused.headers.get("x-service-job-id")).toBe(late.id);
      expect(await scene.status(late.id)).toBe("settled");

      for (const seconds of [59, 60]) {
        const { id } = await scene.settledJob(MODEL);
        await scene.answeredAgo(id, 100);
        await scene.arrivedAfter(id, seconds);
        expect((await scene.dispute(id)).body).toMatchObject({ dispute_opened: true });
      }
    });
  });
}
