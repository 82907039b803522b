/** The threads that make attempts: beside the event loop, and replaced when they die. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Worker } from "node:worker_threads";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { AttemptThread } from "../../webhooks/attempt-thread.ts";
import { eventually } from "../support/api-client.ts";
import { costlyServer, makeCertificate } from "../support/certificate.ts";
import { DueDeliveries } from "../support/due-deliveries.ts";

const SETTINGS = { concurrency: 64, perWallet: 8, timeoutMs: 10_000, delaysMs: [3_600_000, 1, 1, 1] };

let due: DueDeliveries;
beforeAll(async () => {
  due = await DueDeliveries.open();
});
afterAll(() => due?.close());
beforeEach(async () => {
  await due.pool.query("DELETE FROM webhook");
  due.receiver.received.length = 0;
});

/** A receiver with costly certificates: its URL, and how often the event loop of this thread turned while each attempt checked them. */
async function costlyReceiver(): Promise<{ url: string; turns: number[] }> {
  const turns: number[] = [];
  let now = 0;
  let sentAt = 0;
  let turning = true;
  const turn = () => {
    now += 1;
    if (turning) setImmediate(turn);
  };
  const server = costlyServer(
    () => {
      sentAt = now;
    },
    () => void turns.push(now - sentAt),
  );
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    turning = false;
    server.close();
  });
  turn();
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`, turns };
}

/** The threads that are started from now on. */
function startedThreads(): Worker[] {
  const threads: Worker[] = [];
  const note = (message: unknown) => void threads.push((message as { worker: Worker }).worker);
  subscribe("worker_threads", note);
  onTestFinished(() => void unsubscribe("worker_threads", note));
  return threads;
}

const outcomes = async () =>
  (
    await due.pool.query<{ id: string; status: string; attempt: number; pace: string; error: string | null }>(
      `SELECT w.id, d.status, d.attempt, w.pace, a.error FROM webhook w JOIN webhook_delivery d ON d.webhook_id = w.id
       LEFT JOIN webhook_attempt a ON a.delivery_id = d.id ORDER BY w.id, a.number`,
    )
  ).rows;

test("the event loop turns while the certificates of a receiver are checked", async () => {
  const { url, turns } = await costlyReceiver();
  await due.insert("costly", { url, pace: "prompt" });
  await due.dispatching(SETTINGS, async (dispatcher) => {
    await dispatcher.claim();
    const [attempt] = await eventually(outcomes, ([row]) => row?.error != null);
    // A receiver without a connection is not prompt any more.
    expect(attempt).toMatchObject({ status: "pending", pace: "silent" });
    expect(attempt?.error).toMatch(/ssl|tls/i);
  });
  // On the event loop there would be one or two.
  expect(turns).toHaveLength(1);
  expect(turns[0]).toBeGreaterThan(50);
});

test("a wallet whose prompt webhook fails again soon is away from the prompt thread for longer", async () => {
  const threads = startedThreads();
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  await due.dispatching(SETTINGS, async (dispatcher) => {
    /** Whether the failing attempt of a prompt webhook is made in the prompt thread, the first that started. */
    const isPrompt = async (): Promise<boolean> => {
      const posted = threads[0] && vi.spyOn(threads[0], "postMessage");
      await due.pool.query("DELETE FROM webhook");
      await due.insert("again", { url: "https://127.0.0.1:1/", pace: "prompt" });
      await dispatcher.claim();
      await eventually(outcomes, ([row]) => row?.error != null);
      const wasPosted = posted === undefined || posted.mock.calls.length > 0;
      posted?.mockRestore();
      return wasPosted;
    };
    const later = (minutes: number) => void vi.setSystemTime(Date.now() + minutes * 60_000);
    expect(await isPrompt()).toBe(true);
    later(4);
    expect(await isPrompt()).toBe(false);
    later(2);
    expect(await isPrompt()).toBe(true);
    later(6);
    expect(await isPrompt()).toBe(false);
    later(5);
    expect(await isPrompt()).toBe(true);
  });
});

test("a new webhook with credits does not wait for costly receivers of wallets without", async () => {
  // The index, as far as it is asked here.
  await due.pool.query("CREATE SCHEMA index; CREATE TABLE index.account (wallet text, free bigint, escrowed bigint)");
  onTestFinished(async () => void (await due.pool.query("DROP SCHEMA index CASCADE")));
  await due.pool.query("INSERT INTO index.account VALUES ('0xfresh', 1, 0)");
  const { url } = await costlyReceiver();
  const hostile = 24;
  for (let n = 0; n < hostile; n++) await due.insert(`free${n}`, { url });
  // Its certificate is no authority's in the thread: the attempt ends when TLS reads it.
  const server = createServer(makeCertificate());
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  const errors = async (name: string) =>
    (await outcomes()).flatMap(({ id, error }) => (id.startsWith(`wh_${name}`) && error !== null ? error : []));
  // Enough for all of them at once.
  await due.dispatching({ ...SETTINGS, concurrency: 4 * hostile }, async (dispatcher) => {
    await dispatcher.claim();
    await eventually(
      () => errors("free"),
      (all) => all.length > 0,
    );
    await due.insert("fresh", { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/` });
    await dispatcher.claim();
    expect(
      await eventually(
        () => errors("fresh"),
        (all) => all.length > 0,
      ),
    ).toEqual([expect.stringContaining("self-signed certificate")]);
    expect((await errors("free")).length).toBeLessThan(hostile);
  });
});

test("an attempt whose turn does not come is as if it had not been made", async () => {
  const attempts = vi.spyOn(AttemptThread.prototype, "attempt");
  onTestFinished(() => attempts.mockRestore());
  const ended = { startedAt: new Date(), durationMs: 1, heldMs: 1, status: null, signature: null };
  const told = { responseHeaders: null, response: null, error: "the attempt's turn did not come in time" };
  for (let n = 0; n < 5; n++) attempts.mockResolvedValueOnce({ result: "delayed", ...ended, ...told });
  await due.insert("hook", { behaviour: (response) => void response.writeHead(500).end() });
  await due.dispatching(SETTINGS, async (dispatcher) => {
    const rows = await eventually(
      async () => {
        await dispatcher.claim();
        return await outcomes();
      },
      ([row]) => row?.error != null,
    );
    expect(attempts).toHaveBeenCalledTimes(6);
    expect(rows).toEqual([{ id: "wh_hook", status: "pending", attempt: 1, pace: "prompt", error: "answered 500" }]);
    // The next attempt is the second one, after an hour.
    const { rows: next } = await due.pool.query(
      "SELECT next_attempt_at > now() + interval '30 minutes' AS is_later FROM webhook_delivery",
    );
    expect(next).toEqual([{ is_later: true }]);
  });
});

test("a delivery whose thread dies is attempted again when its lease is over", async () => {
  const threads = startedThreads();
  await due.insert("hook", { behaviour: (response, nth) => (nth > 1 ? void response.end() : undefined) });
  const arrived = (count: number) =>
    eventually(
      async () => due.receiver.received.length,
      (n) => n === count,
    );
  await due.dispatching(SETTINGS, async (dispatcher) => {
    await dispatcher.claim();
    await arrived(1);
    expect(threads).toHaveLength(1);
    await threads[0]?.terminate();
    await due.pool.query("UPDATE webhook_delivery SET next_attempt_at = now()");
    await eventually(
      async () => {
        await dispatcher.claim();
        return due.receiver.received.length;
      },
      (n) => n === 2,
    );
    const [lost, second] = await eventually(outcomes, (rows) => rows.some(({ status }) => status === "delivered"));
    expect(lost).toMatchObject({ attempt: 2, error: expect.stringContaining("its result is unknown") });
    expect(second).toMatchObject({ status: "delivered", error: null });
  });
});

test("an attempt whose thread says nothing times out, and another thread follows", async () => {
  const threads = startedThreads();
  const thread = new AttemptThread({ allowLocal: true }, 3);
  onTestFinished(() => thread.stop());
  const arrived = Promise.withResolvers<void>();
  const urls = {
    quick: due.receiver.url("/quick"),
    silent: due.receiver.url("/silent", () => arrived.resolve()),
  };
  const send = (url: string) =>
    thread.attempt(
      { url, secret: "s".repeat(16), body: "{}", timeoutMs: 60_000, owner: "0x" },
      new AbortController().signal,
    );
  expect(await send(urls.quick)).toMatchObject({ result: "delivered" });
  // The thread's own clock goes on: to this one, it is as if the thread were blocked.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const silent = send(urls.silent);
  await arrived.promise;
  vi.advanceTimersByTime(125_000);
  expect(await silent).toMatchObject({ result: "timeout", error: "no answer within 60 seconds", signature: null });
  expect(await send(urls.quick)).toMatchObject({ result: "delivered" });
  expect(threads).toHaveLength(2);
});

test("the stop cuts attempts, ends their threads, and leaves the deliveries due", async () => {
  const threads = startedThreads();
  const gone = Promise.withResolvers<void>();
  await due.insert("hook", { behaviour: (response) => void response.on("close", () => gone.resolve()) });
  await due.dispatching(SETTINGS, async (dispatcher) => {
    await dispatcher.claim();
    await eventually(
      async () => due.receiver.received.length,
      (n) => n === 1,
    );
    await dispatcher.stop(0);
    await gone.promise;
  });
  expect(threads.map(({ threadId }) => threadId)).toEqual([-1]);
  expect(await outcomes()).toMatchObject([{ status: "pending", attempt: 1, error: null }]);
});
