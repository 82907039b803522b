import { type Address, decodeFunctionResult, encodeFunctionData, type Hex } from "viem";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { logPosition, type MinedBatch } from "./outcome.ts";
import { type Rpc, twice } from "./rpc.ts";

/** Credits of a wallet. `free` can be spent and withdrawn; `escrowed` is locked in unfinished jobs. */
export type Balance = { free: number; escrowed: number };

/** What a wallet allows gateways to lock, and what they locked on the UTC day `spentDay` (days since 1970). */
export type SpendingLimits = { frozen: boolean; dailyLimit: number | null; spentToday: number; spentDay: number };

type Entry = Balance & { position: number; readAt: number; limits: SpendingLimits | null };
/** Bits of an account's flags. */
const FROZEN = 1;
const LIMITED = 2;

/** How long a balance seen on chain is shown without asking the chain again; others may deposit or withdraw meanwhile. */
const FRESH_MS = 1_000;
const READ_TIMEOUT_MS = 3_000;
const MAX_ENTRIES = 10_000;

/**
 * Balances as the chain shows them, kept current by the events of our own transactions, plus what settlements that are sent
 * and not yet mined will return: a client reads its own writes.
 */
export class Balances {
  readonly #rpc: Rpc;
  readonly #escrow: Address;
  readonly #entries = new Map<string, Entry>();
  readonly #returns = new Map<string, Map<Hex, number>>();

  constructor(rpc: Rpc, escrow: Address) {
    this.#rpc = rpc;
    this.#escrow = escrow;
  }

  /** Takes the balances out of a mined batch. */
  observe(batch: MinedBatch): void {
    for (const [jobId, events] of batch.eventsByJob) {
      for (const { name, args, position } of events) {
        if (typeof args.free !== "number" || typeof args.escrowed !== "number") continue;
        const wallet = (args.wallet as string).toLowerCase();
        if (name !== "JobLocked") this.#forget(wallet, jobId);
        const known = this.#entries.get(wallet);
        if (known && known.position > position) continue;
        // Events tell balances, not limits: those stay as the chain last told them.
        const limits = known?.limits ?? null;
        this.#set(wallet, { free: args.free, escrowed: args.escrowed, position, readAt: Date.now(), limits });
      }
    }
  }

  /** A settlement that will give `credits` back has been sent. */
  expectReturn(wallet: string, jobId: Hex, credits: number): void {
    const key = wallet.toLowerCase();
    const returns = this.#returns.get(key) ?? new Map<Hex, number>();
    this.#returns.set(key, returns.set(jobId, credits));
  }

  /** The settlement came to nothing. */
  dropReturn(wallet: string, jobId: Hex): void {
    this.#forget(wallet.toLowerCase(), jobId);
  }

  /** Balance now: from the chain unless it was seen within the last second. */
  async current(wallet: string): Promise<Balance> {
    const known = this.#entries.get(wallet.toLowerCase());
    if (known && Date.now() - known.readAt < FRESH_MS) return this.#withReturns(wallet, known);
    return this.read(wallet);
  }

  /** The last balance seen, without asking the chain; null if none was. */
  known(wallet: string): Balance | null {
    const entry = this.#entries.get(wallet.toLowerCase());
    return entry ? this.#withReturns(wallet, entry) : null;
  }

  /** Limits as the chain last told them; null if it was not asked. */
  limits(wallet: string): SpendingLimits | null {
    return this.#entries.get(wallet.toLowerCase())?.limits ?? null;
  }

  /** Balance from the chain. */
  async read(wallet: string): Promise<Balance> {
    const { block, account } = await twice(() => this.#ask(wallet));
    const entry = {
      free: account.free,
      escrowed: account.escrowed,
      position: logPosition(block, 0),
      readAt: Date.now(),
      limits: {
        frozen: (account.flags & FROZEN) !== 0,
        dailyLimit: (account.flags & LIMITED) !== 0 ? account.dailyLimit : null,
        spentToday: account.spentToday,
        spentDay: account.spentDay,
      },
    };
    const known = this.#entries.get(wallet.toLowerCase());
    if (known && known.position > entry.position) {
      known.limits = entry.limits;
      return this.#withReturns(wallet, known);
    }
    this.#set(wallet.toLowerCase(), entry);
    return this.#withReturns(wallet, entry);
  }

  async #ask(wallet: string) {
    // The block number is read first: the balance is at least that new, so a later event is never overwritten by it.
    const block = await this.#rpc.request<Hex>("eth_blockNumber", [], READ_TIMEOUT_MS);
    const question = { abi: inferenceEscrowAbi, functionName: "accountOf" } as const;
    const data = encodeFunctionData({ ...question, args: [wallet as Address] });
    const answer = await this.#rpc.request<Hex>("eth_call", [{ to: this.#escrow, data }, "latest"], READ_TIMEOUT_MS);
    return { block: Number(block), account: decodeFunctionResult({ ...question, data: answer }) };
  }

  #withReturns(wallet: string, entry: Entry): Balance {
    let returning = 0;
    for (const credits of this.#returns.get(wallet.toLowerCase())?.values() ?? []) returning += credits;
    return { free: entry.free + returning, escrowed: entry.escrowed - returning };
  }

  #set(wallet: string, entry: Entry): void {
    this.#entries.delete(wallet);
    this.#entries.set(wallet, entry);
    if (this.#entries.size <= MAX_ENTRIES) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  #forget(wallet: string, jobId: Hex): void {
    const returns = this.#returns.get(wallet);
    if (!returns?.delete(jobId) || returns.size > 0) return;
    this.#returns.delete(wallet);
  }
}
