/** What has had its time is erased, also while something else cannot be. */
import { pino } from "pino";
import { expect, it } from "vitest";
import { startHousekeeping } from "../../../../api/db/upkeep.ts";

it("goes on after one store fails, and names that store", async () => {
  const erased: string[] = [];
  const lines: string[] = [];
  const does = (what: string) => async () => void erased.push(what);
  const held = Promise.withResolvers<void>();
  const stores = {
    jobs: { eraseExpiredOutputs: () => Promise.reject(new Error("disk full")), deleteEnded: does("rows") },
    idempotency: { prune: does("keys") },
    disputes: { prune: does("requests") },
    incidents: { prune: does("incidents") },
  };
  const others = { deliveries: does("deliveries"), secrets: () => held.promise.then(does("secrets")) };
  const logger = pino({ level: "warn" }, { write: (line) => void lines.push(JSON.parse(line).msg) });
  const stop = startHousekeeping(stores as never, 24, others, logger);
  await expect.poll(() => erased).toEqual(["rows", "keys", "requests", "incidents", "deliveries"]);
  const stopped = stop();
  held.resolve();
  await stopped;
  expect(erased.at(-1)).toBe("secrets");
  expect(lines).toEqual(["answers whose time is over could not be erased; the next minute tries again"]);
});
