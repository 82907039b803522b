import { type Address, decodeFunctionResult, encodeFunctionData, type Hex } from "viem";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import { type Rpc, RpcError, RpcUnreachable, twice } from "./rpc.ts";

/** What a wallet allows gateways to lock, and what they locked on the UTC day `spentDay` (days since 1970). */
export type SpendingLimits = { frozen: boolean; dailyLimit: number | null; spentToday: number; spentDay: number };

/** A wallet's account at the end of one block. `ended`: those of the jobs asked for that hold no escrow there any more. */
export type AccountAtBlock = {
  block: number;
  free: number;
  escrowed: number;
  limits: SpendingLimits;
  ended: ReadonlySet<Hex>;
};

const READ_TIMEOUT_MS = 3_000;
/** Pauses before a refused read is tried again: one node of an address can be a block behind the one that was asked first. */
const RETRY_MS = [100, 300, 900];
/** Bits of an account's flags. */
const FROZEN = 1;
const LIMITED = 2;
/** States of a job whose escrow is still held. None: a reorganisation took its lock back, and its end with it. */
const HOLDING: readonly number[] = [ChainStatus.None, ChainStatus.Locked, ChainStatus.Acknowledged, ChainStatus.Proven];

/** Reads a wallet's account and jobs of it at one block, so that balance and jobs are of the same state of the chain. */
export class AccountReader {
  readonly #rpc: Rpc;
  readonly #escrow: Address;

  constructor(rpc: Rpc, escrow: Address) {
    this.#rpc = rpc;
    this.#escrow = escrow;
  }

  /**
   * The account at the newest block. `jobs` is asked once that block is known: a job that is settled only from then on is settled in a
   * later one. Rejects with RpcUnreachable, also where the nodes do not come to agree.
   */
  async read(wallet: Address, jobs: () => Iterable<Hex>): Promise<AccountAtBlock> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await twice(() => this.#atNewest(wallet, jobs));
      } catch (error) {
        const pause = RETRY_MS[attempt];
        if (!(error instanceof RpcError)) throw error;
        if (pause === undefined) throw new RpcUnreachable("account", error);
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  async #atNewest(wallet: Address, jobs: () => Iterable<Hex>): Promise<AccountAtBlock> {
    const block = await this.#rpc.request<Hex>("eth_blockNumber", [], READ_TIMEOUT_MS);
    const [account, ended] = await Promise.all([
      this.#account(wallet, block),
      Promise.all([...jobs()].map(async (jobId) => ((await this.#hasEnded(jobId, block)) ? [jobId] : []))),
    ]);
    const { free, escrowed, flags, dailyLimit, spentToday, spentDay } = account;
    const limits = {
      frozen: (flags & FROZEN) !== 0,
      dailyLimit: (flags & LIMITED) !== 0 ? dailyLimit : null,
      spentToday,
      spentDay,
    };
    return { block: Number(block), free, escrowed, limits, ended: new Set(ended.flat()) };
  }

  async #account(wallet: Address, block: Hex) {
    const question = { abi: inferenceEscrowAbi, functionName: "accountOf" } as const;
    const data = await this.#call(encodeFunctionData({ ...question, args: [wallet] }), block);
    return decodeFunctionResult({ ...question, data });
  }

  async #hasEnded(jobId: Hex, block: Hex): Promise<boolean> {
    const question = { abi: inferenceEscrowAbi, functionName: "jobOf" } as const;
    const data = await this.#call(encodeFunctionData({ ...question, args: [jobId] }), block);
    return !HOLDING.includes(decodeFunctionResult({ ...question, data }).status);
  }

  #call(data: Hex, block: Hex): Promise<Hex> {
    return this.#rpc.request<Hex>("eth_call", [{ to: this.#escrow, data }, block], READ_TIMEOUT_MS);
  }
}
