/** The checks before a worker works or hands an answer out: who asks, for which operator, and what the chain says of the job. */
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
import { type PreconfirmationLimit, preconfirmationLimit } from "../../shared/preconfirmation-limit.ts";
import type { ChainJob, ChainReader, OfferedJob, Sighting, Signer } from "../chain.ts";
import type { Config } from "../config.ts";
import type { Identity } from "../keys.ts";
import { Refusal } from "../reply.ts";

/** The address that signed an assignment, and its operator. */
export type Gateway = { operator: number; address: Address };

/** Seconds by which a gateway's clock may differ from this one. */
export const CLOCK_SKEW = 60;

/** Pause before a lock is looked for again. */
const LOOK_MS = 100;

/** The settings that the checks use. */
export type CheckSettings = Pick<
  Config,
  "models" | "lockWaitMs" | "lockSeen" | "preconfirmedJobCredits" | "preconfirmedCredits"
>;

/**
 * A lock that is enough for the job to begin. `giveBack`: of one that is only promised, gives back the room that the job takes in the worker's limit;
 * null of a mined one.
 */
export type SeenLock = Sighting & { giveBack: (() => void) | null };

/** Checks of an assignment. All of them come before the first token and the first signature; each throws a Refusal. */
export class AssignmentChecks {
  readonly #identity: Identity;
  readonly #reader: ChainReader;
  readonly #settings: CheckSettings;
  readonly #promises: PreconfirmationLimit;

  constructor(identity: Identity, reader: ChainReader, settings: CheckSettings) {
    this.#identity = identity;
    this.#reader = reader;
    this.#settings = settings;
    const { lockSeen, preconfirmedJobCredits, preconfirmedCredits } = settings;
    this.#promises = preconfirmationLimit(lockSeen, preconfirmedJobCredits, preconfirmedCredits);
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

  /**
   * Finds the lock on chain, or promised where this worker takes that. The job must be open, of this gateway's operator and this model, paid in full
   * and still to be taken.
   */
  async locked(dispatch: Dispatch, gateway: Gateway): Promise<SeenLock> {
    const { assignment } = dispatch;
    const number = onChain(() => this.#reader.modelNumber(dispatch.model));
    number.catch(() => {}); // It is awaited below.
    const { signer, ...seen } = await onChain(() => this.#sight(assignment.jobId, gateway));
    try {
      // Without a signer in office nobody can settle the job for this worker.
      requireInOffice(gateway, signer);
      requireOpen(seen.job, assignment.attempt);
      requirePayable(seen.job, dispatch, { gateway, model: await number });
      if (seen.blockTime >= assignment.acknowledgeBy) {
        throw new Refusal(RefusalCode.NotAssigned, "the assignment has expired");
      }
      return seen;
    } catch (error) {
      seen.giveBack?.();
      throw error;
    }
  }

  /** Waits until a lock that was promised is mined. It must still pay for the job. Rejects when `signal` fires. */
  async mined(dispatch: Dispatch, gateway: Gateway, promised: Sighting, signal: AbortSignal): Promise<Sighting> {
    const { jobId } = dispatch.assignment;
    for (let { block } = promised; ; ) {
      await this.#reader.blockAfter(block, signal);
      try {
        const [seen] = (await this.#reader.sightAll([jobId])) as [Sighting];
        if (seen.job.status !== ChainStatus.None) {
          requirePayable(seen.job, dispatch, { gateway, model: await this.#reader.modelNumber(dispatch.model) });
          return seen;
        }
        block = seen.block;
      } catch (error) {
        if (error instanceof Refusal) throw error;
      }
      // The node does not answer, or answers from an older block than another node of its address has shown: it is asked again.
      await setTimeout(LOOK_MS, undefined, { signal });
    }
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

  /** A node behind a load balancer may be a block late: the lock gets a moment to appear. A mined lock is preferred to a promised one. */
  async #sight(jobId: Hex, { address }: Gateway): Promise<SeenLock & Pick<OfferedJob, "signer">> {
    const until = performance.now() + this.#settings.lockWaitMs;
    const alsoPromised = !this.#promises.isClosed;
    for (;;) {
      const { promised, ...seen } = await this.#reader.sight(jobId, address, { alsoPromised });
      if (seen.job.status !== ChainStatus.None) return { ...seen, giveBack: null };
      const giveBack = promised === null ? null : this.#promises.take(promised.credits);
      if (promised !== null && giveBack !== null) return { ...seen, job: promised, giveBack };
      if (performance.now() > until) return { ...seen, giveBack: null };
      await setTimeout(LOOK_MS);
    }
  }
}

function requireOpen({ status, attempt }: ChainJob, offered: number): void {
  if (status === ChainStatus.Locked || (status === ChainStatus.Acknowledged && attempt < offered)) return;
  const message = `the chain shows no job open for this attempt (status ${status}, attempt ${attempt})`;
  throw new Refusal(RefusalCode.NotLocked, message);
}

function requirePayable(
  job: ChainJob,
  { request, model: name }: Dispatch,
  { gateway, model }: { gateway: Gateway; model: number | null },
): void {
  if (job.operator !== gateway.operator) {
    const whose = `operator ${job.operator}, not ${gateway.operator}`;
    throw new Refusal(RefusalCode.NotAssigned, `the job was locked by ${whose}`);
  }
  if (job.model !== model) {
    throw new Refusal(RefusalCode.BadRequest, `the job was locked for another model than ${name}`);
  }
  // Beyond the lock nobody pays: it must cover the most that the answer can cost.
  const price = quote(request.max_tokens, job);
  if (price > job.credits) {
    throw new Refusal(
      RefusalCode.BadRequest,
      `${request.max_tokens} tokens can cost ${price} credits, but ${job.credits} are locked`,
    );
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
