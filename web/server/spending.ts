/** A wallet's statements, and what it wants to be told of its spending. Below /app/api; `session` guards each route. */
import { type RequestHandler, Router } from "express";
import type pg from "pg";
import type { Address } from "viem";
import { z } from "zod";
import type { Head } from "../../api/chain/rpc.ts";
import { getHead } from "../../api/db/index-reads.ts";
import type { Reader } from "../../api/db/pool.ts";
import { ApiError } from "../../api/errors.ts";
import { inTurns } from "../../api/routes/read-turns.ts";
import { clientOf, validate } from "../../api/routes/request.ts";
import type * as contract from "../contract.ts";
import { AnswerCache } from "./answer-cache.ts";
import { monthOf, monthSpan, readStatement } from "./statement.ts";

/** Time after its end at which a month is complete. A reorganisation of its last blocks is over by then. */
const SETTLED_SECONDS = 3_600;
/** A statement sums up to a month of a wallet's charges: it is read once in a while, however often its pages ask. */
const RUNNING_MS = 10_000;
const COMPLETE_MS = 600_000;
const KEPT_BYTES = 4 * 1024 * 1024;

const statementQuery = z.object({
  month: z
    .string()
    .regex(/^\d{4}-(0[1-9]|1[0-2])$/, "must be a month, such as 2026-11")
    .optional(),
});

/** The index, the wallets' alerts, and the chain's time. */
type SpendingParts = { pool: Reader; head: Pick<Head, "time"> };

/**
 * `GET /statement?month=2026-11`, this month unless the request names one: what changed the wallet's credits, by the UTC day.
 * `GET /spending`: what was charged today and this month, where the wallet wants to be told of it.
 */
export function spendingRoutes({ pool, head }: SpendingParts, session: RequestHandler): Router {
  const statements = new AnswerCache<contract.Statement>({
    keptMs: ({ complete }) => (complete ? COMPLETE_MS : RUNNING_MS),
    bytes: KEPT_BYTES,
  });
  const statementOf = (wallet: Address, month: string) =>
    statements.get(`${wallet} ${month}`, () => makeStatement(pool, wallet, month));

  const statement: RequestHandler = async (request, response) => {
    const now = monthOf(head.time);
    const { month = now } = validate(statementQuery, request.query);
    if (month > now) {
      throw new ApiError("invalid_request", `month: must not be after ${now}, not ${month}`, { param: "month" });
    }
    response.type("json").send(await statementOf(clientOf(request).wallet, month));
  };

  const spending: RequestHandler = async (request, response) => {
    const { wallet } = clientOf(request);
    const { spend_alert_day: ofDay, spend_alert_month: ofMonth } = await getSpendAlerts(pool, wallet);
    // All pages of an account ask this twice a minute, and most wallets set no alert: their month is not summed up for it.
    if (ofDay === null && ofMonth === null) {
      response.json({ day: null, month: null } satisfies contract.Spending);
      return;
    }
    const today = new Date(head.time * 1_000).toISOString().slice(0, 10);
    const { days, sums } = JSON.parse((await statementOf(wallet, today.slice(0, 7))).toString()) as contract.Statement;
    const chargedToday = days.find(({ day }) => day === today)?.charges ?? 0;
    response.json({
      day: ofDay === null ? null : { charged: chargedToday, alert: ofDay },
      month: ofMonth === null ? null : { charged: sums.charges, alert: ofMonth },
    } satisfies contract.Spending);
  };

  const turns = inTurns();
  return Router().get("/statement", session, turns, statement).get("/spending", session, turns, spending);
}

async function makeStatement(reader: Reader, wallet: Address, month: string): Promise<contract.Statement> {
  const span = monthSpan(month);
  // First, so that no event of the month is missing before the block that it names.
  const indexed = (await getHead(reader))?.blockTime ?? 0;
  const complete = indexed >= span.until + SETTLED_SECONDS;
  return { wallet, month, complete, ...(await readStatement(reader, wallet, span)) };
}

type SpendAlerts = Pick<contract.WalletSettings, "spend_alert_day" | "spend_alert_month">;

/** From how many charged credits on the wallet wants to be told; null: it does not. */
export async function getSpendAlerts(pool: Pick<pg.Pool, "query">, wallet: Address): Promise<SpendAlerts> {
  const { rows } = await pool.query<SpendAlerts>({
    name: "spend-alerts",
    text: "SELECT spend_alert_day, spend_alert_month FROM wallet_setting WHERE wallet = $1",
    values: [wallet.toLowerCase()],
  });
  return rows[0] ?? { spend_alert_day: null, spend_alert_month: null };
}

/** Sets one of them or both; null ends an alert. What is not given stays, also if another request sets it meanwhile. */
export async function setSpendAlerts(
  pool: Pick<pg.Pool, "query">,
  wallet: Address,
  { spend_alert_day: day, spend_alert_month: month }: { [Name in keyof SpendAlerts]?: SpendAlerts[Name] | undefined },
): Promise<void> {
  await pool.query(
    `INSERT INTO wallet_setting AS s (wallet, spend_alert_day, spend_alert_month) VALUES ($1, $2, $3)
     ON CONFLICT (wallet) DO UPDATE SET spend_alert_day = CASE WHEN $4 THEN $2 ELSE s.spend_alert_day END,
       spend_alert_month = CASE WHEN $5 THEN $3 ELSE s.spend_alert_month END`,
    [wallet.toLowerCase(), day ?? null, month ?? null, day !== undefined, month !== undefined],
  );
}
