/** A wallet's keys: how many rows they leave, and when one was used, which is noted once a minute while no request waits for it. */
import { afterAll, describe, expect, it } from "vitest";
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

it("notes a key's first use, and the next a minute later, for all gateways", async () => {
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

describe("keys of one wallet", () => {
  const one = `0x${"22".repeat(20)}`;
  const rows = async () =>
    Number((await pool.query("SELECT count(*) FROM api_key WHERE wallet = $1", [one])).rows[0].count);

  it("made at once, and one after the other, leave one row and one key that works", async () => {
    const keys = new Keys(pool);
    const made = await Promise.all(Array.from({ length: 20 }, () => keys.regenerate(one)));
    made.push(await keys.regenerate(one));
    const owners = await Promise.all(made.map((key) => keys.owner(key)));
    expect(owners.filter((owner) => owner !== null)).toHaveLength(1);
    expect(owners.at(-1)?.wallet).toBe(one);
    expect(await rows()).toBe(1);
  });

  it("stay suspended, whether the next one follows or one is revoked between", async () => {
    const keys = new Keys(pool);
    await keys.regenerate(one);
    await keys.setSuspended(one, true);
    await keys.regenerate(one);
    expect((await keys.current(one))?.suspended).toBe(true);
    await keys.revoke(one);
    await keys.regenerate(one);
    expect((await keys.current(one))?.suspended).toBe(true);
    expect(await rows()).toBe(1);
  });
});
