/** What a worker checks before it works or hands an answer out: who asks, for which operator, and what the chain says of the job. */
import { setTimeout } from "node:timers/promises";
import { type Address, type Hex, isAddressEqual } from "viem";
import {
  type Dispatch,
  NO_JOB,
  OUTPUT_ACCESS_SECONDS,
  type OutputRequest,
  RefusalCode,
  type TrialRequest,
} from "../../protocol/dispatch.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import type { Assignment } from "../../protocol/messages.ts";
import { quote } from "../../protocol/pricing.ts";
import type { ChainReader, Sighting, Signer } from "../chain.ts";
import type { Config } from "../config.ts";
import type { Identity } from "../keys.ts";
import { Refusal } from "../reply.ts";

/** Who signed an assignment, and for which operator. */
export type Gateway = { operator: number; address: Address };

/** Seconds by which a gateway's clock may differ from this one. */
export const CLOCK_SKEW = 60;

/** Checks of an assignment. All of them come before the first token and the first signature; each throws a Refusal. */
export class AssignmentChecks {
  readonly #identity: Identity;
  readonly #reader: ChainReader;
  readonly #settings: Pick<Config, "models" | "lockWaitMs">;

  constructor(identity: Identity, reader: ChainReader, settings: Pick<Config, "models" | "lockWaitMs">) {
    this.#identity = identity;
    this.#reader = reader;
    this.#settings = settings;
  }

  /** The gateway that signed an assignment for this worker, which may have left office. A known key costs no chain call. */
  async gatewayOf(assignment: Assignment, signature: Hex): Promise<Gateway> {
    if (!this.#identity.is(assignment.worker)) {
      throw new Refusal(
        RefusalCode.NotAssigned,
        `the assignment is for ${assignment.worker}, this worker is ${this.#identity.address}`,
      );
    }
    const address = this.#identity.recoverAssignment(assignment, signature);
    const operator = address === null ? 0 : await this.operatorOf(address);
    if (address === null || operator === 0) {
      throw new Refusal(RefusalCode.NotAssigned, "the assignment is not signed by a gateway of this escrow");
    }
    return { operator, address };
  }

  /** The operator of a key that signed an assignment at some time. */
  operatorOf(key: Address): Promise<number> {
    return onChain(() => this.#reader.operatorOf(key));
  }

  /** The backend's name of a dispatched model. */
  backendModel(model: string): string {
    const name = this.#settings.models.get(model);
    if (name === undefined) throw new Refusal(RefusalCode.UnknownModel, `this worker does not host ${model}`);
    return name;
  }

  /** Finds the lock on chain. The job must be open, of this gateway's operator and this model, paid in full and still to be taken. */
  async locked({ assignment, model, request }: Dispatch, gateway: Gateway): Promise<Sighting> {
    const [seen, number] = await onChain(() =>
      Promise.all([this.#sight(assignment.jobId, gateway), this.#reader.modelNumber(model)]),
    );
    const { job, signer, blockTime } = seen;
    // Without a signer in office nobody can settle the job for this worker.
    requireInOffice(gateway, signer);
    const open =
      job.status === ChainStatus.Locked ||
      (job.status === ChainStatus.Acknowledged && job.attempt < assignment.attempt);
    if (!open) {
      throw new Refusal(
        RefusalCode.NotLocked,
        `the chain shows no job open for this attempt (status ${job.status}, attempt ${job.attempt})`,
      );
    }
    if (job.operator !== gateway.operator) {
      const whose = `operator ${job.operator}, not ${gateway.operator}`;
      throw new Refusal(RefusalCode.NotAssigned, `the job was locked by ${whose}`);
    }
    if (blockTime >= assignment.acknowledgeBy) throw new Refusal(RefusalCode.NotAssigned, "the assignment has expired");
    if (job.model !== number) {
      throw new Refusal(RefusalCode.BadRequest, `the job was locked for another model than ${model}`);
    }
    // Beyond the lock nobody pays: it must cover the most that the answer can cost.
    const price = quote(request.max_tokens, job);
    if (price > job.credits) {
      throw new Refusal(
        RefusalCode.BadRequest,
        `${request.max_tokens} tokens can cost ${price} credits, but ${job.credits} are locked`,
      );
    }
    return seen;
  }

  /** Makes sure that a gateway signs for its operator now, and signed this very request: an assignment alone is no secret. */
  async outputAccess({ access, assignment: { jobId } }: OutputRequest, gateway: Gateway): Promise<void> {
    requireCurrent(access);
    const signer = this.#identity.recoverAccess(jobId, access);
    if (signer === null || !isAddressEqual(signer, gateway.address)) {
      throw new Refusal(RefusalCode.NotAssigned, "`access` is not signed by the gateway that asks");
    }
    requireInOffice(gateway, await onChain(() => this.#reader.signer(gateway.address)));
  }

  /** Makes sure that a gateway of the escrow asks for this trial now. */
  async trialAccess({ access }: TrialRequest): Promise<void> {
    requireCurrent(access);
    const address = this.#identity.recoverAccess(NO_JOB, access);
    const operator = address === null ? 0 : await this.operatorOf(address);
    if (address === null || operator === 0) {
      throw new Refusal(RefusalCode.NotAssigned, "`access` is not signed by a gateway of this escrow");
    }
    requireInOffice({ operator, address }, await onChain(() => this.#reader.signer(address)));
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

function requireCurrent({ expiresAt }: OutputRequest["access"]): void {
  const left = expiresAt - Date.now() / 1000;
  if (left <= 0 || left > OUTPUT_ACCESS_SECONDS + CLOCK_SKEW) {
    throw new Refusal(RefusalCode.NotAssigned, "`access` has expired or lasts too long");
  }
}

function requireInOffice({ address, operator }: Gateway, { removedAt }: Signer): void {
  if (removedAt !== 0) throw new Refusal(RefusalCode.NotAssigned, `${address} signs for operator ${operator} no more`);
}

/** A chain that cannot be read is no statement about the job. */
async function onChain<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const message = "this worker cannot read the chain at the moment";
    throw new Refusal(RefusalCode.ChainUnavailable, message, { cause: error });
  }
}
