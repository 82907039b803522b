import { describe, expect, it } from "vitest";
import { enableWebhook, replayDeliveries, replayDelivery } from "../../../api/webhooks/index.ts";
import { eventually } from "../../support/api-client.ts";
import { answer } from "../../support/receiver.ts";
import type { World } from "./world.ts";

/** Five attempts and their times; what becomes of the webhook; replay. */
export function attempts(world: World): void {
  describe("a receiver that answers 500 four times and then 200", () => {
    it("gets five attempts after 30 s, 5 min, 30 min and 2 h, with the same bytes and a fresh signature", async () => {
      const path = "/recovers";
      const webhook = await world.client.webhook(
        world.receiver.url(path, (response, nth) => void response.writeHead(nth < 5 ? 500 : 200).end(`attempt ${nth}`)),
        ["credit.topup"],
      );
      await world.client.deposit(100);
      for (const [index, wanted] of [30, 300, 1_800, 7_200].entries()) {
        const delay = await world.delayAfter(webhook, index + 1);
        // Counted from when the result was written: a little after the attempt, and long after it on a machine that is busy.
        expect(delay).toBeGreaterThan(wanted - 1);
        expect(delay).toBeLessThan(wanted + 25);
        await world.passTime(webhook);
      }
      const delivery = await world.only(webhook, ({ status }) => status === "delivered");
      const { attempt_log, body } = await world.detail(delivery);
      expect(attempt_log.map(({ number, status, response, error }) => [number, status, response, error])).toEqual([
        [1, 500, "attempt 1", "answered 500"],
        [2, 500, "attempt 2", "answered 500"],
        [3, 500, "attempt 3", "answered 500"],
        [4, 500, "attempt 4", "answered 500"],
        [5, 200, "attempt 5", null],
      ]);
      expect(delivery).toMatchObject({ attempts: 5, next_attempt_at: null, event: "credit.topup", last_status: 200 });
      const received = world.receiver.to(path);
      expect(new Set(received.map((one) => one.body.toString()))).toEqual(new Set([body]));
      expect(await world.statusOf(webhook)).toBe("active");
    });
  });

  describe("a receiver that never answers as it should", () => {
    it("gets five attempts; then its webhook is failed and gets nothing more, until it is enabled again", async () => {
      const path = "/broken";
      const webhook = await world.client.webhook(world.receiver.url(path, answer(503, "out of order")), [
        "credit.topup",
      ]);
      await world.client.deposit(100);
      for (let attempt = 1; attempt <= 4; attempt += 1) {
        await world.delayAfter(webhook, attempt);
        await world.passTime(webhook);
      }
      const failed = await world.only(webhook, ({ status }) => status === "failed");
      expect(failed).toMatchObject({
        attempts: 5,
        next_attempt_at: null,
        last_status: 503,
        last_error: "answered 503",
      });
      expect(await world.statusOf(webhook)).toBe("failed");
      expect(world.receiver.to(path)).toHaveLength(5);

      // What happens now is kept for it, and not sent.
      await world.client.deposit(100);
      const [skipped] = await eventually(
        () => world.log(webhook, { status: "skipped" }),
        (all) => all.length === 1,
      );
      expect(skipped).toMatchObject({ attempts: 0, next_attempt_at: null, last_status: null });
      await expect(replayDelivery(world.context, world.wallet, failed.id)).rejects.toMatchObject({ code: "conflict" });

      world.receiver.behave(path, answer(204));
      expect(await enableWebhook(world.context, world.wallet, webhook.id)).toMatchObject({
        id: webhook.id,
        status: "active",
      });
      await world.client.deposit(100);
      await eventually(
        () => world.log(webhook, { status: "delivered" }),
        (all) => all.length === 1,
      );
      expect(world.receiver.to(path)).toHaveLength(6);

      // Replay: one delivery, then everything that never arrived since the beginning.
      await replayDelivery(world.context, world.wallet, failed.id);
      await eventually(
        () => world.detail(failed),
        ({ status }) => status === "delivered",
      );
      const { replayed } = await replayDeliveries(world.context, world.wallet, webhook.id, {
        from: "2000-01-01T00:00:00Z",
        statuses: ["failed", "skipped"],
      });
      expect(replayed).toBe(1);
      await eventually(
        () => world.log(webhook),
        (all) => all.every(({ status }) => status === "delivered"),
      );
      expect((await world.detail(failed)).attempt_log.map(({ number, status }) => [number, status])).toEqual([
        ...[1, 2, 3, 4, 5].map((number) => [number, 503]),
        [6, 204],
      ]);
      // Eight requests, three events: a replay has the id of its event.
      const ids = world.receiver.to(path).map(({ event }) => event.id);
      expect([ids.length, new Set(ids).size]).toEqual([8, 3]);
    });
  });
}
