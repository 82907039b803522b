/** Which deliveries a process takes, and for how long no other one does. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { DueDeliveries } from "../support/due-deliveries.ts";

let due: DueDeliveries;
beforeAll(async () => {
  due = await DueDeliveries.open();
});
afterAll(() => due?.close());

test("a running attempt counts as lost 10 s after the longest that it takes", async () => {
  const { pool } = due;
  const now = async () => (await pool.query<{ now: Date }>("SELECT now()")).rows[0]?.now as Date;
  await due.insert("silent", { behaviour: () => {} });
  const settings = { concurrency: 4, perWallet: 4, timeoutMs: 60_000, delaysMs: [1, 1, 1, 1] };
  await due.dispatching(settings, async (dispatcher) => {
    const begun = await now();
    await dispatcher.claim();
    const claimed = await now();
    const { rows } = await pool.query(
      "SELECT attempt, next_attempt_at - interval '130 seconds' AS at FROM webhook_delivery",
    );
    expect(rows).toEqual([{ attempt: 1, at: expect.any(Date) }]);
    expect(rows[0].at >= begun && rows[0].at <= claimed).toBe(true);
  });
});
