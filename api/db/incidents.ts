/** Incidents at workers: their kinds, and the record that operators and a worker's page show. */
import type pg from "pg";
import type { Logger } from "pino";
import type { Hex } from "viem";
import { JobErrorCode, RefusalCode } from "../../protocol/dispatch.ts";
import { toApiJobId } from "../../protocol/job-id.ts";
import { CHAIN_JOB_ID, type Reader } from "./pool.ts";

/**
 * How much an incident says about its worker.
 *   misconduct  no honest software does it: the worker rests long
 *   absence     the worker cannot be reached, or takes no jobs now: it rests 1, 2, 4 … 60 s
 *   failure     a job failed at the worker, perhaps through its own request: the gateway tests the model, and only a failed test
 *               takes it out of use
 *   refusal     before it takes the job the worker says honestly that it has no room for it, or no part in it: it keeps its place
 *   note        nothing was lost and nothing follows from it, but somebody should know
 */
type Severity = "misconduct" | "absence" | "failure" | "refusal" | "note";

type Kind = { severity: Severity; title: string };
const misconduct = (title: string): Kind => ({ severity: "misconduct", title });
const absence = (title: string): Kind => ({ severity: "absence", title });
const failure = (title: string): Kind => ({ severity: "failure", title });
const refusal = (title: string): Kind => ({ severity: "refusal", title });

/** Every incident the gateway tells apart: values of the metric's label `code` and of the stored incidents. */
export const INCIDENTS = {
  // The gateway finds these out by itself.
  hash_mismatch: misconduct("signed another answer than it sent"),
  wrong_length: misconduct("signed another length than its answer has"),
  wrong_signature: misconduct("sent a completion that its key did not sign"),
  wrong_job: misconduct("sent the completion of another job"),
  wrong_time: misconduct("dated its completion outside the job's time"),
  tokens_over_reported: misconduct("counted more tokens than it can have sent"),
  tokens_implausible: { severity: "note", title: "counted far more tokens than its text has" },
  bad_acknowledgement: misconduct("sent an acknowledgement that its key did not sign"),
  settlement_refused: misconduct("answered a job of a model that it no longer hosted when that was to be settled"),
  took_refused: misconduct("took a job on chain that it had refused"),
  signed_twice: misconduct("signed one answer for its client and proved another"),
  malformed: misconduct("broke the protocol"),
  oversized: misconduct("sent more than an answer can be"),
  ended_early: { severity: "note", title: "ended a long answer before max_tokens and before the job's time" },
  withheld: absence("proved an answer on chain that it did not deliver"),
  endpoint_refused: absence("registered an endpoint that must not be asked"),
  unreachable: absence("could not be reached"),
  broken_stream: failure("broke off its answer"),
  cut_short: failure("ended an answer at its length before max_tokens and before the job's time"),
  unfinished: failure("ended its answer without a completion"),
  silent: failure("did not answer an offer in time"),
  stalled: failure("took a job, or held its offer, and sent no token"),
  failed_test: failure("has a model that failed the gateway's own test"),
  never_finished: failure("did not finish within the job's time"),
  refused: failure("refused in a way the protocol does not know"),
  other: failure("gave a reason the protocol does not know"),
  // The worker itself reports these.
  [JobErrorCode.BackendFailed]: failure("reported that its model server failed"),
  [JobErrorCode.Timeout]: failure("reported that it ran out of time"),
  [JobErrorCode.TooLong]: failure("reported an answer longer than its limit"),
  [JobErrorCode.Superseded]: absence("reported that the job went to another worker"),
  [JobErrorCode.Stopping]: absence("was stopped"),
  [JobErrorCode.Internal]: failure("reported a fault of its own"),
  [RefusalCode.Busy]: refusal("was full"),
  [RefusalCode.Draining]: refusal("was stopping"),
  [RefusalCode.UnknownModel]: refusal("does not host a model that it registered"),
  [RefusalCode.RequestRefused]: failure("has a model server that did not take a request"),
  [RefusalCode.ContextExceeded]: failure("has a model server that did not hold a conversation"),
  [RefusalCode.NotAssigned]: absence("did not accept the assignment"),
  [RefusalCode.NotLocked]: absence("did not see the lock"),
  [RefusalCode.AlreadyTaken]: absence("said that it took the job before"),
  [RefusalCode.BadRequest]: failure("did not accept the request"),
  [RefusalCode.NotRunning]: absence("said that the job does not run"),
  [RefusalCode.NotFinished]: failure("said that the job still runs"),
  [RefusalCode.NoOutput]: failure("has no answer of the job"),
  [RefusalCode.ChainUnavailable]: absence("could not read the chain"),
} as const satisfies Record<string, Kind>;

export type IncidentCode = keyof typeof INCIDENTS;

/** The code as this gateway knows it: a worker cannot invent new ones, which would become new series and rows. */
export function incidentCode(code: string): IncidentCode {
  return Object.hasOwn(INCIDENTS, code) ? (code as IncidentCode) : "other";
}

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
  jobId: Hex | null;
  detail: string;
};

/** Latest incidents of these workers (their signing keys), newest first, at most `each` of one worker. */
export async function listWorkerIncidents(
  reader: Reader,
  workers: readonly string[],
  each: number,
): Promise<WorkerIncident[]> {
  const { rows } = await reader.query({
    name: "worker-incidents",
    text: `SELECT worker, code, occurrences, first_at AS "firstAt", last_at AS "lastAt", ${CHAIN_JOB_ID} AS "jobId", detail
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

const FAILED_JOBS = (Object.keys(INCIDENTS) as IncidentCode[]).filter((code) =>
  ["absence", "failure", "misconduct"].includes(INCIDENTS[code].severity),
);

/** Failures and misconducts of the last 24 hours that concerned a job, by worker (lower case). */
export async function countFailedJobs(reader: Reader): Promise<Map<string, number>> {
  const { rows } = await reader.query({
    name: "worker-failed-jobs",
    text: `SELECT worker, sum(occurrences)::int AS failures FROM worker_incident
           WHERE last_at > now() - interval '24 hours' AND job_id IS NOT NULL AND code = ANY($1) GROUP BY worker`,
    values: [FAILED_JOBS],
  });
  return new Map(rows.map(({ worker, failures }) => [worker, failures]));
}

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

  async prune(days: number): Promise<void> {
    await this.#pool.query("DELETE FROM worker_incident WHERE last_at < now() - make_interval(days => $1)", [days]);
  }
}
