import { beforeAll, describe, expect, it } from "vitest";
import { chat, eventually } from "../../../support/api-client.ts";
import type { Scene } from "../support.ts";
import { SLOW } from "./workers.ts";

/** Requests that come before there is anything to dispute. */
export function unsettled(given: () => Scene): void {
  let scene: Scene;
  beforeAll(() => {
    scene = given();
  });

  describe("before the settlement", () => {
    it("a request waits for it and then opens the dispute", async () => {
      const response = await scene.api.request(
        "POST",
        "/v1/chat/completions",
        chat(SLOW, "Write. [[tokens:30]]", { stream: true }),
      );
      const id = response.headers.get("x-service-job-id") as string;
      expect((await scene.dispute(id)).body).toMatchObject({ job_id: id, dispute_opened: true });
      await response.text();
    });

    it("it is answered with 409 job_not_settled when that takes long; repeated, it counts from its first arrival", async () => {
      const response = await scene.api.request(
        "POST",
        "/v1/chat/completions",
        // Seven seconds of text: nothing is mined any more when it ends, a second before the request is answered.
        chat(SLOW, "Write. [[tokens:140]]", { stream: true }),
      );
      const id = response.headers.get("x-service-job-id") as string;
      await scene.rpc("evm_setAutomine", [false]);
      const early = await scene.dispute(id);
      expect(early.status).toBe(409);
      expect(early.body.error).toMatchObject({ code: "job_not_settled", type: "conflict_error" });
      expect(early.headers.get("retry-after")).toBe("5");
      await scene.rpc("evm_setAutomine", [true]);
      await scene.rpc("evm_mine");
      await response.text();
      await eventually(
        () => scene.status(id),
        (status) => status === "settled",
      );
      await scene.answeredAgo(id, 100);
      await scene.pool.query(
        "UPDATE dispute_request d SET arrived_at = final_token_at + interval '59 s' FROM job j WHERE j.job_id = $1 AND d.job_id = $1",
        [id],
      );
      expect((await scene.dispute(id)).body).toMatchObject({ job_id: id, dispute_opened: true });
    });
  });
}
