import type pg from "pg";
import type { Logger } from "pino";
import type { Hex } from "viem";
import { toApiJobId } from "../../protocol/job-id.ts";
import { INCIDENTS, type IncidentCode, incidentCode, type Severity } from "../jobs/incident.ts";

/** Incidents of one kind within one hour. Times are of the first and the latest; `jobId` and `detail` are the latest's. */
export type WorkerIncident = {
  worker: string;
  code: IncidentCode;
  severity: Severity;
  /** What the worker did, as the rest of a sentence about it. */
  title: string;
  occurrences: number;
  firstAt: Date;
  lastAt: Date;
  jobId: string | null;
  detail: string;
};

/** Latest incidents of these workers (their signing keys), newest first, at most `each` of one worker. */
export async function listWorkerIncidents(
  reader: Pick<pg.Pool, "query">,
  workers: readonly string[],
  each: number,
): Promise<WorkerIncident[]> {
  const { rows } = await reader.query({
    name: "worker-incidents",
    text: `SELECT worker, code, occurrences, first_at AS "firstAt", last_at AS "lastAt", job_id AS "jobId", detail
           FROM (SELECT *, row_number() OVER (PARTITION BY worker ORDER BY last_at DESC, code) AS place
                 FROM worker_incident WHERE worker = ANY($1)) i
           WHERE place <= $2 ORDER BY last_at DESC, code`,
    values: [workers.map((worker) => worker.toLowerCase()), each],
  });
  return rows.map((row) => {
    const code = incidentCode(row.code);
    return { ...row, code, ...INCIDENTS[code] };
  });
}

/** Writes incidents down. */
export class IncidentStore {
  readonly #pool: pg.Pool;
  readonly #logger: Logger;

  constructor(pool: pg.Pool, logger: Logger) {
    this.#pool = pool;
    this.#logger = logger;
  }

  /** Stores one incident, without waiting: a job must not be held up by the record of its failure. */
  record(worker: string, code: IncidentCode, detail: string, jobId: Hex | null): void {
    this.#pool
      .query({
        name: "worker-incident",
        text: `INSERT INTO worker_incident (worker, code, hour, job_id, detail)
               VALUES ($1, $2, date_trunc('hour', now()), $3, $4)
               ON CONFLICT (worker, code, hour) DO UPDATE SET occurrences = worker_incident.occurrences + 1, last_at = now(),
                 job_id = COALESCE(excluded.job_id, worker_incident.job_id), detail = excluded.detail`,
        values: [worker.toLowerCase(), code, jobId === null ? null : toApiJobId(jobId), detail],
      })
      .catch((error) => this.#logger.warn({ err: error, worker, code }, "a worker's incident could not be stored"));
  }

  /** Deletes incidents older than that. */
  async prune(days: number): Promise<void> {
    await this.#pool.query("DELETE FROM worker_incident WHERE last_at < now() - make_interval(days => $1)", [days]);
  }
}
