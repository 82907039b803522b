import { privateKeyToAccount } from "viem/accounts";
import { beforeAll, describe, expect, it } from "vitest";
import { Keys } from "../../../../api/accounts/keys.ts";
import { apiClient, chat } from "../../../support/api-client.ts";
import { hashOf, OTHER, type Scene } from "../support.ts";
import { MODEL, MUTE } from "./workers.ts";

/** What cannot be disputed, or not any more. */
export function refusals(given: () => Scene): void {
  let scene: Scene;
  beforeAll(() => {
    scene = given();
  });

  describe("nothing to dispute", () => {
    it("is a job that ended without a charge: 409 conflict", async () => {
      const reply = await scene.api.post("/v1/chat/completions", chat(MUTE, "Hello"));
      expect(reply.status).toBe(504);
      const answer = await scene.dispute(reply.headers.get("x-service-job-id") as string);
      expect(answer.status).toBe(409);
      expect(answer.body.error).toMatchObject({
        code: "conflict",
        message: expect.stringContaining("without a charge"),
      });
    });

    it("is a job of somebody else or of nobody: 404 job_not_found", async () => {
      const { id } = await scene.settledJob(MODEL);
      const stranger = privateKeyToAccount(`0x${"37".repeat(32)}`).address;
      const other = apiClient(scene.stack, await new Keys(scene.pool).regenerate(stranger));
      for (const [client, job] of [
        [other, id],
        [scene.api, "job_00000000000070008000000000000000"],
        [scene.api, "nonsense"],
      ] as const) {
        const answer = await scene.dispute(job, OTHER, client);
        expect([job, answer.status, answer.body.error.code]).toEqual([job, 404, "job_not_found"]);
      }
      expect((await scene.pool.query("SELECT 1 FROM dispute_request WHERE job_id = $1", [id])).rows).toEqual([]);
    });

    it.each([
      ["no body", {}],
      ["no prefix", { received_output_hash: "a7".repeat(32) }],
      ["a short hash", { received_output_hash: "sha256:a7" }],
      ["a number", { received_output_hash: 7 }],
    ])("is what is no hash (%s): 400 that names the field", async (_name, body) => {
      const answer = await scene.disputeWith(body, "job_00000000000070008000000000000000");
      expect(answer.status).toBe(400);
      expect(answer.body.error).toMatchObject({ code: "invalid_request", param: "received_output_hash" });
    });
  });

  describe("a wallet with eight disputes that its service opened", () => {
    it("has the next one refused with 409 conflict, and keeps its charge", async () => {
      const open = async () => (await scene.chain.account(scene.client.address)).openDisputes;
      while ((await open()) < 8) {
        const { id } = await scene.settledJob(MODEL);
        expect((await scene.dispute(id)).status).toBe(200);
      }
      const { id, text } = await scene.settledJob(MODEL);
      const answer = await scene.dispute(id);
      expect(answer.status).toBe(409);
      expect(answer.body.error).toMatchObject({ code: "conflict", message: expect.stringContaining("open disputes") });
      expect(await scene.status(id)).toBe("settled");
      // What needs no dispute is still answered.
      expect((await scene.dispute(id, hashOf(text))).body.dispute_opened).toBe(false);
    });
  });
}
