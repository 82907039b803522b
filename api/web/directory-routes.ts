import { type RequestHandler, Router } from "express";
import { showAddress } from "../http/request.ts";
import { listModels, listSlashes, listWorkers } from "../index/index.ts";
import type { Reader } from "../index/query.ts";
import { isoTime } from "../jobs/view.ts";
import { listWorkerIncidents } from "../store/incidents.ts";

const SLASHES_SHOWN = 10;
const INCIDENTS_SHOWN = 10;

/** What everyone may see of the catalog and the pool: `GET /models`, `GET /workers`. Stakes are in millionths of an SVC. */
export function directoryRoutes(reader: Reader): Router {
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
      active_workers: row.activeWorkers,
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
    const names = new Map(catalog.map((model) => [model.number, model.id]));
    const data = rows.map((row) => ({
      number: row.number,
      address: showAddress(row.signer),
      owner: showAddress(row.owner),
      payout: showAddress(row.payout),
      endpoint: row.endpoint,
      stake: row.stake.toString(),
      active: row.active,
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
