/** A gateway's machine that vanishes in the middle of a transaction: the locks of its rows must be free soon, as its signer's is. */
import { afterAll, expect, it } from "vitest";
import { ownDatabase } from "../../support/database.ts";

const { pool } = await ownDatabase();
afterAll(() => pool.end());

/** Seconds after which PostgreSQL ends a session of the pool whose other end says nothing any more, in a transaction. */
async function longestSilence(): Promise<number> {
  const { rows } = await pool.query(
    "SELECT name, setting::float8 AS value FROM pg_settings WHERE name ~ '^(idle_in_transaction_session_timeout|tcp_.*)$'",
  );
  const of = Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  const keepalive = of.tcp_keepalives_idle + of.tcp_keepalives_interval * of.tcp_keepalives_count;
  const idle = of.idle_in_transaction_session_timeout / 1_000;
  return Math.min(idle || Number.POSITIVE_INFINITY, keepalive || Number.POSITIVE_INFINITY);
}

it("within a minute, so that another gateway derives events and writes results", async () => {
  expect(await longestSilence()).toBeLessThanOrEqual(60);
});
