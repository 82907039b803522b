import { describe, expect, it } from "vitest";
import { apiClient, chat } from "../../support/api-client.ts";
import { credits, errorBody, STRANGER, type World } from "./world.ts";

/** Well-formed chat requests that cannot be served, and that they cost nothing. */
export function refusals(world: World): void {
  describe("a chat request that cannot be served", () => {
    it("with too little balance: 402 insufficient_credits with its details", async () => {
      const poor = apiClient(world.stack, await world.keys.regenerate(STRANGER));
      const reply = await poor.post(
        "/v1/chat/completions",
        chat("llama-3.3-70b-instruct", "Hello", { max_tokens: 4_000 }),
      );
      expect(reply.status).toBe(402);
      expect(reply.body).toEqual(
        errorBody(world, "insufficient_credits", "payment_error", {
          details: { credits_remaining: 0, credits_required: 80, tier: "max" },
        }),
      );
    });

    it("for an unknown model: 400 model_not_found", async () => {
      const reply = await world.api.post("/v1/chat/completions", chat("gpt-none", "Hello"));
      expect(reply.status).toBe(400);
      expect(reply.body).toEqual(errorBody(world, "model_not_found", "invalid_request_error", { param: "model" }));
    });

    it("for a model that no worker hosts: 503 no_workers_available, and it is not listed", async () => {
      const reply = await world.api.post("/v1/chat/completions", chat("qwen3-1.7b", "Hello"));
      expect(reply.status).toBe(503);
      expect(reply.body).toEqual(
        errorBody(world, "no_workers_available", "capacity_error", {
          details: { model: "qwen3-1.7b", retry_after: 5 },
        }),
      );
      const { body } = await world.api.get("/v1/models");
      expect(body.data.map((model: { id: string }) => model.id).toSorted()).toEqual([
        "llama-3.3-70b-instruct",
        "qwen3-8b",
      ]);
      expect((await world.api.get("/v1/models/qwen3-1.7b")).status).toBe(404);
    });

    it("with more tokens than the model takes: 400 context_length_exceeded", async () => {
      const reply = await world.api.post("/v1/chat/completions", chat("qwen3-8b", "word ".repeat(40_000)));
      expect(reply.status).toBe(400);
      expect(reply.body).toEqual(
        errorBody(world, "context_length_exceeded", "invalid_request_error", { param: "messages" }),
      );
    });

    it("leaves no job and no charge behind", async () => {
      expect((await world.api.get("/v1/jobs")).body).toEqual({
        object: "list",
        data: [],
        has_more: false,
        next_cursor: null,
      });
      expect(await credits(world)).toEqual({ free: 10_000, escrowed: 0 });
    });
  });
}
