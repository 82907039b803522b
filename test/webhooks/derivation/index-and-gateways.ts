import { describe, expect, it } from "vitest";
import { EVENT_NAMES } from "../../../api/webhooks/event-schemas.ts";
import { Webhooks } from "../support/gateway.ts";
import type { World } from "./world.ts";

/** An index that begins anew, and gateways beside each other: no event twice. */
export function indexAndGateways(world: World): void {
  describe("an index built anew from nothing", () => {
    it("delivers no old event again, and every new one", async () => {
      await world.webhooks.webhook(world.client(), world.receiver.url("/rebuilt"), EVENT_NAMES);
      await world.stage.world.deposit(100);
      await world.quiet();
      const received = world.receiver.received.length;
      const rows = await world.webhooks.sql("SELECT count(*) FROM webhook_delivery");
      await world.indexer.stop();
      await world.stage.dropIndex();
      await world.stage.world.deposit(100); // while there is no index
      world.indexer = await world.stage.startIndexer();
      await world.stage.caughtUp();
      await world.quiet();
      const fresh = world.receiver.received.slice(received);
      // One new deposit, to each webhook that names it and still exists.
      expect(new Set(fresh.map(({ event }) => event.id)).size).toBe(1);
      expect(new Set(fresh.map(({ path }) => path)).size).toBe(fresh.length);
      const after = await world.webhooks.sql("SELECT count(*) FROM webhook_delivery");
      expect(Number(after[0]?.["count"])).toBe(Number(rows[0]?.["count"]) + fresh.length);
    });
  });

  describe("several gateways at once", () => {
    it("make each delivery once and send it once", async () => {
      const others = [await Webhooks.start(world.stage), await Webhooks.start(world.stage)];
      try {
        await world.webhooks.webhook(world.client(), world.receiver.url("/shared"), ["credit.topup"]);
        const protocol = world.stage.world;
        const { client } = protocol;
        const { InferenceEscrow } = protocol.deployment.contracts;
        await protocol.send(client, protocol.call("Stablecoin", "mint", world.client(), 40_000_000n));
        await protocol.send(client, protocol.call("Stablecoin", "approve", InferenceEscrow, 40_000_000n));
        for (let i = 0; i < 40; i += 1)
          await protocol.send(client, protocol.call("InferenceEscrow", "deposit", 100, 1));
        await world.quiet();
        expect(world.ids("/shared")).toHaveLength(40);
        expect(new Set(world.ids("/shared")).size).toBe(40);
        const attempts = await world.webhooks.sql<{ count: number }>(
          `SELECT count(*) FROM webhook_attempt a JOIN webhook_delivery d ON d.id = a.delivery_id JOIN webhook w ON w.id = d.webhook_id
           WHERE w.url LIKE '%/shared'`,
        );
        expect(attempts[0]?.count).toBe(40);
      } finally {
        for (const other of others) await other.stop();
      }
    });
  });
}
