/** The API's routes of webhooks. */
import { describe, expect, it } from "vitest";
import { openWebhooks } from "../api/support/service.ts";
import { Client } from "../support/client.ts";
import { untilIndexed } from "../support/indexed.ts";

const SECRET = "a secret that the client chose";

const { stack, pool } = await openWebhooks();
// With credits: without any, a wallet can have one webhook only.
const client = await Client.funded(stack, pool, 100);
await untilIndexed(stack);

describe("POST /v1/webhooks", () => {
  it("answers the webhook, without the secret that was given", async () => {
    const url = "https://example.com/hook?for=me";
    const { status, body } = await client.api.post("/v1/webhooks", {
      url,
      events: ["job.completed"],
      secret: SECRET,
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^wh_[0-9a-f]{32}$/),
      url,
      events: ["job.completed"],
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      status: "active",
    });
    // What a dump of the database shows.
    const { rows } = await pool.query("SELECT webhook::text AS row, secret, url FROM webhook WHERE id = $1", [body.id]);
    for (const secret of [SECRET, url, new URL(url).host]) {
      expect(rows[0].secret.includes(secret) || rows[0].url.includes(secret) || rows[0].row.includes(secret)).toBe(
        false,
      );
    }
    expect((await client.api.request("DELETE", `/v1/webhooks/${body.id}`)).status).toBe(200);
  });

  it("makes a secret where none is given, and shows it once", async () => {
    const created = await client.webhook("https://example.com/", ["job.failed"]);
    expect(created.secret).toMatch(/^whsec_[\w-]{43}$/);
    const { body } = await client.api.get("/v1/webhooks");
    expect(body).toEqual({
      object: "list",
      data: [{ ...created, secret: undefined }],
      has_more: false,
      next_cursor: null,
    });
    expect(JSON.stringify(body)).not.toContain("secret");
    const removed = await client.api.request("DELETE", `/v1/webhooks/${created.id}`);
    expect(await removed.json()).toEqual({ id: created.id, deleted: true });
    expect((await client.api.get("/v1/webhooks")).body.data).toEqual([]);
  });

  it.each([
    ["no URL", { events: ["job.completed"] }, "url"],
    ["an unknown event", { url: "https://example.com/", events: ["job.done"] }, "events[0]"],
    ["an unknown field", { url: "https://example.com/", events: ["job.failed"], event: "job.failed" }, null],
    ["a private address", { url: "https://10.0.0.1/", events: ["job.failed"] }, "url"],
  ])("refuses %s", async (_name, body, param) => {
    const reply = await client.api.post("/v1/webhooks", body);
    expect(reply.status).toBe(400);
    expect(reply.body.error).toMatchObject({ code: "invalid_request", param });
  });

  it("refuses more than 20 of a wallet, also at once", async () => {
    const replies = await Promise.all(
      Array.from({ length: 23 }, (_, n) =>
        client.api.post("/v1/webhooks", { url: `https://example.com/${n}`, events: ["worker.slashed"] }),
      ),
    );
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(20);
    expect(replies.find(({ status }) => status !== 201)?.body.error).toMatchObject({
      code: "conflict",
      type: "conflict_error",
    });
    for (const { body } of replies) if (body.id) await client.api.request("DELETE", `/v1/webhooks/${body.id}`);
  });

  it("refuses a second one of a wallet without credits", async () => {
    const free = await Client.create(stack, pool, 0);
    const first = await free.webhook("https://example.com/first", ["job.failed"]);
    const second = { url: "https://example.com/second", events: ["job.failed"] };
    const refused = await free.api.post("/v1/webhooks", second);
    expect(refused.status).toBe(409);
    expect(refused.body.error.message).toMatch(/without credits can have 1 webhook/);
    await free.api.request("DELETE", `/v1/webhooks/${first.id}`);
    expect((await free.api.post("/v1/webhooks", second)).status).toBe(201);
  });

  it("refuses one of a wallet without credits once all such wallets have 10,000", async () => {
    const free = await Client.create(stack, pool, 0);
    const url = { url: "https://example.com/one-more", events: ["worker.registered"] };
    await pool.query(
      `INSERT INTO webhook (id, wallet, url, events, secret, created_block, created_time, enabled_block, enabled_time)
       SELECT 'wh_free_' || n, '0xfree' || n, 'x', '{job.failed}', 'x', 0, 0, 0, 0 FROM generate_series(1, 10000) n`,
    );
    // The count is read again after some seconds.
    await expect
      .poll(async () => {
        const { status, body } = await free.api.post("/v1/webhooks", url);
        if (status === 201) await free.api.request("DELETE", `/v1/webhooks/${body.id}`);
        return [status, body.error?.message];
      })
      .toEqual([409, expect.stringMatching(/buy credits first/)]);
    expect((await client.api.post("/v1/webhooks", url)).status).toBe(201);
    await pool.query("DELETE FROM webhook WHERE id LIKE 'wh_free_%'");
    await expect.poll(async () => (await free.api.post("/v1/webhooks", url)).status).toBe(201);
    for (const of of [client, free]) {
      for (const { id } of (await of.api.get("/v1/webhooks")).body.data)
        await of.api.request("DELETE", `/v1/webhooks/${id}`);
    }
  });

  it("refuses one with the URL and the events of another, in whatever order", async () => {
    const url = "https://example.com/twice";
    const first = await client.webhook(url, ["job.failed", "job.completed"]);
    const again = await client.api.post("/v1/webhooks", { url, events: ["job.completed", "job.failed"] });
    expect(again.status).toBe(409);
    expect(again.body.error).toMatchObject({
      code: "conflict",
      param: "url",
      message: expect.stringContaining(first.id),
    });
    // Both at once, as a client sends them that repeats what was slow.
    const both = { url, events: ["job.timeout"] };
    const replies = await Promise.all([client.api.post("/v1/webhooks", both), client.api.post("/v1/webhooks", both)]);
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409]);
    for (const { body } of (await client.api.get("/v1/webhooks")).body.data.map((one: object) => ({ body: one })))
      await client.api.request("DELETE", `/v1/webhooks/${body.id}`);
  });

  it("knows another wallet's webhooks as little as unknown ones", async () => {
    const { id } = await client.webhook("https://example.com/", ["job.failed"]);
    const other = await Client.create(stack, pool, 0);
    for (const unknown of [id, "wh_0", "%20"]) {
      const reply = await other.api.request("DELETE", `/v1/webhooks/${unknown}`);
      expect(reply.status).toBe(404);
      expect(await reply.json()).toMatchObject({ error: { code: "webhook_not_found", type: "not_found_error" } });
    }
    expect((await other.api.get("/v1/webhooks")).body.data).toEqual([]);
    await client.api.request("DELETE", `/v1/webhooks/${id}`);
  });
});
