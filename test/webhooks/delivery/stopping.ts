import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { eventually } from "../../support/api-client.ts";
import { answer } from "../../support/receiver.ts";
import type { World } from "./world.ts";

/** A gateway that ends while it delivers. */
export function stopping(world: World): void {
  describe("a gateway that is stopped", () => {
    it("waits for the answers it has asked for, and leaves what is due to the next one", async () => {
      const asked = new Promise<ServerResponse>((resolve) => world.receiver.behave("/stopped", resolve));
      const webhook = await world.client.webhook(world.receiver.url("/stopped"), ["credit.topup"]);
      await world.client.deposit(100);
      const response = await asked;
      const stopped = world.stack.kill("api", "SIGTERM");
      // The answer comes to a gateway that was told to stop.
      await sleep(500);
      response.end("in the end");
      await stopped;
      world.receiver.behave("/stopped", answer(200));
      const delivery = await world.only(webhook, ({ status }) => status === "delivered");
      expect((await world.detail(delivery)).attempt_log.map(({ response }) => response)).toEqual(["in the end"]);
      await world.client.deposit(100);
      await world.stack.restart("api");
      await eventually(
        () => world.log(webhook, { status: "delivered" }),
        (all) => all.length === 2,
      );
      expect(world.receiver.to("/stopped")).toHaveLength(2);
    });
  });
}
