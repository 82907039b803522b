import type { RequestHandler } from "express";
import { z } from "zod";
import { validate } from "../http/validate.ts";
import { type Reader, read, view } from "../index/query.ts";
import { sessionOf } from "./session-routes.ts";

const DAY_SECONDS = 86_400;
const querySchema = z.object({ days: z.coerce.number().int().min(1).max(90).default(30) });

/** What a wallet used on one UTC day. */
export type UsageDay = { day: string; jobs: number; credits: number; tokens: number };

/** `GET /usage?days=30`: charges by UTC day of the lock, oldest first, days without jobs included. */
export function usageRoute(reader: Reader, now: () => number): RequestHandler {
  return async (request, response) => {
    const { days } = validate(querySchema, request.query);
    const from = (Math.floor(now() / DAY_SECONDS) - days + 1) * DAY_SECONDS;
    const used = new Map((await usageSince(reader, sessionOf(response).wallet, from)).map((row) => [row.day, row]));
    const data = Array.from({ length: days }, (_, index) => {
      const day = new Date((from + index * DAY_SECONDS) * 1000).toISOString().slice(0, 10);
      return used.get(day) ?? { day, jobs: 0, credits: 0, tokens: 0 };
    });
    response.json({ data });
  };
}

/** Jobs are walked newest first until the first one before `from`: the cost is that of the days asked for, whatever came before. */
async function usageSince(reader: Reader, wallet: string, from: number): Promise<UsageDay[]> {
  const jobs = view("job");
  const text = `
    SELECT to_char(to_timestamp(created_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, count(*) AS jobs,
      sum(credits_charged)::bigint AS credits,
      sum(COALESCE(prompt_tokens, 0) + COALESCE(billed_tokens, 0))::bigint AS tokens
    FROM ${jobs} WHERE wallet = $1 AND position > COALESCE(
      (SELECT position FROM ${jobs} WHERE wallet = $1 AND created_at < $2 ORDER BY position DESC LIMIT 1), -1)
    GROUP BY 1`;
  return await read<UsageDay>(reader, "usage", text, [wallet.toLowerCase(), from]);
}
