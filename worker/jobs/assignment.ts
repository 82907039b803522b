import { setTimeout } from "node:timers/promises";
import type { Address, Hex } from "viem";
import { type ChatRequest, type Dispatch, RefusalCode } from "../../protocol/dispatch.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import type { Assignment } from "../../protocol/messages.ts";
import { quote } from "../../protocol/pricing.ts";
import type { Identity } from "../chain/identity.ts";
import type { ChainReader, Sighting, Signer } from "../chain/reader.ts";
import { Refusal } from "../refusal.ts";

/** Who signed an assignment, and for which operator. */
export type Gateway = { operator: number; address: Address };
type Settings = { models: ReadonlyMap<string, string>; lockWaitMs: number };

/** Checks of an assignment, all of which come before the first token and the first signature. */
export class AssignmentChecks {
  readonly #identity: Identity;
  readonly #reader: ChainReader;
  readonly #settings: Settings;

  constructor(identity: Identity, reader: ChainReader, settings: Settings) {
    this.#identity = identity;
    this.#reader = reader;
    this.#settings = settings;
  }

  /** The gateway that signed an assignment for this worker. Costs no chain call once its key is known; it may have left office since. */
  async gatewayOf(assignment: Assignment, signature: Hex): Promise<Gateway> {
    if (!this.#identity.is(assignment.worker)) {
      throw new Refusal(
        RefusalCode.NotAssigned,
        `the assignment is for ${assignment.worker}, this worker is ${this.#identity.address}`,
      );
    }
    const address = this.#identity.recoverAssignment(assignment, signature);
    const operator = address === null ? 0 : await onChain(() => this.#reader.operatorOf(address));
    if (address === null || operator === 0) {
      throw new Refusal(RefusalCode.NotAssigned, "the assignment is not signed by a gateway of this escrow");
    }
    return { operator, address };
  }

  /** Makes sure that the gateway's key signs for its operator now. */
  async inOffice(gateway: Gateway): Promise<void> {
    const { removedAt } = await onChain(() => this.#reader.signer(gateway.address));
    if (removedAt !== 0) throw removed(gateway);
  }

  /** The operator of a key that once signed an assignment. */
  operatorOf(key: Address): Promise<number> {
    return onChain(() => this.#reader.operatorOf(key));
  }

  /** The backend's name of a dispatched model. */
  backendModel(model: string): string {
    const name = this.#settings.models.get(model);
    if (name === undefined) throw new Refusal(RefusalCode.UnknownModel, `this worker does not host ${model}`);
    return name;
  }

  /** Finds the lock on chain and checks that the job is open, of this gateway's operator, of this model, paid in full and still to be taken. */
  async locked(dispatch: Dispatch, gateway: Gateway): Promise<Sighting> {
    const { assignment, model, request } = dispatch;
    const [seen, number] = await onChain(() =>
      Promise.all([this.#sight(assignment.jobId, gateway), this.#reader.modelNumber(model)]),
    );
    const { job, signer, blockTime } = seen;
    // Without a signer in office nobody can settle the job for this worker.
    if (signer.removedAt !== 0) throw removed(gateway);
    const open =
      job.status === ChainStatus.Locked ||
      (job.status === ChainStatus.Acknowledged && job.attempt < assignment.attempt);
    if (!open)
      throw new Refusal(
        RefusalCode.NotLocked,
        `the chain shows no job open for this attempt (status ${job.status}, attempt ${job.attempt})`,
      );
    if (job.operator !== gateway.operator) {
      const whose = `operator ${job.operator}, not ${gateway.operator}`;
      throw new Refusal(RefusalCode.NotAssigned, `the job was locked by ${whose}`);
    }
    if (blockTime >= assignment.acknowledgeBy) throw new Refusal(RefusalCode.NotAssigned, "the assignment has expired");
    if (job.model !== number)
      throw new Refusal(RefusalCode.BadRequest, `the job was locked for another model than ${model}`);
    checkPaid(request, job);
    return seen;
  }

  /** A node behind a load balancer may be a block late: the lock gets a moment to appear. */
  async #sight(jobId: Hex, { address }: Gateway): Promise<Sighting & { signer: Signer }> {
    const until = performance.now() + this.#settings.lockWaitMs;
    for (;;) {
      const seen = await this.#reader.sight(jobId, address);
      if (seen.job.status !== ChainStatus.None || performance.now() > until) return seen;
      await setTimeout(100);
    }
  }
}

function removed({ address, operator }: Gateway): Refusal {
  return new Refusal(RefusalCode.NotAssigned, `${address} signs for operator ${operator} no more`);
}

/** The most the answer can cost must be in escrow: beyond the lock nobody pays. */
function checkPaid(request: ChatRequest, job: Sighting["job"]): void {
  const price = quote(request.max_tokens, job);
  if (price > job.credits) {
    throw new Refusal(
      RefusalCode.BadRequest,
      `${request.max_tokens} tokens can cost ${price} credits, but ${job.credits} are locked`,
    );
  }
}

/** A chain that cannot be read is no statement about the job. */
async function onChain<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw new Refusal(RefusalCode.ChainUnavailable, "this worker cannot read the chain at the moment", {
      cause: error,
    });
  }
}
