import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { chat } from "../../support/api-client.ts";
import { call, errorOf, JSON_TYPE, MODEL, type World } from "./world.ts";

/** Types, sizes and encodings of request bodies. */
export function bodies(world: World): void {
  describe("a request body", () => {
    it.each([
      ["text/plain", JSON.stringify(chat(MODEL, "Hello"))],
      ["application/x-www-form-urlencoded", "model=x"],
      ["multipart/form-data; boundary=x", "--x--"],
    ])("of type %s: 400 that names Content-Type", async (type, body) => {
      const response = await call(world, "POST", "/v1/chat/completions", { "content-type": type }, body);
      expect(response.status).toBe(400);
      expect(await errorOf(response)).toMatchObject({ code: "invalid_request", param: "Content-Type" });
      expect(response.headers.get("x-service-credits-remaining")).toBe("10000");
    });

    it("with a charset and in any case is JSON all the same", async () => {
      const body = JSON.stringify(chat("none", "Hello"));
      const response = await call(
        world,
        "POST",
        "/v1/chat/completions",
        { "content-type": "Application/JSON; charset=UTF-8" },
        body,
      );
      expect((await errorOf(response)).code).toBe("model_not_found");
    });

    it("of 4 MiB is read, one byte more is not", async () => {
      const text = JSON.stringify(chat("none", ""));
      const fill = (size: number) => text.replace('"content":""', `"content":"${"a".repeat(size - text.length)}"`);
      const fits = await call(world, "POST", "/v1/chat/completions", JSON_TYPE, fill(4 * 1024 * 1024));
      expect((await errorOf(fits)).code).toBe("model_not_found");
      const large = await call(world, "POST", "/v1/chat/completions", JSON_TYPE, fill(4 * 1024 * 1024 + 1));
      expect(large.status).toBe(400);
      expect(await errorOf(large)).toMatchObject({
        code: "invalid_request",
        message: expect.stringContaining("4 MiB"),
      });
    });

    it.each([
      ["a million messages", `{"model":"${MODEL}","messages":[${"0,".repeat(1_000_000)}0]}`, "values"],
      ["a field nested a million deep", `{"logit_bias":${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}}`, "deep"],
    ])("with %s is refused before anybody looks at it", async (_what, body, reason) => {
      const response = await call(world, "POST", "/v1/chat/completions", JSON_TYPE, body);
      expect(response.status).toBe(400);
      expect(await errorOf(response)).toMatchObject({
        code: "invalid_request",
        message: expect.stringContaining(reason),
      });
    });

    it("that is compressed counts with its full size", async () => {
      const body = gzipSync(JSON.stringify(chat(MODEL, " ".repeat(8 * 1024 * 1024))));
      const response = await call(
        world,
        "POST",
        "/v1/chat/completions",
        { ...JSON_TYPE, "content-encoding": "gzip" },
        body,
      );
      expect(response.status).toBe(400);
      expect((await errorOf(response)).message).toContain("4 MiB");
    });

    it.each([
      ["not gzip at all", { "content-encoding": "gzip" }],
      ["of an unknown encoding", { "content-encoding": "snappy" }],
    ])("%s: 400 invalid_request", async (_name, headers) => {
      const response = await call(world, "POST", "/v1/chat/completions", { ...JSON_TYPE, ...headers }, "{}");
      expect(response.status).toBe(400);
      expect((await errorOf(response)).code).toBe("invalid_request");
    });

    it("that is missing: 400 invalid_request", async () => {
      const response = await call(world, "POST", "/v1/chat/completions");
      expect(response.status).toBe(400);
      expect(await errorOf(response)).toMatchObject({ code: "invalid_request", param: null });
    });
  });
}
