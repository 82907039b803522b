import { describe, expect, it } from "vitest";
import {
  deliveriesQuerySchema,
  enableWebhook,
  getDelivery,
  listDeliveries,
  replayDelivery,
} from "../../../api/webhooks/index.ts";
import { eventually } from "../../support/api-client.ts";
import { answer } from "../../support/receiver.ts";
import type { World } from "./world.ts";

/** Who can read the log, and how long it is kept. */
export function log(world: World): void {
  describe("the log", () => {
    it("comes in pages, newest first, and only to its wallet", async () => {
      const webhook = await world.client.webhook(world.receiver.url("/pages"), ["credit.topup"]);
      for (let i = 0; i < 5; i += 1) await world.client.deposit(100);
      const all = await eventually(
        () => world.log(webhook),
        (rows) => rows.length === 5,
      );
      const query = (more: object) => deliveriesQuerySchema.parse({ limit: 2, ...more });
      const first = await listDeliveries(world.context, world.wallet, webhook.id, query({}));
      const second = await listDeliveries(
        world.context,
        world.wallet,
        webhook.id,
        query({ before: first.data[1]?.id }),
      );
      const third = await listDeliveries(
        world.context,
        world.wallet,
        webhook.id,
        query({ before: second.data[1]?.id }),
      );
      expect([first, second, third].map(({ has_more }) => has_more)).toEqual([true, true, false]);
      expect([...first.data, ...second.data, ...third.data].map(({ id }) => id)).toEqual(all.map(({ id }) => id));
      const stranger = "0x00000000000000000000000000000000000000aa";
      const unknown = { code: "webhook_not_found" };
      await expect(listDeliveries(world.context, stranger, webhook.id, query({}))).rejects.toMatchObject(unknown);
      await expect(getDelivery(world.context, stranger, all[0]?.id as string)).rejects.toMatchObject(unknown);
      await expect(replayDelivery(world.context, stranger, all[0]?.id as string)).rejects.toMatchObject(unknown);
      await expect(enableWebhook(world.context, stranger, webhook.id)).rejects.toMatchObject(unknown);
      await expect(getDelivery(world.context, world.wallet, "dlv_x")).rejects.toMatchObject(unknown);
    });
  });

  describe("a deleted webhook", () => {
    it("gets nothing more, and its log is gone", async () => {
      const webhook = await world.client.webhook(world.receiver.url("/deleted", answer(500)), ["credit.topup"]);
      await world.client.deposit(100);
      await world.delayAfter(webhook, 1);
      expect((await world.client.api.request("DELETE", `/v1/webhooks/${webhook.id}`)).status).toBe(200);
      await world.client.deposit(100);
      await expect(world.log(webhook)).rejects.toMatchObject({ code: "webhook_not_found" });
      const { rows } = await world.pool.query("SELECT count(*) FROM webhook_delivery WHERE webhook_id = $1", [
        webhook.id,
      ]);
      expect(rows[0].count).toBe(0);
      expect(world.receiver.to("/deleted")).toHaveLength(1);
    });
  });
}
