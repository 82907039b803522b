/** What everyone may see without signing in. Below /app/api. */
import { existsSync, readFileSync } from "node:fs";
import { type RequestHandler, Router } from "express";
import { MINIMUM_DEPOSIT_CREDITS } from "../../protocol/money.ts";
import { secretsOfUrl } from "../../shared/redact.ts";
import type { Config } from "../config.ts";
import { listWorkerIncidents } from "../db/incidents.ts";
import { listModels, listSlashes, listWorkers, type Reader, read, view } from "../db/index-reads.ts";
import { type DayRow, paced, totalsBy } from "../db/network-day.ts";
import { isoTime } from "../jobs/job-reader.ts";
import type { WorkerPool } from "../jobs/worker-pool.ts";
import { showAddress } from "./request.ts";

const DEV_CHAIN_ID = 31_337;

type DisputeTimes = { dispute: number; inclusion: number };

/**
 * `GET /config`: what the application must know before anyone signs in; its page holds it, too. Deposits name `operator`. Seconds to
 * dispute count from the answer's end for the service, and from the settlement for the wallet itself. No secrets.
 */
export function publicConfig(config: Config, operator: number, { dispute, inclusion }: DisputeTimes) {
  const { chainId, contracts, startBlock } = config.deployment;
  const development = chainId === DEV_CHAIN_ID;
  return {
    chain_id: chainId,
    chain_name: config.CHAIN_NAME ?? (development ? "Local development chain" : `Chain ${chainId}`),
    currency: config.CHAIN_CURRENCY,
    // The gateway's own node may be a paid one; only a development node whose URL holds no secret is shown unasked.
    rpc_url: config.PUBLIC_RPC_URL ?? (development && isPublic(config.RPC_URL) ? config.RPC_URL : null),
    explorer_url: config.EXPLORER_URL ?? null,
    base_url: config.BASE_URL,
    docs_url: config.DOCS_URL,
    origin: new URL(config.APP_URL).origin,
    contracts,
    start_block: startBlock,
    operator,
    minimum_deposit: MINIMUM_DEPOSIT_CREDITS,
    dispute_seconds: dispute,
    wallet_dispute_seconds: dispute + inclusion,
    development,
  };
}

/**
 * `GET /demo`: on a local stack the key of its demo account, so that the playground works at once. `DEMO_FILE` names the stack's file;
 * the gateway refuses to start with it on any other chain. Read anew each time: the account is made after the gateway's start.
 */
export function demoRoute({ DEMO_FILE }: Config): RequestHandler {
  return ({ hostname }, response) => {
    // A page of another site can have its name lead here, but not ask for one of these.
    const isLocal = ["127.0.0.1", "localhost", "[::1]", "::1"].includes(hostname);
    const stack =
      !isLocal || DEMO_FILE === undefined || !existsSync(DEMO_FILE) ? {} : JSON.parse(readFileSync(DEMO_FILE, "utf8"));
    response.json({ api_key: stack.demo?.api_key ?? null });
  };
}

const isPublic = (url: string): boolean => secretsOfUrl(url, "RPC_URL").length === 0;

/**
 * `GET /deployment.json`: the deployment file as the gateway reads it, which is what a worker's `--deployment` names.
 * All of it can be read on the chain.
 */
export function deploymentRoute({ deployment }: Config): RequestHandler {
  const file = `${JSON.stringify(deployment, null, 2)}\n`;
  return (_request, response) => {
    response.type("json").send(file);
  };
}

const SLASHES_SHOWN = 10;
const INCIDENTS_SHOWN = 10;

/**
 * `GET /models`, `GET /workers`: the catalog and the pool. Stakes are in millionths of an SVC. A worker is `active` if the chain lets it
 * take jobs, and `answers` if this gateway reaches it.
 */
export function directoryRoutes(reader: Reader, pool: WorkerPool): Router {
  const models: RequestHandler = async (_request, response) => {
    const rows = await listModels(reader);
    const data = rows.map((row) => ({
      number: row.number,
      id: row.id,
      owned_by: row.ownedBy,
      parameters: row.parameters,
      tier: row.tier,
      context_window: row.contextWindow,
      credits_per_request: row.creditsPerRequest,
      credits_per_1k_tokens: row.creditsPer1kTokens,
      next_credits_per_request: row.nextCreditsPerRequest,
      next_credits_per_1k_tokens: row.nextCreditsPer1kTokens,
      prices_change_at: row.pricesChangeAt === null ? null : isoTime(row.pricesChangeAt),
      retires_at: row.retiresAt === null ? null : isoTime(row.retiresAt),
      retired: row.retired,
      active_workers: pool.hosts(row.number).length,
    }));
    response.json({ data });
  };

  const workers: RequestHandler = async (_request, response) => {
    const [rows, catalog] = await Promise.all([listWorkers(reader), listModels(reader)]);
    // One question for all workers: this page is open to everyone, and shares its connections with jobs.
    const signers = rows.map((row) => row.signer);
    const [slashes, incidents] = await Promise.all([
      listSlashes(reader, signers, SLASHES_SHOWN).then((all) => Map.groupBy(all, ({ worker }) => worker)),
      listWorkerIncidents(reader, signers, INCIDENTS_SHOWN).then((all) => Map.groupBy(all, ({ worker }) => worker)),
    ]);
    const healthy = new Set(pool.states().flatMap((state) => (state.healthy ? state.worker.toLowerCase() : [])));
    const names = new Map(catalog.map((model) => [model.number, model.id]));
    const data = rows.map((row) => ({
      number: row.number,
      address: showAddress(row.signer),
      owner: showAddress(row.owner),
      payout: showAddress(row.payout),
      endpoint: row.endpoint,
      stake: row.stake.toString(),
      active: row.active,
      answers: healthy.has(row.signer.toLowerCase()),
      unbonds_at: row.unbondsAt === null ? null : isoTime(row.unbondsAt),
      registered_at: isoTime(row.registeredAt),
      models: row.models.map((number) => names.get(number) ?? `model ${number}`),
      slashes: (slashes.get(row.signer) ?? []).map((slash) => ({
        job_id: slash.jobId,
        amount: slash.amount.toString(),
        slashed_at: isoTime(slash.blockTime),
        reason: slash.reason,
        tx: slash.txHash,
      })),
      // Without their details: those can hold a worker's own words, and nobody knows where it has them from.
      incidents: (incidents.get(row.signer) ?? []).map((incident) => ({
        code: incident.code,
        severity: incident.severity,
        title: incident.title,
        occurrences: incident.occurrences,
        first_at: incident.firstAt.toISOString(),
        last_at: incident.lastAt.toISOString(),
        job_id: incident.jobId,
      })),
    }));
    response.json({ data });
  };

  return Router().get("/models", models).get("/workers", workers);
}

const LATEST = 8;

/**
 * `GET /network`: what the network does now, of public data. `workers` answer this gateway, `models` have one of them. The jobs are those
 * that this operator locked in the last 24 hours, and the newest settled ones of them; `credits_total` is what all wallets ever paid.
 */
export function networkRoute(
  reader: Reader,
  day: () => Promise<DayRow[]>,
  { pool, operator }: { pool: WorkerPool; operator: number },
): RequestHandler {
  const total = paced(() => chargedEver(reader));
  const latest = paced(() => latestSettled(reader, operator));
  return async (_request, response) => {
    const [rows, credits_total, jobs, catalog] = await Promise.all([day(), total(), latest(), listModels(reader)]);
    const today = totalsBy(rows, (row) => row.operator).get(operator);
    response.json({
      workers: pool.states().filter(({ healthy }) => healthy).length,
      models: catalog.filter((model) => !model.retired && pool.hosts(model.number).length > 0).length,
      jobs_24h: today?.jobs ?? 0,
      credits_24h: today?.credits ?? 0,
      credits_total,
      latest: jobs.map((job) => ({ ...job, created_at: isoTime(job.created_at) })),
    });
  };
}

async function chargedEver(reader: Reader): Promise<number> {
  const text = `SELECT COALESCE(sum(charged), 0)::bigint AS credits FROM ${view("account")}`;
  return (await read<{ credits: number }>(reader, "network_total", text, []))[0]?.credits ?? 0;
}

const latestSettled = (reader: Reader, operator: number) =>
  read<{ id: string; model: string; credits: number; created_at: number }>(
    reader,
    "network_latest",
    `SELECT 'job_' || substr(id, 3) AS id, model, credits_charged AS credits, created_at
     FROM ${view("job")} WHERE operator = $1 AND status = 'settled' ORDER BY created_at DESC LIMIT $2`,
    [operator, LATEST],
  );
