/**
 * Jobs as the escrow shows them, each at a named block, and when "there is no such job" may be believed.
 *
 * Behind one address some nodes can be at a block before a lock. Asked for "latest", such a node shows no job. A gateway that believes it
 * leaves a job whose worker can still charge it. So a job is absent only after two looks, each at a named block at which its lock is void.
 * That block must not be older than any block that this database knows of.
 */
import type pg from "pg";
import { type Address, type ContractFunctionReturnType, decodeFunctionResult, type Hex, numberToHex } from "viem";
import { escrowCall } from "../../protocol/calls.ts";
import { inferenceEscrowAbi as abi } from "../../protocol/generated/abi.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { getHead } from "../db/index-reads.ts";
import { type Rpc, RpcError, RpcUnreachable } from "./rpc.ts";

/** A job as the escrow stores it. */
export type ChainJob = ContractFunctionReturnType<typeof abi, "view", "jobOf">;
/** A block by number and hash; its time in Unix seconds. */
type NamedBlock = { number: number; hash: Hex; timestamp: number };
/** A job at a block. `at`: when the node was asked, ms since the epoch. `known`: the newest block that the database knew of then. */
export type JobSighting = { jobId: Hex; job: ChainJob; block: NamedBlock; at: number; known: number };

type RawBlock = { number: Hex; hash: Hex; timestamp: Hex };

/** A look that found no job. */
type AbsentLook = Pick<JobSighting, "block" | "at" | "known">;
/** `validUntil`: chain time from which the lock is void. `inclusion`: seconds that chain time and this clock may differ. */
type LockTerm = { validUntil: number; inclusion: number };

/** Between the two looks that must agree: longer than nodes of one address usually are apart. */
export const CONFIRM_MS = 20_000;

/** For so long one reading of the newest known block serves every job that is looked at: a sweep looks at all open jobs, one after the other. */
const KNOWN_MS = 1_000;

/**
 * True if no lock of the job can be mined after the block of this look. The block's time decides, or the clock if a quiet chain makes no
 * blocks.
 */
export function isPastLock({ block, at, known }: AbsentLook, { validUntil, inclusion }: LockTerm): boolean {
  if (block.number < known) return false;
  return block.timestamp >= validUntil || at / 1000 > validUntil + inclusion;
}

/**
 * The conclusion from two looks that found no job. `absent`: it was never locked and will not be. `early`: they are too close to each
 * other. `contradiction`: the second is not of a chain that goes on from the first, and counts as a first look.
 */
export function compareLooks(
  first: AbsentLook,
  second: AbsentLook,
  confirmMs: number,
): "absent" | "early" | "contradiction" {
  const goesOn =
    second.block.number > first.block.number ||
    (second.block.number === first.block.number && second.block.hash === first.block.hash);
  if (!goesOn) return "contradiction";
  return second.at - first.at >= confirmMs ? "absent" : "early";
}

type Parts = {
  rpc: Rpc;
  escrow: Address;
  /** Number of the newest block that any source has shown. */
  knownBlock: () => Promise<number>;
  /** The newest block that the node told of. */
  head: { readonly block: { number: number } };
  confirmMs?: number;
};

/** Looks at jobs, and remembers the first look that found none. */
export class JobSightings {
  readonly #parts: Parts;
  readonly #firstLooks = new Map<Hex, AbsentLook>();
  #known: { readAt: number; block: Promise<number> } | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * The job at the newest block, or at the block with a given number. Block and job are asked for in one request, so that one node answers
   * both. Rejects with RpcUnreachable where that node does not have the block.
   */
  async at(jobId: Hex, number = this.#parts.head.block.number): Promise<JobSighting> {
    const { rpc, escrow } = this.#parts;
    const known = await this.#knownBlock();
    const at = Date.now();
    const tag = numberToHex(number);
    const call = { to: escrow, data: escrowCall("jobOf", [jobId]) };
    const calls = [
      { method: "eth_getBlockByNumber", params: [tag, false] },
      { method: "eth_call", params: [call, tag] },
    ];
    const [raw, data] = await rpc.batch<[RawBlock | null, Hex]>(calls).catch((error) => {
      // The call does not revert: what a node refuses is the block, each in its own words.
      throw error instanceof RpcError ? new RpcUnreachable("jobOf", error) : error;
    });
    if (raw === null || Number(raw.number) !== number) {
      throw new RpcUnreachable("jobOf", new Error(`the node does not have block ${number} yet`));
    }
    const job = decodeFunctionResult({ abi, functionName: "jobOf", data });
    if (job.status !== ChainStatus.None) this.#firstLooks.delete(jobId);
    return { jobId, job, block: { number, hash: raw.hash, timestamp: Number(raw.timestamp) }, at, known };
  }

  async #knownBlock(): Promise<number> {
    const now = performance.now();
    if (this.#known === null || now - this.#known.readAt >= KNOWN_MS) {
      this.#known = { readAt: now, block: this.#parts.knownBlock() };
    }
    const reading = this.#known;
    try {
      return await reading.block;
    } catch (error) {
      if (this.#known === reading) this.#known = null;
      throw error;
    }
  }

  /**
   * True if the job was never locked and will not be. Two sightings without a job say so, at least `CONFIRM_MS` apart; until then the
   * caller asks again at a later block.
   */
  isAbsent(sighting: JobSighting, term: LockTerm): boolean {
    const { jobId, job } = sighting;
    if (job.status !== ChainStatus.None || !isPastLock(sighting, term)) return false;
    const first = this.#firstLooks.get(jobId);
    const found =
      first === undefined ? "contradiction" : compareLooks(first, sighting, this.#parts.confirmMs ?? CONFIRM_MS);
    if (found === "contradiction") this.#firstLooks.set(jobId, sighting);
    if (found === "absent") this.#firstLooks.delete(jobId);
    return found === "absent";
  }
}

/** The newest block that the database knows of: one with a transaction of any of its signers, or the newest of the index. */
export async function newestKnownBlock(pool: pg.Pool): Promise<number> {
  const [{ rows }, head] = await Promise.all([
    pool.query<{ block: number | null }>(
      "SELECT max(mined_block)::bigint AS block FROM chain_transaction WHERE mined_block_hash IS NOT NULL",
    ),
    // Without an index the transactions have to do.
    getHead(pool).catch(() => null),
  ]);
  return Math.max(Number(rows[0]?.block ?? 0), head?.blockNumber ?? 0);
}
