/** Wallets that never have credits leave rows for ever: how much space those of a day take. */
import { afterAll, expect, it } from "vitest";
import { ownDatabase } from "../../support/database.ts";

const { pool } = await ownDatabase();
afterAll(() => pool.end());

/** As many as sign in at one gateway (web/server/newcomers.ts). */
const A_DAY = 24 * 3_000;

it("a day's keys and settings take less than 60 MB", async () => {
  const wallets = `SELECT '0x' || left(encode(sha256(n::text::bytea), 'hex'), 40) AS wallet, n FROM generate_series(1, ${A_DAY}) n`;
  await pool.query(
    `INSERT INTO api_key (key_hash, wallet, hint) SELECT sha256(('key ' || n)::bytea), wallet, 'abcd' FROM (${wallets}) AS fresh`,
  );
  await pool.query(
    `INSERT INTO wallet_setting (wallet, spend_alert_day, spend_alert_month) SELECT wallet, 100, 1000 FROM (${wallets}) AS fresh`,
  );
  const { rows } = await pool.query<{ bytes: string }>(
    "SELECT pg_total_relation_size('api_key') + pg_total_relation_size('wallet_setting') AS bytes",
  );
  expect(Number(rows[0]?.bytes)).toBeLessThan(60_000_000);
});
