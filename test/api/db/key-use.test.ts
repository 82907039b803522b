/** When a key was used, as its wallet sees it: noted once a minute, and no request waits for it. */
import { afterAll, expect, it } from "vitest";
import { Keys } from "../../../api/account/keys.ts";
import { ownDatabase } from "../../support/database.ts";

const wallet = `0x${"11".repeat(20)}`;

const { pool } = await ownDatabase();
afterAll(() => pool.end());

/** When the wallet's key was used, and the version of its row. */
async function noted(): Promise<{ at: Date | null; version: string }> {
  const { rows } = await pool.query(
    "SELECT last_used_at AS at, xmin::text AS version FROM api_key WHERE revoked_at IS NULL",
  );
  return rows[0];
}

it("notes the first use of a key, and the next one a minute later, for all gateways together", async () => {
  const gateways = [new Keys(pool), new Keys(pool)];
  const [keys] = gateways as [Keys];
  const key = await keys.regenerate(wallet);
  expect((await keys.current(wallet))?.lastUsedAt).toBeNull();
  const use = () => Promise.all(gateways.flatMap((gateway) => Array.from({ length: 20 }, () => gateway.owner(key))));
  await use();
  await expect.poll(async () => (await keys.current(wallet))?.lastUsedAt).toBeInstanceOf(Date);

  const { version } = await noted();
  await use();
  await use();
  expect((await noted()).version).toBe(version);

  await pool.query("UPDATE api_key SET last_used_at = now() - interval '61 seconds'");
  const before = (await noted()).at?.getTime() ?? 0;
  await use();
  await expect.poll(async () => (await noted()).at?.getTime()).toBeGreaterThan(before + 60_000);
});

it("begins anew with a new key", async () => {
  const keys = new Keys(pool);
  await keys.regenerate(wallet);
  expect((await keys.current(wallet))?.lastUsedAt).toBeNull();
});
