/**
 * Ends what nobody else has to end: disputes on which no arbiter ruled in time, and what the treasury still owes for jobs after a ruling. Anybody
 * may do both on chain, for gas of his own, so a client should not have to.
 */
import type { Logger } from "pino";
import { type Address, erc20Abi, type Hex } from "viem";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { type Repeated, repeat } from "../../shared/repeat.ts";
import { collectDebtOperation, expireOperation, type Operation } from "../chain/operations.ts";
import type { Operator } from "../chain/operator.ts";
import type { Pipeline } from "../chain/pipeline.ts";
import { type Head, type Rpc, RpcError } from "../chain/rpc.ts";
import type { SignerLock } from "../chain/signer-lock.ts";
import { IndexUnavailable, listDebts, listUnruled, type Reader } from "../db/index-reads.ts";

type Parts = {
  jobs: {
    account: { readonly address: Address };
    escrow: Address;
    operator: Pick<Operator, "id">;
    head: Pick<Head, "block">;
    pipeline: Pick<Pipeline, "submit">;
    logger: Logger;
  };
  rpc: Pick<Rpc, "request" | "client">;
  index: Reader;
  stablecoin: Address;
  /** Without its signer to itself (`held`), this process sends nothing. */
  signer: Pick<SignerLock, "held">;
};

const ROUND_MS = 30_000;
/** The most operations of each kind that one round submits: more would hold up jobs in the queue. */
const AT_ONCE = 10;
/** A debt is paid in parts, as the treasury earns. Each part costs gas, so these bound how often one is tried, and its size in token units (1 USDG). */
const DEBT_PAUSE_MS = 3_600_000;
const WORTHWHILE = 1_000_000n;

export class DisputeCloser {
  readonly #parts: Parts;
  /** When the debt of a job was last tried, ms since the epoch. */
  readonly #tried = new Map<Hex, number>();
  #rounds: Repeated | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  start(): void {
    this.#rounds = repeat(() => this.round(), ROUND_MS);
  }

  /** Begins no other round. One that waits for its transactions is not waited for: they are on record. */
  stop(): void {
    void this.#rounds?.stop();
  }

  /** Ends what can be ended now. Never rejects. */
  async round(): Promise<void> {
    const { jobs, signer } = this.#parts;
    if (!signer.held) return;
    try {
      await Promise.all([this.#expire(), this.#collect()]);
    } catch (error) {
      if (error instanceof IndexUnavailable) return;
      jobs.logger.warn({ err: error }, "unruled disputes and debts could not be ended; the next round tries again");
    }
  }

  async #expire(): Promise<void> {
    const { jobs, index } = this.#parts;
    const due = { before: jobs.head.block.timestamp, limit: AT_ONCE };
    const unruled = await listUnruled(index, jobs.operator.id, due);
    await Promise.all(
      unruled.map((jobId) =>
        this.#send(expireOperation(jobId), "no arbiter ruled on a dispute in time: it is expired"),
      ),
    );
  }

  async #collect(): Promise<void> {
    const { jobs, index } = this.#parts;
    for (const [jobId, at] of this.#tried) if (at < Date.now() - DEBT_PAUSE_MS) this.#tried.delete(jobId);
    const debts = (await listDebts(index, jobs.operator.id)).filter(({ jobId }) => !this.#tried.has(jobId));
    if (debts.length === 0) return;
    let left = await this.#inTreasury();
    const payable = debts.filter(({ units }) => {
      // The first debt is paid first, also in part; what is then left may do for a smaller one.
      const isWhole = units <= left;
      if (!isWhole && left < WORTHWHILE) return false;
      left = isWhole ? left - units : 0n;
      return true;
    });
    for (const { jobId } of payable.slice(0, AT_ONCE)) {
      this.#tried.set(jobId, Date.now());
      // If the treasury's limit of the day is reached for one debt, it is reached for all.
      if (!(await this.#send(collectDebtOperation(jobId), "the treasury pays a debt of a job"))) return;
    }
  }

  /** Token units that the treasury holds. */
  async #inTreasury(): Promise<bigint> {
    const { rpc, jobs, stablecoin } = this.#parts;
    const escrow = { address: jobs.escrow, abi: inferenceEscrowAbi } as const;
    const treasury = await rpc.client.readContract({ ...escrow, functionName: "treasury" });
    return await rpc.client.readContract({
      address: stablecoin,
      abi: erc20Abi,
      functionName: "balanceOf",
      args: [treasury],
    });
  }

  /** Sends a call that the chain would take now, and waits for it; false if it would not, or did not. */
  async #send(operation: Operation, done: string): Promise<boolean> {
    const { rpc, jobs } = this.#parts;
    const log = jobs.logger.child({ jobId: operation.jobId, kind: operation.kind });
    const call = { from: jobs.account.address, to: jobs.escrow, data: operation.data };
    try {
      await rpc.request("eth_call", [call, "latest"]);
    } catch (error) {
      // Another gateway was first, or the treasury can pay nothing now.
      if (!(error instanceof RpcError)) throw error;
      log.debug({ err: error }, "the chain would refuse this now");
      return false;
    }
    const outcome = await jobs.pipeline.submit(operation).mined;
    if (outcome.status === "mined") log.info({ tx: outcome.hash }, done);
    else log.info({ revert: outcome.revert.name }, "the chain refused this: somebody else was first");
    return outcome.status === "mined";
  }
}
