import { describe, expect, it } from "vitest";
import { apiClient } from "../../support/api-client.ts";
import { errorBody, STRANGER, type World } from "./world.ts";

/** Who may ask: keys that are missing, wrong, revoked, replaced or suspended. */
export function authentication(world: World): void {
  describe("authentication", () => {
    it.each(["/v1/models", "/v1/account", "/v1/jobs", "/v1/no-such-route"])(
      "%s without a key: 401 missing_api_key",
      async (path) => {
        const reply = await apiClient(world.stack, null).get(path);
        expect(reply.status).toBe(401);
        expect(reply.body).toEqual(errorBody(world, "missing_api_key", "authentication_error"));
      },
    );

    it.each([
      ["unknown", `svc_live_${"a".repeat(32)}`],
      ["of another format", "sk-1234"],
      ["with SQL in it", "svc_live_' OR 1=1 --"],
    ])("a key %s: 401 invalid_api_key", async (_name, key) => {
      const reply = await apiClient(world.stack, key).get("/v1/models");
      expect(reply.status).toBe(401);
      expect(reply.body).toEqual(errorBody(world, "invalid_api_key", "authentication_error"));
    });

    it("a revoked key is refused by the very next request", async () => {
      const key = await world.keys.regenerate(STRANGER);
      expect((await apiClient(world.stack, key).get("/v1/models")).status).toBe(200);
      await world.keys.revoke(STRANGER);
      expect((await apiClient(world.stack, key).get("/v1/models")).body.error.code).toBe("invalid_api_key");
    });

    it("a regenerated key replaces the one before it: one key a wallet", async () => {
      const first = await world.keys.regenerate(STRANGER);
      const second = await world.keys.regenerate(STRANGER);
      expect((await apiClient(world.stack, first).get("/v1/models")).status).toBe(401);
      expect((await apiClient(world.stack, second).get("/v1/models")).status).toBe(200);
    });

    it("a suspended key: 403 key_suspended, until it is released", async () => {
      const key = await world.keys.regenerate(STRANGER);
      await world.keys.setSuspended(STRANGER, true);
      const reply = await apiClient(world.stack, key).get("/v1/models");
      expect(reply.status).toBe(403);
      expect(reply.body).toEqual(errorBody(world, "key_suspended", "permission_error"));
      await world.keys.setSuspended(STRANGER, false);
      expect((await apiClient(world.stack, key).get("/v1/models")).status).toBe(200);
    });

    it("the key itself is stored nowhere", async () => {
      const key = await world.keys.regenerate(STRANGER);
      const dump = await world.pool.query("SELECT row_to_json(api_key)::text AS row FROM api_key");
      expect(dump.rows.map((row) => row.row).join()).not.toContain(key.slice("svc_live_".length));
      expect(key).toMatch(/^svc_live_[A-Za-z0-9]{32}$/);
    });
  });
}
