/** The account and the API key of the signed-in wallet. Below /app/api; `session` guards each route. */
import { type Request, type RequestHandler, type Response, Router } from "express";
import { type Address, type Hex, zeroAddress } from "viem";
import { z } from "zod";
import type { Keys } from "../../api/account/keys.ts";
import { termsOf } from "../../api/chain/balances.ts";
import { type Head, type Rpc, RpcUnreachable } from "../../api/chain/rpc.ts";
import { bondsOf, ifIndexed } from "../../api/db/index-reads.ts";
import type { Reader } from "../../api/db/pool.ts";
import { ApiError } from "../../api/errors.ts";
import { answerSeconds, type FoundJob, isoTime, type JobReader } from "../../api/jobs/job-reader.ts";
import { write } from "../../api/routes/completion.ts";
import { jobsQuerySchema } from "../../api/routes/jobs.ts";
import { inTurns } from "../../api/routes/read-turns.ts";
import { clientOf, untilClosed, validate } from "../../api/routes/request.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { usdgValue } from "../../protocol/money.ts";
import { csvLine } from "../../shared/csv.ts";
import { Turns } from "../../shared/turns.ts";
import type * as contract from "../contract.ts";
import { type UsageRow, usageSince, usedIn } from "./usage.ts";

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;

export type AccountParts = {
  rpc: Pick<Rpc, "client">;
  escrow: Address;
  head: Pick<Head, "time">;
  pool: Reader;
  jobReader: Pick<JobReader, "list">;
  keys: Pick<Keys, "current" | "regenerate" | "revoke">;
};

/** `GET /account`, `GET /usage`, `GET /jobs.csv`, and `/key`. */
export function webAccountRoutes(parts: AccountParts, session: RequestHandler): Router {
  const turns = inTurns();
  return Router()
    .get("/account", session, showAccount(parts))
    .get("/usage", session, turns, showUsage(parts))
    .get("/jobs.csv", session, usageCsv(parts))
    .use("/key", session, keyRoutes(parts));
}

/**
 * `GET /account`: the wallet's account as the chain has it now; all zero before the first deposit. `spent_today` counts
 * the UTC day of the chain's time, and only while a daily limit is set. `claimable_units`: payouts that the token
 * refused, in its units. `in_bonds`: the part of `escrowed` that open disputes hold; null while the index cannot tell.
 */
function showAccount({ rpc, escrow, pool, head }: AccountParts): RequestHandler {
  return async (request, response) => {
    const { wallet } = clientOf(request);
    const [[account, key, disputes, claimable], bonds] = await Promise.all([
      readAccount(rpc, escrow, wallet),
      ifIndexed(bondsOf(pool, wallet), null),
    ]);
    const [disputeKey, , most_open, open] = disputes;
    const { operator, frozen, dailyLimit, spentDay, spentToday } = termsOf(account);
    response.json({
      wallet,
      free: account.free,
      escrowed: account.escrowed,
      // The index is a moment behind the chain.
      in_bonds: bonds === null ? null : Math.min(bonds, account.escrowed),
      usdg_value: usdgValue(account.free + account.escrowed),
      has_account: account.id !== 0,
      operator: operator === 0 ? null : operator,
      authorization_key: key === zeroAddress ? null : key,
      dispute_key: disputeKey === zeroAddress ? null : { address: disputeKey, open, most_open },
      frozen,
      daily_limit: dailyLimit,
      spent_today: dailyLimit !== null && spentDay === Math.floor(head.time / DAY_SECONDS) ? spentToday : 0,
      claimable_units: claimable.toString(),
    } satisfies contract.AccountInfo);
  };
}

async function readAccount(rpc: AccountParts["rpc"], address: Address, wallet: Address) {
  const escrow = { address, abi: inferenceEscrowAbi, args: [wallet] } as const;
  try {
    return await Promise.all([
      rpc.client.readContract({ ...escrow, functionName: "accountOf" }),
      rpc.client.readContract({ ...escrow, functionName: "authorizationKeyOf" }),
      rpc.client.readContract({ ...escrow, functionName: "disputeKeyOf" }),
      rpc.client.readContract({ ...escrow, functionName: "claimableOf" }),
    ]);
  } catch (error) {
    throw new RpcUnreachable("account", error);
  }
}

/** The last hours, UTC days or months, the running one included. */
const USAGE_RANGES = {
  "24h": { seconds: HOUR_SECONDS, count: 24 },
  "7d": { seconds: DAY_SECONDS, count: 7 },
  "30d": { seconds: DAY_SECONDS, count: 30 },
  "12m": { seconds: DAY_SECONDS, count: 12 },
} as const;

const usageQuery = z.object({ range: z.enum(["24h", "7d", "30d", "12m"]).default("30d") });

/** Begins of the spans of a range and of the one after them, Unix seconds. */
function spanStarts(range: keyof typeof USAGE_RANGES, now: number): number[] {
  const { seconds, count } = USAGE_RANGES[range];
  if (range === "12m") {
    const date = new Date(now * 1_000);
    const month = (index: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - count + 1 + index) / 1_000;
    return Array.from({ length: count + 1 }, (_, index) => month(index));
  }
  const first = (Math.floor(now / seconds) - count + 1) * seconds;
  return Array.from({ length: count + 1 }, (_, index) => first + index * seconds);
}

/**
 * `GET /usage?range=24h`: use by the hour, UTC day or month (`from`) of the lock, oldest first, those without jobs included, each with its models
 * (`by_model`); and `models`, the same by model, the dearest first. `credits` are what the jobs cost in the end, after disputes. Times to the
 * answer are not summed by the month.
 */
function showUsage({ pool, head }: AccountParts): RequestHandler {
  return async (request, response) => {
    const { range } = validate(usageQuery, request.query);
    const starts = spanStarts(range, head.time);
    const asked = { first: starts[0] as number, seconds: USAGE_RANGES[range].seconds, timed: range !== "12m" };
    const rows = await usageSince(pool, clientOf(request).wallet, asked);
    const data = starts.slice(0, -1).map((start, index) => {
      const own = rows.filter((row) => row.start >= start && row.start < (starts[index + 1] as number));
      return { from: isoTime(start), ...usedIn(own), by_model: usedByModel(own) };
    });
    response.json({ data, models: usedByModel(rows) } satisfies contract.Usage);
  };
}

/** The dearest first. */
const usedByModel = (rows: readonly UsageRow[]) =>
  [...Map.groupBy(rows, (row) => row.model)]
    .map(([model, used]) => ({ model, ...usedIn(used) }))
    .sort((a, b) => b.credits - a.credits || b.jobs - a.jobs);

const CSV_PAGE = 100;
const LAST_ID: Hex = `0x${"f".repeat(32)}`;
const csvQuery = jobsQuerySchema.omit({ limit: true });

const CSV_COLUMNS: Record<string, (found: FoundJob) => string | number | null> = {
  job_id: ({ job }) => job.id,
  created_at: ({ job }) => job.created_at,
  completed_at: ({ job }) => job.completed_at,
  status: ({ job }) => job.status,
  model: ({ job }) => job.model,
  tier: ({ job }) => job.tier,
  credits_charged: ({ job }) => job.credits_charged,
  usdg_value: ({ job }) => job.usdg_value.toFixed(2),
  prompt_tokens: ({ job }) => job.usage.prompt_tokens,
  completion_tokens: ({ job }) => job.usage.completion_tokens,
  worker_address: ({ job }) => job.worker_address,
  escrow_tx: ({ job }) => job.on_chain.escrow_tx,
  settlement_tx: ({ job }) => job.on_chain.settlement_tx,
  proof_hash: ({ job }) => job.on_chain.proof_hash,
  // New ones come last: programs may count columns.
  answer_seconds: answerSeconds,
};

/**
 * `GET /jobs.csv` with the filters of `GET /jobs`: all matching jobs, newest first, as RFC 4180, streamed page by page. One export of a wallet runs
 * at a time: each reads all of its jobs. Pages of all wallets are read one at a time, and leave three quarters of the time to everybody else.
 */
function usageCsv({ jobReader: jobs }: AccountParts): RequestHandler {
  const exporting = new Set<Address>();
  const turns = new Turns(3);
  return async (request, response) => {
    const { wallet } = clientOf(request);
    if (exporting.has(wallet)) {
      throw new ApiError("conflict", "An export of this wallet's jobs is running: wait for its end.");
    }
    exporting.add(wallet);
    try {
      await exportJobs(request, response);
    } catch (error) {
      if (!response.destroyed) throw error; // a client that left is told nothing
    } finally {
      exporting.delete(wallet);
    }
  };

  async function exportJobs(request: Request, response: Response): Promise<void> {
    const { after, ...filters } = validate(csvQuery, request.query);
    const { wallet } = clientOf(request);
    const query = { ...filters, wallet, limit: CSV_PAGE };
    // With an id above all, a lone `after` bounds the list too, and does not begin it.
    const bounds = after === undefined ? {} : { after, before: filters.before ?? LAST_ID };
    const signal = untilClosed(response);
    const read = (from: { before?: Hex }) =>
      turns.run(wallet, signal, async () => {
        const { data, cursor } = await jobs.list({ ...query, ...bounds, ...from });
        const lines = data.map((found) => csvLine(Object.values(CSV_COLUMNS).map((column) => column(found))));
        return { text: lines.join(""), cursor };
      });
    // The first page is read before the head is sent, so an error still has its status.
    let page = await read({});
    response.setHeader("content-type", "text/csv; charset=utf-8");
    response.setHeader("content-disposition", 'attachment; filename="usage.csv"');
    response.write(csvLine(Object.keys(CSV_COLUMNS)));
    for (;;) {
      if (page.text !== "") await write(response, page.text);
      if (page.cursor === null || response.destroyed) break;
      page = await read({ before: page.cursor });
    }
    response.end();
  }
}

/**
 * `GET /key` → `{key: {hint, created_at, last_used_at, suspended} | null}`; `POST /key` creates the wallet's key, or replaces it, and
 * returns it once as `api_key`; `DELETE /key` revokes it. Both hold for the very next request to the API.
 */
function keyRoutes({ keys }: AccountParts): Router {
  const show: RequestHandler = async (request, response) => {
    const key = await keys.current(clientOf(request).wallet);
    const shown = key && {
      hint: key.hint,
      created_at: key.createdAt.toISOString(),
      last_used_at: key.lastUsedAt?.toISOString() ?? null,
      suspended: key.suspended,
    };
    response.json({ key: shown } satisfies contract.KeyInfo);
  };

  const create: RequestHandler = async (request, response) => {
    const { wallet } = clientOf(request);
    if ((await keys.current(wallet))?.suspended) {
      throw new ApiError(
        "key_suspended",
        "The key is suspended for a policy violation and cannot be replaced; ask the operator of this service.",
      );
    }
    const apiKey = await keys.regenerate(wallet);
    response.status(201).json({ api_key: apiKey });
  };

  const revoke: RequestHandler = async (request, response) => {
    const { wallet } = clientOf(request);
    await keys.revoke(wallet);
    response.status(204).end();
  };

  return Router().get("/", show).post("/", create).delete("/", revoke);
}
