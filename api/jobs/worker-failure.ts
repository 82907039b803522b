/**
 * Why a worker gave no completion. `code`: the gateway's own (api/jobs/incident.ts) or the worker's word. `offered`: whether
 * the signed assignment may have reached it.
 */
export class WorkerFailure extends Error {
  override name = "WorkerFailure";
  readonly code: string;
  readonly offered: boolean;

  constructor(code: string, message: string, offered: boolean, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.offered = offered;
  }
}
