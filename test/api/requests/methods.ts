import { describe, expect, it } from "vitest";
import { apiClient, chat } from "../../support/api-client.ts";
import { call, errorOf, JSON_TYPE, MODEL, type World } from "./world.ts";

/** Methods, preflights of browsers, and the headers of every answer. */
export function methods(world: World): void {
  describe("a method that a path does not have", () => {
    it.each([
      ["GET", "/v1/chat/completions", "POST"],
      ["HEAD", "/v1/chat/completions", "POST"],
      ["DELETE", "/v1/models/x", "GET, HEAD"],
      ["PUT", "/v1/account", "GET, HEAD"],
      ["PATCH", "/v1/jobs?limit=2", "GET, HEAD"],
    ])("%s %s: 404 route_not_found with Allow: %s", async (method, path, allow) => {
      const response = await call(world, method, path);
      expect(response.status).toBe(404);
      expect(response.headers.get("allow")).toBe(allow);
      if (method !== "HEAD") expect((await errorOf(response)).code).toBe("route_not_found");
    });

    it("HEAD answers where GET does, without a body", async () => {
      const response = await call(world, "HEAD", "/v1/models");
      expect(response.status).toBe(200);
      expect(Number(response.headers.get("content-length"))).toBeGreaterThan(100);
      expect(await response.text()).toBe("");
    });
  });

  describe("a browser on another site", () => {
    it("gets its preflight answered without a key, with the headers that SDKs send", async () => {
      const response = await fetch(`${world.stack.info.base_url}/v1/chat/completions`, {
        method: "OPTIONS",
        headers: {
          origin: "https://somewhere.test",
          "access-control-request-method": "POST",
          "access-control-request-headers": "authorization,content-type,x-stainless-os",
        },
      });
      expect(response.status).toBe(204);
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
      expect(response.headers.get("access-control-allow-methods")).toBe("POST");
      expect(response.headers.get("access-control-allow-headers")).toBe("authorization,content-type,x-stainless-os");
      expect(response.headers.get("access-control-allow-credentials")).toBeNull();
    });

    it("may read the service's headers, of errors as well", async () => {
      for (const reply of [await world.api.get("/v1/models"), await apiClient(world.stack, null).get("/v1/models")]) {
        expect(reply.headers.get("access-control-allow-origin")).toBe("*");
        expect(reply.headers.get("access-control-expose-headers")).toContain("x-service-settlement-tx");
      }
    });
  });

  describe("every answer", () => {
    it("has a request id of its own, is kept by no cache, and tells how much of the burst limit is left", async () => {
      const replies = [
        await world.api.get("/v1/models"),
        await world.api.get("/v1/jobs/x"),
        await apiClient(world.stack, null).get("/v1/jobs"),
      ];
      expect(new Set(replies.map(({ headers }) => headers.get("x-request-id"))).size).toBe(3);
      for (const { headers } of replies) {
        expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
        expect(headers.get("cache-control")).toBe("no-store");
        expect(headers.get("ratelimit")).toMatch(/r=\d+; t=\d/);
        expect(headers.get("ratelimit-policy")).toMatch(/q=1000000; w=1/);
      }
    });

    it("is not compressed: events reach a client that takes gzip one by one", async () => {
      const body = JSON.stringify(chat(MODEL, "Hello", { stream: true }));
      const response = await call(
        world,
        "POST",
        "/v1/chat/completions",
        { ...JSON_TYPE, "accept-encoding": "gzip, br" },
        body,
      );
      expect(response.headers.get("content-encoding")).toBeNull();
      expect(response.headers.get("cache-control")).toBe("no-cache, no-transform");
      expect(response.headers.get("x-accel-buffering")).toBe("no");
      expect(await response.text()).toContain("data: [DONE]");
    });
  });
}
