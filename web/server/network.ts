/** The routes about models, workers, operators, their histories, and disputes. Open to everybody, below /app/api. */
import { type Request, type RequestHandler, Router } from "express";
import { getAddress } from "viem";
import { countFailedJobs, listWorkerIncidents, type WorkerIncident } from "../../api/db/incidents.ts";
import {
  type DisputeRow,
  disputesByOperator,
  getArbiters,
  getDispute,
  getWorker,
  listDisputes,
  listDisputesLostBy,
  listModels,
  listSlashes,
  listTreasuryDebts,
  listWorkers,
  listWorkersOf,
  type ModelRow,
  type RulingTotal,
  type WorkerRow,
} from "../../api/db/index-reads.ts";
import {
  barsOf,
  OBSERVED_RANGES,
  type Observed,
  type ObservedRange,
  observedModels,
  observedOfModel,
  observedOfService,
  observedOfWorker,
  type WorkTime,
  workTimes,
} from "../../api/db/observations.ts";
import { type Reader, sharedRead } from "../../api/db/pool.ts";
import { ApiError, quoted, WebError } from "../../api/errors.ts";
import { isoTime } from "../../api/jobs/job-reader.ts";
import type { WorkerPool } from "../../api/workers/worker-pool.ts";
import { fromApiJobId, toApiJobId } from "../../protocol/job-id.ts";
import { RULINGS } from "../../protocol/job-status.ts";
import { toUnits } from "../../protocol/money.ts";
import type * as contract from "../contract.ts";
import { AnswerCache } from "./answer-cache.ts";
import {
  type HistoryEvent,
  type ListedJob,
  listHistory,
  listJobsBy,
  listJobsOfOperator,
  listOperators,
  type OperatorRow,
} from "./explorer-reads.ts";
import {
  chargedEver,
  type DayRow,
  type JobSums,
  jobsBySpan,
  networkDay,
  type SpanRow,
  totalOf,
  totalsBy,
  totalsIn,
} from "./network-day.ts";

/** The workers as the gateway finds them: who hosts which model, their state, and how they count. */
export type AskedWorkers = Pick<WorkerPool, "hosts" | "states" | "counting" | "isDemo">;

const SLASHES_SHOWN = 10;
const INCIDENTS_SHOWN = 10;
const LATEST = 8;
/** Jobs and events on a page of one of them. */
export const JOBS_SHOWN = 25;
export const EVENTS_SHOWN = 25;
const DISPUTES_SHOWN = 25;
const OPEN_DISPUTES_SHOWN = 200;
/** Charts sum up to a week of hours of all workers: they are read once for all who ask. Gateways add to them every 20 s. */
const CHARTS_MS = 5_000;
const CHARTS_BYTES = 4 * 1024 * 1024;

/** The measurements of a model that no gateway has seen anything of. */
const NOT_SEEN: Observed = { requests: 0, failures: 0, uptime: null, first_token_ms: null, tokens_per_second: null };
const NOTHING = totalOf([]);
/** How long the answers for models', workers' and operators' pages are kept for all who ask, and how many bytes of them. */
const PAGES_MS = 1_000;
const PAGES_BYTES = 4 * 1024 * 1024;

/**
 * `GET /models`, `/workers`, `/operators`, each with a page of one: `/models/{id}`, `/workers/{number or address}`, `/operators/{number}`;
 * `GET /models/{id}/observed?range=24h`, `/workers/{id}/observed?range=24h` and `/operators/{number}/observed?range=24h`, also `7d` and `30d`: what
 * this service's gateways saw of them, by the hour, six hours or UTC day, oldest first; with what workers earned, and an operator's jobs, as the
 * chain has them. Gateways see requests of their own operator alone. `GET /network`; `GET /disputes?before={position}` and `/disputes/{job_id}`: open disputes, the first to end first, and those that ended, newest
 * first; one dispute with who said what, its arbiters, their votes and its end. A worker is `active` if the chain lets it take jobs, and
 * `answers` if this gateway reaches it; its `counting` says for each model how it counts prompts, as it told this gateway. Stakes are in millionths of an SVC. Jobs, credits and earnings are all operators', as the chain has
 * them; `owed` is what the treasury still owes a worker after disputes. A worker's success is of this operator's jobs: the chain does not
 * say who failed a job.
 */
export function networkRoutes(reader: Reader, pool: AskedWorkers, operator: number): Router {
  const day = networkDay(reader);
  const past = jobsBySpan(reader);
  const times = workTimes(reader);
  const rulings = sharedRead(() => disputesByOperator(reader));
  const failures = sharedRead(() => countFailedJobs(reader));
  const total = sharedRead(() => chargedEver(reader));
  const latest = sharedRead(() => listJobsOfOperator(reader, operator, LATEST));

  const seenModels = observedModels(reader);
  const charts = new AnswerCache<object>({ keptMs: () => CHARTS_MS, bytes: CHARTS_BYTES });
  const pages = new AnswerCache<object>({ keptMs: () => PAGES_MS, bytes: PAGES_BYTES });

  const shownModels = async (rows: readonly ModelRow[]) => {
    const [jobs, seen] = await Promise.all([day(), seenModels()]);
    const today = totalsBy(jobs, (row) => row.model);
    return rows.map((row) => ({
      ...showModel(row, pool, today.get(row.number) ?? NOTHING),
      observed_24h: seen.get(row.number) ?? NOT_SEEN,
    }));
  };

  const shownWorkers = async (rows: readonly WorkerRow[]): Promise<contract.Worker[]> => {
    const signers = rows.map((row) => row.signer);
    // One question for all workers: these pages share their connections with jobs.
    const [catalog, slashes, incidents, jobs, failed, { ever, week }, worked] = await Promise.all([
      listModels(reader),
      listSlashes(reader, signers, SLASHES_SHOWN).then((all) => Map.groupBy(all, ({ worker }) => worker)),
      listWorkerIncidents(reader, signers, INCIDENTS_SHOWN).then((all) => Map.groupBy(all, ({ worker }) => worker)),
      day(),
      failures(),
      past(),
      times(),
    ]);
    const states = new Map(pool.states().map((state) => [state.worker.toLowerCase(), state]));
    const names = new Map(catalog.map((model) => [model.number, model.id]));
    const ofAll = totalsBy(jobs, (row) => row.worker);
    const ofOurs = totalsBy(
      jobs.filter((row) => row.operator === operator),
      (row) => row.worker,
    );
    return rows.map(({ signer, models, ...row }) => {
      const today = ofAll.get(signer) ?? NOTHING;
      return {
        number: row.number,
        address: getAddress(signer),
        owner: getAddress(row.owner),
        payout: getAddress(row.payout),
        endpoint: row.endpoint,
        stake: String(row.stake),
        active: row.active,
        unbonds_at: isoTime(row.unbondsAt),
        registered_at: isoTime(row.registeredAt),
        answers: states.get(signer)?.healthy ?? false,
        first_token_ms: rounded(states.get(signer)?.firstTokenMs),
        jobs_24h: today.settled,
        earned_24h: today.units,
        earned_7d: week.get(signer)?.units ?? 0,
        earned_total: ever.get(signer)?.units ?? 0,
        hourly: hourlyPay(worked.get(signer), { all: today.units, ours: ofOurs.get(signer)?.units ?? 0 }),
        success_24h: shareOf(ofOurs.get(signer)?.settled ?? 0, failed.get(signer) ?? 0),
        models: models.map((number) => names.get(number) ?? `model ${number}`),
        counting: Object.fromEntries(
          models.flatMap((number) => {
            const [id, counting] = [names.get(number), pool.counting(getAddress(signer), number)];
            return id === undefined || counting === null ? [] : [[id, counting]];
          }),
        ),
        slashes: (slashes.get(signer) ?? []).map((slash) => ({
          job_id: toApiJobId(slash.jobId),
          amount: slash.amount.toString(),
          slashed_at: isoTime(slash.blockTime),
          reason: slash.reason,
          tx: slash.txHash,
        })),
        incidents: (incidents.get(signer) ?? []).map(showIncident),
      };
    });
  };

  const shownOperators = async (rows: readonly OperatorRow[]) => {
    const [jobs, ruled] = await Promise.all([day(), rulings()]);
    const today = totalsBy(jobs, (row) => row.operator);
    return rows.map((row) => showOperator(row, today.get(row.number) ?? NOTHING, ruled.get(row.number) ?? []));
  };

  const modelOf = async ({ params }: Request): Promise<ModelRow> => {
    const id = String(params.id);
    const row = (await listModels(reader)).find((one) => one.id === id);
    if (row === undefined) throw new WebError("not_found", `The catalog has no model '${id}'.`);
    return row;
  };
  const workerOf = async ({ params }: Request): Promise<WorkerRow> => {
    const id = String(params.id).toLowerCase();
    const row = await getWorker(reader, id);
    if (row === null) throw new WebError("not_found", `No worker '${id}' is registered.`);
    return row;
  };

  const operatorOf = async ({ params }: Request): Promise<OperatorRow> => {
    const id = String(params.id);
    const row = (await listOperators(reader)).find((one) => String(one.number) === id);
    if (row === undefined) throw new WebError("not_found", `There is no operator ${quoted(id)}.`);
    return row;
  };

  const models: RequestHandler = async (_request, response) => {
    const list = async () => ({ data: await shownModels(await listModels(reader)) });
    response.type("json").send(await pages.get("models", list));
  };
  const model: RequestHandler = async (request, response) => {
    const row = await modelOf(request);
    const subject = { subject: String(row.number), limit: EVENTS_SHOWN };
    const [[shown], history] = await Promise.all([shownModels([row]), listHistory(reader, "model", subject)]);
    response.json({ ...shown, history: history.map(showEvent) });
  };
  const seenOfModel = async (model: number, range: ObservedRange): Promise<contract.ModelSeen> => {
    const { spans, workers } = await observedOfModel(reader, model, range);
    const known = await listWorkersOf(
      reader,
      workers.map(({ worker }) => worker),
    );
    const numbers = new Map(known.map(({ signer, number }): [string, number] => [signer, number]));
    const lines = workers.map(({ worker, spans }) => ({
      number: numbers.get(worker) ?? null,
      address: getAddress(worker),
      spans,
    }));
    return { spans, workers: lines };
  };
  const seenOfWorker = async (signer: string, range: ObservedRange): Promise<contract.WorkerSpan[]> => {
    const [spans, jobsIn] = await Promise.all([
      observedOfWorker(reader, signer, range),
      jobsInBars(range, ({ worker }) => worker === signer),
    ]);
    return spans.map((one) => ({ ...one, earned: jobsIn(Date.parse(one.from) / 1_000).units }));
  };
  const seenOfOperator = async (number: number, range: ObservedRange): Promise<contract.OperatorSpan[]> => {
    const now = Date.now();
    const [seen, jobsIn] = await Promise.all([
      number === operator ? observedOfService(reader, range, now) : null,
      jobsInBars(range, (row) => row.operator === number),
    ]);
    return barsOf(range, now).map((start, index) => {
      const { settled, failed, refunded, credits } = jobsIn(start);
      const from = new Date(start * 1_000).toISOString();
      return { from, charged: settled, failed: failed - refunded, refunded, credits, observed: seen?.[index] ?? null };
    });
  };
  /** Sums of some jobs in each bar, by its begin. Those of a day are kept by ten minutes, those before it by six hours. */
  const jobsInBars = async (range: ObservedRange, isMeant: (row: DayRow | SpanRow) => boolean) => {
    const rows: readonly (DayRow | SpanRow)[] = range === "24h" ? await day() : (await past()).rows;
    const totals = totalsIn(rows.filter(isMeant), OBSERVED_RANGES[range].seconds);
    return (from: number): JobSums => totals.get(from) ?? NOTHING;
  };
  const modelSeen: RequestHandler = async (request, response) => {
    const [{ number }, range] = [await modelOf(request), rangeOf(request)];
    response.type("json").send(await charts.get(`model ${number} ${range}`, () => seenOfModel(number, range)));
  };
  const workerSeen: RequestHandler = async (request, response) => {
    const [{ signer }, range] = [await workerOf(request), rangeOf(request)];
    const seen = async () => ({ spans: await seenOfWorker(signer, range) });
    response.type("json").send(await charts.get(`worker ${signer} ${range}`, seen));
  };
  const workers: RequestHandler = async (_request, response) => {
    const list = async () => ({ data: await shownWorkers(await listWorkers(reader)) });
    response.type("json").send(await pages.get("workers", list));
  };
  const workerPage = async (row: WorkerRow): Promise<object> => {
    const { signer } = row;
    const [[shown], owed, jobs, history] = await Promise.all([
      shownWorkers([row]),
      listTreasuryDebts(reader, signer),
      listJobsBy(reader, "worker", { value: signer, limit: JOBS_SHOWN }),
      listHistory(reader, "worker", { subject: signer, limit: EVENTS_SHOWN }),
    ]);
    const debts = owed.map(({ jobId, units }) => ({ job_id: toApiJobId(jobId), units }));
    return { ...shown, owed: debts, jobs: jobs.map(showJob), history: history.map(showEvent) };
  };
  const worker: RequestHandler = async (request, response) => {
    const row = await workerOf(request);
    response.type("json").send(await pages.get(`worker ${row.number}`, () => workerPage(row)));
  };
  const operators: RequestHandler = async (_request, response) => {
    const list = async () => ({ data: await shownOperators(await listOperators(reader)) });
    response.type("json").send(await pages.get("operators", list));
  };
  const operatorPage = async (row: OperatorRow) => {
    const [[shown], against, jobs, history] = await Promise.all([
      shownOperators([row]),
      listDisputesLostBy(reader, row.number, DISPUTES_SHOWN),
      listJobsOfOperator(reader, row.number, JOBS_SHOWN),
      listHistory(reader, "operator", { subject: String(row.number), limit: EVENTS_SHOWN }),
    ]);
    const lost = against.map(showDispute);
    return { ...shown, against: lost, jobs: jobs.map(showJob), history: history.map(showEvent) };
  };
  const oneOperator: RequestHandler = async (request, response) => {
    const row = await operatorOf(request);
    response.type("json").send(await pages.get(`operator ${row.number}`, () => operatorPage(row)));
  };
  const operatorSeen: RequestHandler = async (request, response) => {
    const [{ number }, range] = [await operatorOf(request), rangeOf(request)];
    const seen = async () => ({ spans: await seenOfOperator(number, range) });
    response.type("json").send(await charts.get(`operator ${number} ${range}`, seen));
  };
  /** The network's present figures: workers that answer, models that one of them hosts, and this operator's jobs. */
  const network: RequestHandler = async (_request, response) => {
    const [rows, credits_total, jobs, catalog] = await Promise.all([day(), total(), latest(), listModels(reader)]);
    const today = totalsBy(rows, (row) => row.operator).get(operator) ?? NOTHING;
    response.json({
      workers: pool.states().filter(({ healthy }) => healthy).length,
      models: catalog.filter((one) => !one.retired && pool.hosts(one.number).length > 0).length,
      jobs_24h: today.jobs,
      credits_24h: today.credits,
      credits_total,
      latest: jobs.map(showJob),
    } satisfies contract.Network);
  };

  const disputes: RequestHandler = async (request, response) => {
    const { before } = request.query;
    if (before !== undefined && !/^\d{1,15}$/.test(String(before))) {
      throw new ApiError("invalid_request", "before: must be the `next` of an earlier page", { param: "before" });
    }
    const page = { limit: DISPUTES_SHOWN, before: before === undefined ? undefined : Number(before) };
    const [open, rows] = await Promise.all([
      before === undefined ? listDisputes(reader, { open: true, limit: OPEN_DISPUTES_SHOWN }) : [],
      listDisputes(reader, page),
    ]);
    response.json({
      open: open.map(showDispute),
      ended: rows.filter(({ ruling }) => ruling !== null).map(showDispute),
      next: rows.length === DISPUTES_SHOWN ? (rows.at(-1)?.position ?? null) : null,
    } satisfies contract.DisputePage);
  };
  const dispute: RequestHandler = async (request, response) => {
    const id = String(request.params.id);
    const jobId = fromApiJobId(id);
    const row = jobId && (await getDispute(reader, jobId));
    if (row === null) throw new WebError("not_found", `No dispute of job '${id}' is on the chain (yet).`);
    const set = await getArbiters(reader, row.arbiterSet);
    response.json({
      ...showDispute(row),
      worker: getAddress(row.worker),
      received_hash: row.receivedHash,
      joined_hash: row.joinedHash,
      worker_hash: row.workerHash,
      opened_tx: row.openedTx,
      resolved_tx: row.resolvedTx,
      credits_returned: row.creditsReturned,
      arbiter_set: row.arbiterSet,
      arbiters: (set?.arbiters ?? []).map(getAddress),
      quorum: set?.quorum ?? null,
      ballots: Object.entries(row.ballots).map(([arbiter, { ruling }]) => ({ arbiter: getAddress(arbiter), ruling })),
    } satisfies contract.Dispute);
  };

  return Router()
    .get("/disputes", disputes)
    .get("/disputes/:id", dispute)
    .get("/models", models)
    .get("/models/:id", model)
    .get("/models/:id/observed", modelSeen)
    .get("/workers", workers)
    .get("/workers/:id", worker)
    .get("/workers/:id/observed", workerSeen)
    .get("/operators", operators)
    .get("/operators/:id", oneOperator)
    .get("/operators/:id/observed", operatorSeen)
    .get("/network", network);
}

/** The time that a chart shows: 24 hours unless the request names another one. */
function rangeOf({ query: { range = "24h" } }: Request): ObservedRange {
  if (Object.hasOwn(OBSERVED_RANGES, String(range))) return range as ObservedRange;
  const known = Object.keys(OBSERVED_RANGES).join(", ");
  throw new ApiError("invalid_request", `range: must be one of ${known}, not ${quoted(String(range))}`, {
    param: "range",
  });
}

const showModel = (row: ModelRow, pool: AskedWorkers, today: JobSums): Omit<contract.Model, "observed_24h"> => ({
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
  prices_change_at: isoTime(row.pricesChangeAt),
  retires_at: isoTime(row.retiresAt),
  retired: row.retired,
  active_workers: pool.hosts(row.number).length,
  demo: pool.isDemo(row.number),
  jobs_24h: today.settled,
  credits_24h: today.credits,
  success_24h: shareOf(today.settled, today.failed),
});

/** Stablecoin units an hour; of less than a minute nothing is said. */
function hourlyPay(time: WorkTime | undefined, units: { all: number; ours: number }): contract.HourlyPay | null {
  if (time === undefined) return null;
  const pay = (hours: number, earned: number) => ({ hours, units: hours < 1 / 60 ? null : Math.round(earned / hours) });
  return { asked: pay(time.asked, units.all), at_work: pay(time.atWork, units.ours) };
}

const showOperator = (row: OperatorRow, today: JobSums, ruled: readonly RulingTotal[]): contract.Operator => ({
  number: row.number,
  admin: getAddress(row.admin),
  stopped: row.stopped,
  reserve: row.reserve,
  held: row.held,
  leaving: row.leaving,
  leaves_at: isoTime(row.leavesAt),
  signers: row.signers.map(({ signer, addedAt, removedAt }) => ({
    address: getAddress(signer),
    added_at: isoTime(addedAt),
    removed_at: isoTime(removedAt),
  })),
  admitted_at: isoTime(row.admittedAt),
  jobs_24h: today.settled,
  credits_24h: today.credits,
  success_24h: shareOf(today.settled, today.failed),
  failed_24h: today.failed,
  fee_units_24h: Number(toUnits(today.credits)) - today.units,
  earned_24h: today.earned,
  earned: row.earned,
  disputes: Object.fromEntries(
    ([...RULINGS, "open"] as const).map((name) => [name, ruled.find(({ ruling }) => ruling === name)?.disputes ?? 0]),
  ) as contract.Operator["disputes"],
  paid: ruled.reduce((sum, { paid }) => sum + paid, 0),
});

/** Without its details: those can hold a worker's own words, and nobody knows where it has them from. */
const showIncident = (incident: WorkerIncident): contract.Incident => ({
  code: incident.code,
  severity: incident.severity,
  title: incident.title,
  occurrences: incident.occurrences,
  first_at: incident.firstAt.toISOString(),
  last_at: incident.lastAt.toISOString(),
  job_id: incident.jobId && toApiJobId(incident.jobId),
});

const showDispute = (row: DisputeRow): contract.ListedDispute => ({
  job_id: toApiJobId(row.jobId),
  wallet: getAddress(row.wallet),
  opened_by: row.byOperator ? "operator" : "wallet",
  from_proven: row.fromProven,
  credits: row.credits,
  bond: row.bond,
  votes: {
    worker_at_fault: row.votesWorkerAtFault,
    gateway_at_fault: row.votesGatewayAtFault,
    rejected: row.votesRejected,
  },
  opened_at: isoTime(row.openedAt),
  rule_from: isoTime(row.ruleFrom),
  rule_before: isoTime(row.ruleBefore),
  ruling: row.ruling,
  resolved_at: isoTime(row.resolvedAt),
});

export const showJob = (job: ListedJob): contract.ListedJob => ({
  id: toApiJobId(job.id),
  status: job.status,
  model: job.model,
  credits: job.credits,
  worker: job.worker && getAddress(job.worker),
  created_at: isoTime(job.createdAt),
});

export const showEvent = ({ kind, blockNumber, blockTime, txHash, data }: HistoryEvent): contract.HistoryEvent => ({
  kind,
  block_number: blockNumber,
  occurred_at: isoTime(blockTime),
  tx: txHash,
  data: Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      name,
      typeof value === "string" && /^0x[0-9a-f]{40}$/.test(value) ? getAddress(value) : value,
    ]),
  ),
});

const rounded = (ms: number | null | undefined): number | null => (ms == null ? null : Math.round(ms));

/** Share of what went well; null of nothing. */
const shareOf = (good: number, bad: number): number | null => (good + bad === 0 ? null : good / (good + bad));
