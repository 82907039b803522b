import { describe, expect, it } from "vitest";
import { setLowCreditThreshold } from "../../../api/webhooks/index.ts";
import { chat, eventually } from "../../support/api-client.ts";
import { Client } from "../../support/client.ts";
import type { Received } from "../../support/receiver.ts";
import { contextOf } from "../support/context.ts";
import type { World } from "./world.ts";

/** Credits that come and go. */
export function credits(world: World): void {
  describe("credits", () => {
    it("that are added are told of", async () => {
      await world.client.webhook(world.receiver.url("/topup"), ["credit.topup"]);
      const transaction = await world.client.deposit(100);
      const [{ event }] = (await world.got("/topup", 1)) as [Received];
      expect(event.data).toEqual({
        credits_added: 100,
        usdg_value: 1,
        source: "deposit",
        related_job_id: null,
        topup_tx: transaction,
        block_number: expect.any(Number),
        credits_remaining: 1_092,
      });
    });

    it("that fall below the threshold are told of once, at the crossing", async () => {
      const low = await Client.create(world.stack, world.pool, 1_000);
      await low.deposit(300);
      await low.webhook(world.receiver.url("/low"), ["credit.low"]);
      await low.withdraw(200); // 100 left: not below
      await low.withdraw(1); // 99: below
      await low.withdraw(1); // still below
      await low.deposit(100);
      await low.withdraw(100); // below again
      const events = (await world.got("/low", 2)).map(({ event }) => event.data);
      // Two that are derived together are sent at once, and may overtake each other.
      expect(events.toSorted((a, b) => b.credits_remaining - a.credits_remaining)).toEqual([
        { credits_remaining: 99, usdg_value: 0.99, threshold: 100 },
        { credits_remaining: 98, usdg_value: 0.98, threshold: 100 },
      ]);

      // The wallet's own threshold holds for what comes after it.
      await setLowCreditThreshold(contextOf(world.stack, world.pool), low.account.address, 50);
      await low.deposit(100);
      await low.withdraw(140); // 58: between the old threshold and the new one
      await low.withdraw(10); // 48
      await low.deposit(100); // told of by nobody, but when it is there, everything before is
      expect((await world.got("/low", 3)).slice(2).map(({ event }) => event.data)).toEqual([
        { credits_remaining: 48, usdg_value: 0.48, threshold: 50 },
      ]);
    });

    it("in escrow count: a lock is no loss", async () => {
      const low = await Client.create(world.stack, world.pool, 200);
      await low.deposit(102);
      await low.webhook(world.receiver.url("/escrow"), ["credit.low", "job.submitted", "job.completed"]);
      // The worker may rest from the failures of the tests before: a refusal locks nothing and is asked again.
      const ask = () => low.api.post("/v1/chat/completions", chat("qwen3-8b", "Hello"));
      await eventually(ask, ({ status }) => status === 200, 60_000);
      const received = await world.got("/escrow", 3);
      expect(received.map(({ event }) => event.event).toSorted()).toEqual([
        "credit.low",
        "job.completed",
        "job.submitted",
      ]);
      const submitted = received.find(({ event }) => event.event === "job.submitted");
      const fell = received.find(({ event }) => event.event === "credit.low");
      expect(submitted?.event.data.credits_remaining).toBe(94);
      // The settlement, not the lock before it, crossed the threshold: it is one row of the index and two events.
      expect((fell?.event.created_at as string) >= (submitted?.event.created_at as string)).toBe(true);
      expect(new Set(received.map(({ event }) => event.id)).size).toBe(3);
    });
  });
}
