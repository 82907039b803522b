import pg from "pg";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { apiClient } from "../../../support/api-client.ts";
import { WebClient } from "../../support/web-client.ts";
import type { Visitor } from "./visitor.ts";

/** What a session opens, and how it ends. */
export function sessions(visitor: Visitor): void {
  describe("a session", () => {
    it("is asked for by every page of one's own", async () => {
      for (const path of ["/account", "/usage", "/key", "/jobs", "/jobs.csv"]) {
        const { status, body } = await visitor.web.get(path);
        expect([path, status, body.error?.code]).toEqual([path, 401, "not_signed_in"]);
      }
    });

    it("ends by signing out, for every copy of its cookie", async () => {
      await visitor.web.signIn(visitor.account);
      const copy = new WebClient(visitor.stack);
      copy.cookie = visitor.web.cookie;
      expect((await visitor.web.request("DELETE", "/session")).status).toBe(204);
      expect((await copy.get("/account")).body.error.code).toBe("session_expired");
    });

    it("ends when its time is over", async () => {
      await visitor.web.signIn(visitor.account);
      const database = new pg.Client({ connectionString: visitor.stack.info.database_url });
      await database.connect();
      await database.query("UPDATE gateway.web_session SET expires_at = now() - interval '1 second'");
      await database.end();
      const { status, body } = await visitor.web.get("/account");
      expect([status, body.error.code]).toEqual([401, "session_expired"]);
      expect(visitor.web.cookie).toBeNull();
    });

    it("is stored so that the database does not give it away", async () => {
      await visitor.web.signIn(visitor.account);
      const token = (visitor.web.cookie ?? "").split("=")[1] ?? "";
      const database = new pg.Client({ connectionString: visitor.stack.info.database_url });
      await database.connect();
      const { rows } = await database.query(
        "SELECT encode(token_hash, 'escape') || wallet AS text FROM gateway.web_session",
      );
      await database.end();
      expect(rows.length).toBeGreaterThan(0);
      for (const { text } of rows) expect(text).not.toContain(token);
    });
  });

  describe("another wallet's session", () => {
    it("sees neither jobs nor account of this one", async () => {
      const { demo } = visitor.stack.info;
      if (demo === null) throw new Error("the stack has no demo account");
      const api = apiClient(visitor.stack);
      const reply = await api.post("/v1/chat/completions", {
        model: "qwen3-1.7b",
        messages: [{ role: "user", content: "Say hello." }],
      });
      const jobId = reply.headers.get("x-service-job-id");
      await visitor.web.signIn(visitor.account);
      expect((await visitor.web.get(`/jobs/${jobId}`)).body.error.code).toBe("job_not_found");
      expect((await visitor.web.get("/jobs")).body.data).toEqual([]);
      expect((await visitor.web.get("/account")).body).toMatchObject({ free: 0, escrowed: 0, has_account: false });

      const owner = new WebClient(visitor.stack);
      await owner.signIn(privateKeyToAccount(demo.private_key as `0x${string}`));
      expect((await owner.get(`/jobs/${jobId}`)).body.id).toBe(jobId);
      // Lists come from the index, a little after the answer.
      await expect.poll(async () => (await owner.get("/jobs.csv")).body, { timeout: 60_000 }).toContain(jobId);
    });
  });
}
