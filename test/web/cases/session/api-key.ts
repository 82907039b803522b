import pg from "pg";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { apiClient } from "../../../support/api-client.ts";
import type { Visitor } from "./visitor.ts";

/** The key that a wallet has for the API. */
export function apiKey(visitor: Visitor): void {
  describe("the API key", () => {
    it("is shown once, replaced at once and revoked at once", async () => {
      await visitor.web.signIn(visitor.account);
      const works = async (key: string) => (await apiClient(visitor.stack, key).get("/v1/account")).status;
      const first = (await visitor.web.post("/key")).body.api_key as string;
      expect(first).toMatch(/^svc_live_[A-Za-z0-9]{32}$/);
      expect(await works(first)).toBe(200);
      const shown = (await visitor.web.get("/key")).body;
      expect(shown.key.hint).toBe(first.slice(-4));
      expect(JSON.stringify(shown)).not.toContain(first);

      const second = (await visitor.web.post("/key")).body.api_key as string;
      expect([await works(first), await works(second)]).toEqual([401, 200]);
      expect((await visitor.web.request("DELETE", "/key")).status).toBe(204);
      expect(await works(second)).toBe(401);
      expect((await visitor.web.get("/key")).body.key).toBeNull();
    });

    it("cannot be swapped for a free one while it is suspended", async () => {
      const other = privateKeyToAccount(generatePrivateKey());
      await visitor.web.signIn(other);
      await visitor.web.post("/key");
      const database = new pg.Client({ connectionString: visitor.stack.info.database_url });
      await database.connect();
      await database.query("UPDATE gateway.api_key SET suspended_at = now() WHERE wallet = $1", [
        other.address.toLowerCase(),
      ]);
      await database.end();
      const refused = await visitor.web.post("/key");
      expect([refused.status, refused.body.error.code]).toEqual([403, "key_suspended"]);
      await visitor.web.request("DELETE", "/key");
      const { body } = await visitor.web.post("/key");
      expect((await apiClient(visitor.stack, body.api_key).get("/v1/account")).body.error.code).toBe("key_suspended");
    });
  });
}
