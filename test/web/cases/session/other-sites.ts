import { describe, expect, it } from "vitest";
import type { Visitor } from "./visitor.ts";

/** Pages of other sites, with the visitor's cookie. */
export function otherSites(visitor: Visitor): void {
  describe("another site", () => {
    it.each([
      ["from another origin", { origin: "https://evil.example" }, "origin_not_allowed"],
      ["from an opaque origin", { origin: "null" }, "origin_not_allowed"],
      ["as a form would send it", { "x-requested-by": undefined as unknown as string }, "header_missing"],
    ])("cannot change anything %s", async (_how, headers, code) => {
      await visitor.web.signIn(visitor.account);
      await visitor.web.post("/key");
      const before = (await visitor.web.get("/key")).body;
      const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
      const response = await fetch(`${visitor.stack.info.app_url}/api/key`, {
        method: "POST",
        headers: {
          cookie: visitor.web.cookie ?? "",
          origin: visitor.web.origin,
          ...("x-requested-by" in headers ? {} : { "x-requested-by": "web" }),
          ...given,
        },
      });
      expect(response.status).toBe(403);
      expect(((await response.json()) as { error: { code: string } }).error.code).toBe(code);
      expect((await visitor.web.get("/key")).body).toEqual(before);
    });

    it("gets no leave to read, and no frame", async () => {
      const preflight = await fetch(`${visitor.stack.info.app_url}/api/key`, {
        method: "OPTIONS",
        headers: { origin: "https://evil.example", "access-control-request-method": "POST" },
      });
      expect(preflight.headers.get("access-control-allow-origin")).toBeNull();
      const { headers } = await visitor.web.get("/config");
      expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
      expect(headers.get("content-security-policy")).not.toContain("unsafe");
    });
  });
}
