import { describe, expect, it } from "vitest";
import { EVENT_NAMES, type EventName, envelopeSchema } from "../../../api/webhooks/event-schemas.ts";
import { toApiJobId } from "../../../protocol/job-id.ts";
import { everything } from "../../indexer/support/everything.ts";
import type { World } from "./world.ts";

/** Everything that can happen, and what of it a webhook is told. */
export function story(world: World): void {
  describe("a chain on which everything happens", () => {
    it("makes all ten events, each once, each as its schema says", async () => {
      await world.webhooks.webhook(world.client(), world.receiver.url("/all"), EVENT_NAMES);
      const story = await everything(world.stage.world);
      const free = await world.stage.world.read<{ free: number }>("InferenceEscrow", "accountOf", world.client());
      await world.stage.world.send(
        world.stage.world.client,
        world.stage.world.call("InferenceEscrow", "withdraw", free.free - 50, world.client()),
      );
      await world.quiet();
      const received = world.receiver.to("/all");
      expect(new Set(received.map(({ event }) => event.event))).toEqual(new Set(EVENT_NAMES));
      expect(new Set(world.ids("/all")).size).toBe(received.length);
      for (const { event } of received) envelopeSchema(event.event).parse(event);

      // As many as the index has rows for.
      const rows = await world.stage.sql<{ kind: string; count: string }>(
        "SELECT kind, count(*) FROM index.protocol_event GROUP BY kind",
      );
      const of = (kind: string) => Number(rows.find((row) => row.kind === kind)?.count ?? 0);
      const got = (name: EventName) => received.filter(({ event }) => event.event === name).length;
      expect(got("job.submitted")).toBe(of("job.locked"));
      const [{ count: fused = 0 } = {}] = await world.stage.sql<{ count: string }>(
        "SELECT count(*) FROM index.protocol_event WHERE kind = 'job.settled' AND (data->>'fused')::boolean",
      );
      expect(Number(fused)).toBeGreaterThan(0);
      expect(got("job.processing")).toBe(of("job.acknowledged") + Number(fused));
      expect(got("job.completed")).toBe(of("job.settled"));
      expect(got("job.disputed")).toBe(of("job.disputed"));
      expect(got("job.failed") + got("job.timeout")).toBe(of("job.failed") + of("job.refunded"));
      expect(got("worker.registered")).toBe(of("worker.registered"));
      expect(got("worker.slashed")).toBe(of("worker.slashed"));

      const about = (name: EventName, job: `0x${string}`) =>
        received.filter(({ event }) => event.event === name && event.data.job_id === toApiJobId(job));
      expect(about("job.timeout", story.refunded)).toHaveLength(1);
      expect(about("job.failed", story.refunded)).toHaveLength(0);
      expect(about("job.failed", story.failed)[0]?.event.data.reason).toBe("worker_failed");
      expect(about("job.processing", story.reassigned).map(({ event }) => event.data.attempt)).toEqual([1, 3]);
      // The first settled job had no acknowledgement of its own: its settlement is both, and the worker's taking it is told first.
      const [processing] = about("job.processing", story.fused);
      const [completed] = about("job.completed", story.fused);
      expect(processing?.event.data).toMatchObject({
        attempt: 1,
        acknowledge_tx: completed?.event.data.settlement_tx,
        worker_address: completed?.event.data.worker_address,
      });
      const order = await world.webhooks.sql<{ name: string }>(
        `SELECT e.name FROM webhook_delivery d JOIN webhook_event e ON e.id = d.event_id
         WHERE e.id = ANY ($1) ORDER BY d.id`,
        [[processing?.event.id, completed?.event.id]],
      );
      expect(order.map(({ name }) => name)).toEqual(["job.processing", "job.completed"]);
      // What operator and treasury give back is money that comes in, like a deposit.
      const topups = received.filter(({ event }) => event.event === "credit.topup").map(({ event }) => event.data);
      expect(new Set(topups.map(({ source }) => source))).toEqual(new Set(["deposit", "compensation"]));
      expect(topups.filter(({ source }) => source === "deposit")).toHaveLength(of("account.deposited"));
    });
  });

  describe("a new webhook", () => {
    it("gets nothing of what was before it", async () => {
      await world.webhooks.webhook(world.client(), world.receiver.url("/new"), ["credit.topup"]);
      await world.quiet();
      expect(world.ids("/new")).toEqual([]);
      await world.stage.world.deposit(100);
      await world.quiet();
      expect(world.ids("/new")).toHaveLength(1);
    });
  });
}
