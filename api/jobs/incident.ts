import { JobErrorCode, RefusalCode } from "../../protocol/dispatch.ts";

/**
 * How much an incident says about its worker.
 *   misconduct  no honest software does it: the worker rests long
 *   failure     something broke: the worker rests 1, 2, 4 … 60 s
 *   refusal     the worker says honestly that it does not take the job: it keeps its place
 *   note        nothing was lost and nothing follows from it, but somebody should know
 */
export type Severity = "misconduct" | "failure" | "refusal" | "note";

type Kind = { severity: Severity; title: string };
const misconduct = (title: string): Kind => ({ severity: "misconduct", title });
const failure = (title: string): Kind => ({ severity: "failure", title });
const refusal = (title: string): Kind => ({ severity: "refusal", title });

/** Every incident the gateway tells apart: values of the metric's label `code` and of the stored incidents. */
export const INCIDENTS = {
  // What the gateway finds out by itself.
  hash_mismatch: misconduct("signed another answer than it sent"),
  wrong_signature: misconduct("sent a completion that its key did not sign"),
  wrong_job: misconduct("sent the completion of another job"),
  wrong_time: misconduct("dated its completion outside the job's time"),
  tokens_over_reported: misconduct("counted more tokens than it can have sent"),
  tokens_implausible: { severity: "note", title: "counted far more tokens than its text has" },
  bad_acknowledgement: misconduct("sent an acknowledgement that its key did not sign"),
  malformed: misconduct("broke the protocol"),
  oversized: misconduct("sent more than an answer can be"),
  empty: failure("completed a job without any text"),
  endpoint_refused: failure("registered an endpoint that must not be asked"),
  unreachable: failure("could not be reached"),
  broken_stream: failure("broke off its answer"),
  unfinished: failure("ended its answer without a completion"),
  silent: failure("did not answer an offer in time"),
  stalled: failure("took a job and sent no token"),
  never_finished: failure("did not finish within the job's time"),
  refused: failure("refused in a way the protocol does not know"),
  other: failure("gave a reason the protocol does not know"),
  // What the worker says.
  [JobErrorCode.BackendFailed]: failure("reported that its model server failed"),
  [JobErrorCode.Timeout]: failure("reported that it ran out of time"),
  [JobErrorCode.TooLong]: failure("reported an answer longer than its limit"),
  [JobErrorCode.Superseded]: failure("reported that the job went to another worker"),
  [JobErrorCode.Stopping]: failure("was stopped"),
  [JobErrorCode.Internal]: failure("reported a fault of its own"),
  [RefusalCode.Busy]: refusal("was full"),
  [RefusalCode.Draining]: refusal("was stopping"),
  [RefusalCode.UnknownModel]: refusal("does not host a model that it registered"),
  [RefusalCode.NotAssigned]: failure("did not accept the assignment"),
  [RefusalCode.NotLocked]: failure("did not see the lock"),
  [RefusalCode.AlreadyTaken]: failure("said that it took the job before"),
  [RefusalCode.BadRequest]: failure("did not accept the request"),
  [RefusalCode.NotFinished]: failure("said that the job still runs"),
  [RefusalCode.NoOutput]: failure("has no answer of the job"),
  [RefusalCode.ChainUnavailable]: failure("could not read the chain"),
} as const satisfies Record<string, Kind>;

export type IncidentCode = keyof typeof INCIDENTS;

/** The code as this gateway knows it: a worker cannot invent new ones, which would become new series and rows. */
export function incidentCode(code: string): IncidentCode {
  return Object.hasOwn(INCIDENTS, code) ? (code as IncidentCode) : "other";
}

/** A worker's own words, fit for a log and a table: one line, at most 200 characters. */
export function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .trim()
    .slice(0, 200)
    .toWellFormed();
}
