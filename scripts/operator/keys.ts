import { pino } from "pino";
import { Keys } from "../../api/accounts/keys.ts";
import { GATEWAY_SCHEMA, openDatabase } from "../../api/store/database.ts";
import { positional, readAddress } from "./arguments.ts";
import type { Operator, Output } from "./context.ts";
import { OperatorError } from "./errors.ts";

type Pool = ReturnType<typeof openDatabase>;

/** Runs on the gateway's own tables. */
async function withDatabase<T>(operator: Operator, run: (pool: Pool, keys: Keys) => Promise<T>): Promise<T> {
  const pool = openDatabase(operator.databaseUrl, pino({ level: "warn" }, pino.destination(2)), 1);
  try {
    const { rows } = await pool.query("SELECT to_regclass($1) AS found", [`${GATEWAY_SCHEMA}.api_key`]);
    if (rows[0]?.found === null)
      throw new OperatorError("the database has no table of keys: start the gateway once, it makes them");
    return await run(pool, new Keys(pool));
  } finally {
    await pool.end();
  }
}

const walletOf = (args: readonly string[]) => readAddress(positional(args, 0, "wallet"), "<wallet>");

/** All keys that are not revoked; with `--all`, revoked ones too. Keys themselves are not stored, only their last four characters. */
export async function listKeys(operator: Operator): Promise<Output> {
  const everything = operator.flags["all"] === true;
  const { rows } = await withDatabase(operator, (pool) =>
    pool.query(
      `SELECT wallet, hint, created_at, suspended_at, revoked_at FROM api_key
       WHERE $1 OR revoked_at IS NULL ORDER BY created_at`,
      [everything],
    ),
  );
  const list = rows.map((row) => ({
    wallet: row.wallet,
    key: `…${row.hint}`,
    status: row.revoked_at ? "revoked" : row.suspended_at ? "suspended" : "active",
    created_at: row.created_at.toISOString(),
  }));
  const text = list.map(
    ({ wallet, key, status, created_at }) => `${wallet}  ${key}  ${status.padEnd(9)}  ${created_at}`,
  );
  return { text: text.join("\n") || "no keys", json: list };
}

/** Creates the wallet's key; one that it has must be revoked by name first, so that nobody locks a client out by mistake. */
export async function createKey(operator: Operator, args: readonly string[]): Promise<Output> {
  const wallet = walletOf(args);
  const key = await withDatabase(operator, async (pool, keys) => {
    const live = await pool.query("SELECT 1 FROM api_key WHERE wallet = $1 AND revoked_at IS NULL", [
      wallet.toLowerCase(),
    ]);
    if ((live.rowCount ?? 0) > 0)
      throw new OperatorError(`${wallet} has a key; revoke it first (keys revoke ${wallet})`);
    return await keys.regenerate(wallet);
  });
  return { text: `${key}\nShown this once; only its hash is stored.`, json: { wallet, api_key: key } };
}

export async function revokeKey(operator: Operator, args: readonly string[]): Promise<Output> {
  const wallet = walletOf(args);
  const done = await withDatabase(operator, (_, keys) => keys.revoke(wallet));
  if (!done) throw new OperatorError(`${wallet} has no key`);
  return {
    text: `The key of ${wallet} is revoked; every gateway refuses it from now on.`,
    json: { wallet, status: "revoked" },
  };
}

export async function suspendKey(operator: Operator, args: readonly string[], suspended: boolean): Promise<Output> {
  const wallet = walletOf(args);
  const done = await withDatabase(operator, (_, keys) => keys.setSuspended(wallet, suspended));
  if (!done) throw new OperatorError(`${wallet} has no key`);
  const status = suspended ? "suspended" : "active";
  return { text: `The key of ${wallet} is ${status}.`, json: { wallet, status } };
}
