/** API keys of clients, in the gateway's own tables. Keys themselves are not stored, only their last four characters. */
import { pino } from "pino";
import { Keys } from "../../api/account/keys.ts";
import { GATEWAY_SCHEMA, openDatabase } from "../../api/db/pool.ts";
import { type Command, type Operator, OperatorError, type Output, readAddress } from "./operator.ts";

type Pool = ReturnType<typeof openDatabase>;

export const KEYS: readonly Command[] = [
  { usage: "keys list [--all]", does: "API keys, by their last four characters", database: true, show: listKeys },
  {
    usage: "keys create <wallet>",
    does: "a key for a wallet that has none; shown once",
    database: true,
    show: createKey,
  },
  {
    usage: "keys revoke <wallet>",
    does: "ends the wallet's key at once",
    database: true,
    show: async (operator, [text]) => {
      const wallet = await change(operator, text, (keys, of) => keys.revoke(of));
      const done = `The key of ${wallet} is revoked; every gateway refuses it from now on.`;
      return { text: done, json: { wallet, status: "revoked" } };
    },
  },
  {
    usage: "keys suspend <wallet>",
    does: "answers 403 key_suspended from now on",
    database: true,
    show: (operator, args) => suspend(operator, args, true),
  },
  {
    usage: "keys unsuspend <wallet>",
    does: "the key works again",
    database: true,
    show: (operator, args) => suspend(operator, args, false),
  },
];

async function withDatabase<T>(operator: Operator, run: (keys: Keys, pool: Pool) => Promise<T>): Promise<T> {
  const pool = openDatabase(operator.databaseUrl, pino({ level: "warn" }, pino.destination(2)), 1);
  try {
    const { rows } = await pool.query("SELECT to_regclass($1) AS found", [`${GATEWAY_SCHEMA}.api_key`]);
    if (rows[0]?.found === null)
      throw new OperatorError("the database has no table of keys: start the gateway once, it makes them");
    return await run(new Keys(pool), pool);
  } finally {
    await pool.end();
  }
}

/** All keys that are not revoked; with `--all`, revoked ones too. */
async function listKeys(operator: Operator): Promise<Output> {
  const { rows } = await withDatabase(operator, (_, pool) =>
    pool.query(
      `SELECT wallet, hint, created_at, suspended_at, revoked_at FROM api_key
       WHERE $1 OR revoked_at IS NULL ORDER BY created_at`,
      [operator.flags["all"] === true],
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

/** A key that the wallet has must be revoked by name first, so that nobody locks a client out by mistake. */
async function createKey(operator: Operator, [text = ""]: readonly string[]): Promise<Output> {
  const wallet = readAddress(text, "<wallet>");
  const key = await withDatabase(operator, async (keys) => {
    if ((await keys.current(wallet)) !== null)
      throw new OperatorError(`${wallet} has a key; revoke it first (keys revoke ${wallet})`);
    return await keys.regenerate(wallet);
  });
  return { text: `${key}\nShown this once; only its hash is stored.`, json: { wallet, api_key: key } };
}

async function suspend(operator: Operator, [text]: readonly string[], suspended: boolean): Promise<Output> {
  const wallet = await change(operator, text, (keys, of) => keys.setSuspended(of, suspended));
  const status = suspended ? "suspended" : "active";
  return { text: `The key of ${wallet} is ${status}.`, json: { wallet, status } };
}

/** Changes the key of a wallet that has one. */
async function change(
  operator: Operator,
  text: string | undefined,
  apply: (keys: Keys, wallet: string) => Promise<boolean>,
): Promise<string> {
  const wallet = readAddress(text ?? "", "<wallet>");
  if (!(await withDatabase(operator, (keys) => apply(keys, wallet)))) throw new OperatorError(`${wallet} has no key`);
  return wallet;
}
