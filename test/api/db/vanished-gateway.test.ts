/** A gateway's machine that vanishes in the middle of a transaction: the locks of its rows must be free soon, as its signer's is. */
import { afterAll, expect, it } from "vitest";
import { ownDatabase } from "../../support/database.ts";

const { pool } = await ownDatabase();
afterAll(() => pool.end());

/** Seconds after which PostgreSQL ends a session of the pool in a transaction, by what it waits for. */
async function longestSilences() {
  const { rows } = await pool.query(
    "SELECT name, setting::float8 AS value FROM pg_settings WHERE name ~ '^(idle_in_transaction_session_timeout|tcp_.*)$'",
  );
  const of = Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  const keepalive = of.tcp_keepalives_idle + of.tcp_keepalives_interval * of.tcp_keepalives_count;
  return {
    statement: of.idle_in_transaction_session_timeout / 1_000,
    lostRow: of.tcp_user_timeout / 1_000,
    probe: keepalive,
  };
}

it("within 15 s, so that another gateway derives events and writes results", async () => {
  expect(await longestSilences()).toEqual({ statement: 15, lostRow: 15, probe: 15 });
});
