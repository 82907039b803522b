/**
 * Requests that model servers do not survive, beside honest ones: real workers in front of a server that fails where a prompt says so. No honest
 * request may fail, and no worker may be taken away.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chat, eventually } from "../support/api-client.ts";
import { Client, openStore } from "../support/client.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import type { Peer } from "../worker/support/peer.ts";
import { BEFORE_TEXT, poisonOf, startPoisonedServer } from "../worker/support/poison.ts";

const MODEL = "qwen3-8b";

let peer: Peer;
let stack: TestStack;
let pool: pg.Pool;
let honest: Client;
let poisoner: Client;

beforeAll(async () => {
  peer = await startPoisonedServer([MODEL]);
  const env = { WORKER_BACKEND: peer.url };
  stack = await startTestStack({
    workers: [
      { models: [MODEL], env },
      { models: [MODEL], env },
    ],
  });
  pool = openStore(stack);
  // Enough for an honest client on any machine: it asks as often as it is answered.
  [honest, poisoner] = [await Client.funded(stack, pool, 500_000), await Client.funded(stack, pool, 5_000)];
});
afterAll(async () => {
  await pool?.end();
  await stack?.remove();
  await peer?.stop();
});

const poison = (kind: string, from = poisoner) => from.api.post("/v1/chat/completions", chat(MODEL, poisonOf(kind)));

describe("a request that fails at model servers", () => {
  it.each(BEFORE_TEXT)("is its client's error, costs nothing, and harms nobody: %s", async (kind) => {
    // Each from a wallet of its own: one that repeats such requests waits for its turn.
    const { status, body } = await poison(kind, await Client.funded(stack, pool, 100));
    // Where the server names the conversation as the cause, the client learns that.
    const expected = kind === "template-500" ? [400, "invalid_request"] : [422, "request_failed_at_model"];
    expect([status, body.error?.code]).toEqual(expected);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => honest.api.post("/v1/chat/completions", chat(MODEL, "Hello"))),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(10).fill(200));
  });

  it("sent each second takes no worker from anybody, and slows its own wallet", async () => {
    const until = Date.now() + 10_000;
    const [bad, good] = [[] as number[], [] as number[]];
    const poisoning = async () => {
      for (let n = 0; Date.now() < until; n++) {
        bad.push((await poison(BEFORE_TEXT[n % BEFORE_TEXT.length] as string)).status);
        await sleep(1_000);
      }
    };
    const asking = async () => {
      while (Date.now() < until)
        good.push((await honest.api.post("/v1/chat/completions", chat(MODEL, "Hello"))).status);
    };
    await Promise.all([poisoning(), asking(), asking()]);
    expect(new Set(good)).toEqual(new Set([200]));
    expect(new Set(bad).has(200)).toBe(false);
    expect(bad).toContain(503);
  });

  it.each(["engine-dead", "cut-after-text"])(
    "sent sixty times at once costs the operator few jobs: %s",
    async (kind) => {
      const client = await Client.funded(stack, pool, 5_000);
      const replies = await Promise.all(Array.from({ length: 60 }, () => poison(kind, client)));
      const { rows } = await pool.query("SELECT count(*)::int AS jobs FROM job WHERE wallet = $1", [
        client.account.address.toLowerCase(),
      ]);
      // 8 or 32 before the first one failed, and those that began between the rests of the time that the others waited.
      expect(rows[0].jobs).toBeLessThanOrEqual(50);
      expect(replies.filter(({ status }) => status === 200)).toEqual([]);
      const why = /^(The wallet has as many unfinished jobs|The wallet's last jobs ended without a charge)/;
      const waited = replies.filter(({ body }) => why.test(body.error.message));
      expect(waited.length).toBe(60 - rows[0].jobs);
      expect((await honest.api.post("/v1/chat/completions", chat(MODEL, "Hello"))).status).toBe(200);
    },
  );

  it("left no credit in escrow, and took none", async () => {
    const { body } = await eventually(
      () => poisoner.api.get("/v1/account"),
      (answer) => answer.body.credits_remaining === 5_000,
    );
    expect(body.credits_remaining).toBe(5_000);
  });
});
