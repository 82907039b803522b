/** Many endpoints that never answer, or late, and many wallets that pay for nothing, beside one that answers at once. */
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Repeated, repeat } from "../../shared/repeat.ts";
import type { DeliveryDispatcher } from "../../webhooks/deliveries.ts";
import { eventually } from "../support/api-client.ts";
import { DueDeliveries } from "../support/due-deliveries.ts";
import type { Behaviour } from "../support/receiver.ts";

const CONCURRENCY = 8;
const BACKLOG = 10;

let due: DueDeliveries;
beforeAll(async () => {
  due = await DueDeliveries.open();
});
afterAll(() => due?.close());

/** Sends what is due while `work` looks. */
async function dispatching(work: () => Promise<void>, timeoutMs = 200): Promise<void> {
  let claiming: Repeated | undefined;
  const settings = { concurrency: CONCURRENCY, perWallet: 2, timeoutMs, delaysMs: [60_000, 1, 1, 1] };
  const claimed = async (dispatcher: DeliveryDispatcher) => {
    claiming = repeat(() => dispatcher.claim(), 100);
    try {
      await work();
    } finally {
      await claiming.stop();
    }
  };
  await due.dispatching(settings, claimed, { wake: () => claiming?.wake() });
}

/** Lets the thread for prompt webhooks start, which takes long on a busy machine. */
async function startPromptThread(): Promise<void> {
  await due.insert("early", { pace: "prompt" });
  await eventually(
    async () => due.receiver.to("/early").length,
    (n) => n === 1,
  );
}

beforeEach(async () => {
  await due.pool.query("DELETE FROM webhook");
  due.receiver.received.length = 0;
});

test.each<{ name: string; behaviour: Behaviour }>([
  { name: "silent", behaviour: () => {} },
  { name: "slow", behaviour: (response) => setTimeout(() => response.writeHead(200).end(), 150) },
])("as many $name webhooks as there are places hold up no other wallet's delivery", async ({ name, behaviour }) => {
  for (let n = 0; n < CONCURRENCY; n++) await due.insert(`${name}${n}`, { deliveries: BACKLOG, behaviour });
  await dispatching(async () => {
    await startPromptThread();
    // It is known by now that each of them is slow.
    const begun = 2 * CONCURRENCY;
    await eventually(
      async () => due.receiver.received.length,
      (n) => n >= begun,
    );
    await due.insert("healthy", { pace: "prompt" });
    const before = due.receiver.received.length;
    await eventually(
      async () => due.receiver.to("/healthy").length,
      (n) => n === 1,
    );
    const place = due.receiver.received.findIndex(({ path }) => path === "/healthy") - before;
    expect(place).toBeLessThanOrEqual(CONCURRENCY);
  });
});

test("webhooks that answer soon between silences get half of the places", async () => {
  let held = 0;
  const hang = (response: ServerResponse) => {
    held += 1;
    response.once("close", () => {
      held -= 1;
    });
  };
  // The first attempt of each gets no answer, nor does every second one after it.
  const behaviour: Behaviour = (response, nth) => (nth % 2 === 1 ? hang(response) : void response.end());
  const names = Array.from({ length: 2 * CONCURRENCY }, (_, n) => `moody${n}`);
  for (const name of names) await due.insert(name, { deliveries: 1_000, behaviour, pace: "prompt" });
  await dispatching(async () => {
    const moody = () => names.map((name) => due.receiver.to(`/${name}`).length);
    await eventually(
      async () => moody(),
      (all) => all.every((attempts) => attempts >= 2),
    );
    // Each of them was silent once, while it was taken for prompt.
    let most = 0;
    const begun = due.receiver.received.length;
    await eventually(
      async () => {
        most = Math.max(most, held);
        return due.receiver.received.length;
      },
      (n) => n >= begun + 4 * CONCURRENCY,
    );
    expect(most).toBeLessThanOrEqual(CONCURRENCY / 2);
  });
});

test("wallets without credits leave three quarters of the places free", async () => {
  // The index, as far as it is asked here.
  await due.pool.query("CREATE SCHEMA index; CREATE TABLE index.account (wallet text, free bigint, escrowed bigint)");
  await due.pool.query("INSERT INTO index.account VALUES ('0xpaying', 0, 5), ('0xspent', 0, 0), ('0xearly', 1, 0)");
  try {
    for (let n = 0; n < 3 * CONCURRENCY; n++)
      await due.insert(`free${n}`, { deliveries: BACKLOG, behaviour: () => {} });
    await due.insert("spent", { pace: "prompt" });
    await dispatching(async () => {
      await startPromptThread();
      await eventually(
        async () => due.receiver.received.length,
        (n) => n > CONCURRENCY / 4,
      );
      await due.insert("paying", { deliveries: 2, pace: "prompt" });
      const before = due.receiver.received.length;
      await eventually(
        async () => due.receiver.to("/paying").length,
        (n) => n === 2,
      );
      // Not one of theirs needed to end: the limit of an answer is 200 ms.
      const place = due.receiver.received.findIndex(({ path }) => path === "/paying") - before;
      expect(place).toBeLessThanOrEqual(CONCURRENCY / 2);
      // Even a new webhook, of which nobody knows whether it answers, comes before all of theirs where it pays.
      await due.pool.query("UPDATE index.account SET free = 1 WHERE wallet = '0xspent'");
      await due.insert("fresh");
      await due.pool.query("INSERT INTO index.account VALUES ('0xfresh', 1, 0)");
      const begun = due.receiver.received.length;
      await eventually(
        async () => due.receiver.to("/fresh").length,
        (n) => n === 1,
      );
      expect(due.receiver.received.findIndex(({ path }) => path === "/fresh") - begun).toBeLessThanOrEqual(CONCURRENCY);
    });
  } finally {
    await due.pool.query("DROP SCHEMA index CASCADE");
  }
});

test("a webhook is prompt once it has answered soon, and silent once it has not", async () => {
  await due.insert("good");
  await due.insert("mute", { behaviour: () => {}, pace: "prompt" });
  await due.insert("late", { behaviour: (response) => setTimeout(() => response.end(), 900) });
  const look = async () => {
    const paces = await eventually(
      async () => (await due.pool.query("SELECT id, pace FROM webhook ORDER BY id")).rows,
      (rows) => rows.every(({ pace }) => pace !== "new") && rows.some(({ pace }) => pace === "silent"),
    );
    expect(paces).toEqual([
      { id: "wh_good", pace: "prompt" },
      { id: "wh_late", pace: "slow" },
      { id: "wh_mute", pace: "silent" },
    ]);
  };
  await dispatching(look, 2_000);
});

test("all webhooks with something due are visited, however many there are", async () => {
  const crowd = 2_500;
  await due.pool.query(
    `INSERT INTO webhook (id, wallet, url, events, secret, created_block, created_time, enabled_block, enabled_time)
     SELECT 'wh_' || lpad(n::text, 5, '0'), '0x' || n, '', '{credit.topup}', '', 0, 0, 0, 0 FROM generate_series(1, $1::int) n`,
    [crowd],
  );
  // They wait for their next attempt.
  await due.pool.query(
    `INSERT INTO webhook_delivery (webhook_id, event_id, status, next_attempt_at)
     SELECT id, 'evt_1', 'pending', now() + interval '1 hour' FROM webhook`,
  );
  await due.insert("zzz");
  await dispatching(async () => {
    await eventually(
      async () => due.receiver.to("/zzz").length,
      (n) => n === 1,
    );
  });
});

test("a slow webhook has its turn beside the backlogs of others", async () => {
  // More than it can have attempts while the test runs.
  await due.insert("slow", { deliveries: 1_000, behaviour: () => {} });
  await dispatching(async () => {
    await eventually(
      async () => due.receiver.to("/slow").length,
      (n) => n >= 2,
    );
    for (let n = 0; n < CONCURRENCY; n++) await due.insert(`quick${n}`, { deliveries: 500 });
    const begun = due.receiver.to("/slow").length;
    await eventually(
      async () => due.receiver.to("/slow").length,
      (n) => n >= begun + 2,
    );
    expect(due.receiver.received.length).toBeLessThan(CONCURRENCY * 250);
  });
});
