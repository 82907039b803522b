import { describe, expect, it } from "vitest";
import { apiClient, chat } from "../../support/api-client.ts";
import { errorBody, STRANGER, type World } from "./world.ts";

/** Jobs and routes that do not exist, for this key. */
export function missing(world: World): void {
  describe("things that do not exist", () => {
    it("somebody else's job: 404 job_not_found", async () => {
      const jobId = (await world.api.post("/v1/chat/completions", chat("qwen3-8b", "Hello"))).headers.get(
        "x-service-job-id",
      );
      expect((await world.api.get(`/v1/jobs/${jobId}`)).status).toBe(200);
      const stranger = apiClient(world.stack, await world.keys.regenerate(STRANGER));
      const reply = await stranger.get(`/v1/jobs/${jobId}`);
      expect(reply.status).toBe(404);
      expect(reply.body).toEqual(errorBody(world, "job_not_found", "not_found_error"));
      expect((await stranger.get("/v1/jobs")).body.data).toEqual([]);
    });

    it("an answer that is not kept: 404 output_not_found", async () => {
      const reply = await world.api.post("/v1/chat/completions", chat("qwen3-8b", "Hello"));
      const id = reply.headers.get("x-service-job-id");
      // As if its retention time were over.
      await world.pool.query("UPDATE job SET output = NULL WHERE job_id = $1", [id]);
      const { status, body } = await world.api.get(`/v1/jobs/${id}/output`);
      expect(status).toBe(404);
      expect(body).toEqual(errorBody(world, "output_not_found", "not_found_error"));
    });

    it.each(["job_0", `job_${"0".repeat(32)}`, "%00", "job_' OR 1=1"])("job %s: 404 job_not_found", async (id) => {
      expect((await world.api.get(`/v1/jobs/${encodeURIComponent(id)}`)).body.error.code).toBe("job_not_found");
    });

    it.each([
      ["GET", "/v1/nothing"],
      ["POST", "/v1/models"],
      ["GET", "/nothing"],
    ])("%s %s: 404 route_not_found", async (method, path) => {
      const response = await world.api.request(method, path);
      expect(response.status).toBe(404);
      expect(await response.json()).toEqual(errorBody(world, "route_not_found", "not_found_error"));
    });

    it.each(["limit=0", "limit=101", "limit=x", "status=done", "before=a&before=b"])(
      "GET /v1/jobs?%s: 400 with its param",
      async (query) => {
        const reply = await world.api.get(`/v1/jobs?${query}`);
        expect(reply.status).toBe(400);
        expect(reply.body.error).toMatchObject({ code: "invalid_request", param: query.split("=")[0] });
      },
    );
  });
}
