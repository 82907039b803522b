import { describe, expect, it } from "vitest";
import { Client } from "../../support/client.ts";
import type { World } from "./world.ts";

/** Who gets which events, and what the operator sees of it. */
export function audience(world: World): void {
  describe("a webhook", () => {
    it("gets only what it names, only of its wallet, and nothing from before its creation", async () => {
      const other = await Client.create(world.stack, world.pool, 1_000);
      await other.deposit(200);
      await other.webhook(world.receiver.url("/other"), ["credit.topup"]);
      await world.client.withdraw(10);
      await world.client.deposit(100);
      await other.deposit(100);
      await other.withdraw(10);
      const received = await world.got("/other", 1);
      expect(received.map(({ event }) => event.data.credits_remaining)).toEqual([300]);
    });
  });

  describe("/metrics", () => {
    it("counts attempts and shows backlog and lag", async () => {
      const shown = async () => {
        const text = await (await fetch(`${world.stack.info.base_url}/metrics`)).text();
        const value = (name: string) =>
          Number(new RegExp(`^${name.replace(/[{}"]/g, "\\$&")} (\\S+)$`, "m").exec(text)?.[1]);
        return {
          // Of those that came: a request is counted once its answer is read.
          uncounted: world.receiver.received.length - value('gateway_webhook_attempts_total{result="delivered"}'),
          due: value('gateway_webhook_backlog{state="due"}'),
          lag: value("gateway_webhook_lag_blocks"),
        };
      };
      await expect.poll(shown, { timeout: 60_000 }).toEqual({ uncounted: 0, due: 0, lag: 0 });
    });
  });
}
