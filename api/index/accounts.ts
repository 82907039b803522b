import { columns, type Reader, read, view } from "./query.ts";
import type { AccountRow } from "./rows.ts";

const COLUMNS = columns<AccountRow>({
  wallet: "wallet",
  number: "number",
  free: "free",
  escrowed: "escrowed",
  sequence: "sequence",
  deposited: "deposited",
  withdrawn: "withdrawn",
  charged: "charged",
  compensated: "compensated",
  forfeited: "forfeited",
  operator: "operator",
  dailyLimit: "daily_limit",
  frozen: "frozen",
  disputes: "disputes",
  openDisputes: "open_disputes",
  firstTopupAt: "first_topup_at",
  lastTopupAt: "last_topup_at",
  lastTopupTx: "last_topup_tx",
});

/** The account of a wallet; null if it never deposited. */
export async function getAccount(reader: Reader, wallet: string): Promise<AccountRow | null> {
  const text = `SELECT ${COLUMNS} FROM ${view("account")} WHERE wallet = $1`;
  const rows = await read<AccountRow>(reader, "account", text, [wallet.toLowerCase()]);
  return rows[0] ?? null;
}
