import { describe, expect, it } from "vitest";
import { MODEL } from "../support/protocol.ts";
import { DAY, KEYS, type World } from "./world.ts";

/** What takes a vote: models and their prices. */
export function catalog(world: World): void {
  describe("governance", () => {
    it("lists a model and changes its price, with the catalog's notice", async () => {
      const listing =
        "--parameters 4B --owned-by acme --tier standard --per-request 8 --per-1k 4 --context-window 32768";
      await world.decide(`models propose-add acme-4b ${listing}`);
      expect((await world.json("models list")).at(-1)).toMatchObject({
        number: 9,
        id: "acme-4b",
        tier: "standard",
        context_window: 32_768,
      });
      await world.decide("models propose-prices acme-4b --per-request 6 --per-1k 3");
      expect((await world.json("models list")).at(-1)).toMatchObject({
        credits_per_request: 8,
        next_prices: { credits_per_request: 6 },
      });
      await world.p.later(DAY);
      expect((await world.json("models list")).at(-1)).toMatchObject({ credits_per_request: 6, next_prices: null });
    });

    it("retires a model: it works until its date and not after; an impossible date is refused at once", async () => {
      const now = await world.p.now();
      const at = (days: number) => new Date((now + days * DAY) * 1000).toISOString();
      await expect(world.operator(`models propose-retire qwen3-8b --at ${at(20)} --yes`, KEYS.holder)).rejects.toThrow(
        /too early/,
      );
      await world.decide(`models propose-retire qwen3-8b --at ${at(40)}`);
      const { retiresAt } = await world.p.read({ ...world.p.catalog, functionName: "modelAt", args: [MODEL] });
      await world.p.rpc.setNextBlockTimestamp({ timestamp: BigInt(retiresAt - 1) });
      expect(await world.locks()).toBe(true);
      await world.p.rpc.setNextBlockTimestamp({ timestamp: BigInt(retiresAt) });
      expect(await world.locks()).toBe(false);
    });
  });
}
