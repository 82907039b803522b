import { isAddressEqual } from "viem";
import { OUTPUT_ACCESS_SECONDS, type OutputRequest, RefusalCode, type WorkerOutput } from "../../protocol/dispatch.ts";
import type { Identity } from "../chain/identity.ts";
import type { CompletionStore } from "../completions/store.ts";
import { Refusal } from "../refusal.ts";
import type { AssignmentChecks, Gateway } from "./assignment.ts";

/** Seconds by which a gateway's clock may be ahead of this one. */
const CLOCK_SKEW = 60;

type Parts = {
  identity: Identity;
  store: CompletionStore;
  checks: AssignmentChecks;
  /** Whether a job runs here now. */
  isRunning: (jobId: string) => boolean;
};

/** Answers of finished jobs, for a gateway of their operator that lost the connection, its memory, or its fellow. */
export class Outputs {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The stored answer. Throws a Refusal when there is none, or the asker has not shown that it is a gateway of the job's operator. */
  async find(request: OutputRequest): Promise<WorkerOutput> {
    const { assignment, signature } = request;
    const gateway = await this.#parts.checks.gatewayOf(assignment, signature);
    if (this.#parts.isRunning(assignment.jobId))
      throw new Refusal(RefusalCode.NotFinished, "the job still runs; ask again");
    const record = await this.#parts.store.read(assignment.jobId);
    if (record === null) throw new Refusal(RefusalCode.NoOutput, "no answer of this job is stored here");
    const { papers } = record;
    if ((await this.#parts.checks.operatorOf(papers.gateway)) !== gateway.operator) {
      throw new Refusal(RefusalCode.NotAssigned, "the job was dispatched by another operator");
    }
    await this.#checkAccess(request, gateway);
    await this.#parts.checks.inOffice(gateway);
    const { text, completion, signature: byWorker, finishReason } = record;
    const acknowledgement = { attempt: papers.assignment.attempt, signature: papers.byWorker };
    return { text, completion, signature: byWorker, finish_reason: finishReason, acknowledgement };
  }

  /** See protocol/dispatch.ts: the assignment alone is no secret. */
  async #checkAccess({ access, assignment: { jobId } }: OutputRequest, gateway: Gateway): Promise<void> {
    const left = access.expiresAt - Date.now() / 1000;
    if (left <= 0 || left > OUTPUT_ACCESS_SECONDS + CLOCK_SKEW)
      throw new Refusal(RefusalCode.NotAssigned, "`access` has expired or lasts too long");
    const { identity } = this.#parts;
    const signer = await identity.recoverAccess(
      { jobId, worker: identity.address, expiresAt: access.expiresAt },
      access.signature,
    );
    if (signer === null || !isAddressEqual(signer, gateway.address)) {
      throw new Refusal(RefusalCode.NotAssigned, "`access` is not signed by the gateway that asks");
    }
  }
}
