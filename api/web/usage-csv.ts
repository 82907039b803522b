import { once } from "node:events";
import type { RequestHandler } from "express";
import { z } from "zod";
import { JOB_STATES } from "../../protocol/job-status.ts";
import { validate } from "../http/validate.ts";
import type { JobReader } from "../jobs/read.ts";
import type { JobObject } from "../jobs/view.ts";
import { sessionOf } from "./session-routes.ts";

const PAGE = 100;

const day = z.iso.date("must be a day, YYYY-MM-DD");
const querySchema = z.object({
  status: z.enum(JOB_STATES).optional(),
  model: z.string().optional(),
  /** First and last UTC day, inclusive. */
  from: day.optional(),
  to: day.optional(),
});

const COLUMNS: Record<string, (job: JobObject) => string | number | null> = {
  job_id: (job) => job.id,
  created_at: (job) => job.created_at,
  completed_at: (job) => job.completed_at,
  status: (job) => job.status,
  model: (job) => job.model,
  tier: (job) => job.tier,
  credits_charged: (job) => job.credits_charged,
  usdg_value: (job) => job.usdg_value.toFixed(2),
  prompt_tokens: (job) => job.usage.prompt_tokens,
  completion_tokens: (job) => job.usage.completion_tokens,
  worker_address: (job) => job.worker_address,
  escrow_tx: (job) => job.on_chain.escrow_tx,
  settlement_tx: (job) => job.on_chain.settlement_tx,
  proof_hash: (job) => job.on_chain.proof_hash,
};

/** `GET /jobs.csv?status&model&from&to`: all matching jobs of the wallet, newest first, RFC 4180, streamed page by page. */
export function usageCsvRoute(reader: JobReader): RequestHandler {
  return async (request, response) => {
    const { from, to, ...filters } = validate(querySchema, request.query);
    const { wallet } = sessionOf(response);
    // The first page before the head: an error is still an error then.
    let page = await reader.list({ ...filters, wallet, limit: PAGE });
    response.setHeader("content-type", "text/csv; charset=utf-8");
    response.setHeader("content-disposition", 'attachment; filename="usage.csv"');
    response.write(`${Object.keys(COLUMNS).join(",")}\r\n`);
    for (;;) {
      const rows = page.data.filter(
        ({ created_at }) =>
          (from === undefined || created_at.slice(0, 10) >= from) &&
          (to === undefined || created_at.slice(0, 10) <= to),
      );
      const text = rows
        .map(
          (job) =>
            `${Object.values(COLUMNS)
              .map((column) => field(column(job)))
              .join(",")}\r\n`,
        )
        .join("");
      if (text !== "" && !response.write(text)) await Promise.race([once(response, "drain"), once(response, "close")]);
      const oldest = page.data.at(-1)?.created_at.slice(0, 10);
      const over = page.cursor === null || (from !== undefined && oldest !== undefined && oldest < from);
      if (over || response.destroyed) break;
      page = await reader.list({ ...filters, wallet, limit: PAGE, before: page.cursor as string });
    }
    response.end();
  };
}

function field(value: string | number | null): string {
  const text = value === null ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
