import { describe, expect, it } from "vitest";
import { eventually } from "../../support/api-client.ts";
import { Webhooks } from "../support/gateway.ts";
import type { World } from "./world.ts";

/** Blocks that are replaced. */
export function reorganisations(world: World): void {
  describe("a reorganisation", () => {
    it("that mines the same transactions elsewhere loses no event and makes none twice", async () => {
      await world.webhooks.webhook(world.client(), world.receiver.url("/moved"), [
        "credit.topup",
        "job.submitted",
        "job.completed",
      ]);
      for (let i = 0; i < 4; i += 1) {
        await world.stage.world.deposit(100);
        await world.stage.world.settledJob();
      }
      await world.stage.caughtUp();
      // Twenty blocks with a transaction each: the last twelve become one block that holds all of them, and eleven empty ones.
      const raw = await world.stage.lastTransactions(12);
      await world.stage.chain.rpc("anvil_reorg", [12, raw.map((transaction) => [transaction, 10])]);
      await world.quiet();
      await world.stage.world.deposit(100);
      await world.quiet();
      expect(world.receiver.names("/moved").toSorted()).toEqual([
        ...Array(5).fill("credit.topup"),
        ...Array(4).fill("job.completed"),
        ...Array(4).fill("job.submitted"),
      ]);
      expect(new Set(world.ids("/moved")).size).toBe(13);
    });

    it("that drops a transaction, which is mined again later, tells of it once", async () => {
      await world.webhooks.webhook(world.client(), world.receiver.url("/dropped"), ["credit.topup"]);
      await world.stage.world.deposit(100);
      const [deposit] = (await world.stage.lastTransactions(1)) as [`0x${string}`];
      await world.stage.chain.rpc("anvil_reorg", [1, []]);
      await world.quiet();
      const before = world.ids("/dropped");
      expect(before.length).toBeLessThanOrEqual(1); // sent already, or dropped before anyone saw it
      await world.stage.mineAgain([deposit]);
      await world.quiet();
      expect(world.ids("/dropped")).toHaveLength(1);
      if (before.length === 1) expect(world.ids("/dropped")).toEqual(before);
    });

    it("of a chain with confirmations is over before anyone is told", async () => {
      await world.webhooks.stop();
      world.webhooks = await Webhooks.start(world.stage, { confirmations: 3 });
      await world.webhooks.webhook(world.client(), world.receiver.url("/careful"), ["credit.topup"]);
      await world.stage.world.deposit(100);
      await world.stage.chain.rpc("anvil_mine", ["0x2"]);
      await world.stage.caughtUp();
      await world.sent();
      expect(world.ids("/careful")).toEqual([]);
      const deposit = await world.stage.lastTransactions(3);
      await world.stage.chain.rpc("anvil_reorg", [3, []]);
      await world.stage.chain.rpc("anvil_mine", ["0x4"]);
      await world.stage.caughtUp();
      await world.sent();
      expect(world.ids("/careful")).toEqual([]);
      // Mined again, and this time for good.
      await world.stage.mineAgain(deposit);
      await world.stage.chain.rpc("anvil_mine", ["0x3"]);
      await eventually(
        async () => world.ids("/careful"),
        (all) => all.length === 1,
      );
      await world.webhooks.stop();
      world.webhooks = await Webhooks.start(world.stage);
    });
  });
}
