import type { Address, Hex } from "viem";
import { type AccountAtBlock, AccountReader, type SpendingTerms, termsOf } from "./account-reader.ts";
import { ExpectedReturns } from "./expected-returns.ts";
import type { Head } from "./head.ts";
import type { Operation } from "./operations.ts";
import { accountIn, endOfBlock, type MinedBatch } from "./outcome.ts";
import type { Rpc } from "./rpc.ts";

export type { SpendingTerms } from "./account-reader.ts";

/** Credits of a wallet. `free` can be spent and withdrawn; `escrowed` is locked in unfinished jobs. */
export type Balance = { free: number; escrowed: number };

/** A balance as the chain has it at `position`. */
type Entry = Balance & {
  position: number;
  terms: SpendingTerms | null;
  /** So many transactions of our signer are in this balance, although not all of them may be seen mined yet. */
  sent: number;
  /** When it was last seen, and when the chain was asked for it; never asked for what events told. `performance.now()`. */
  seenAt: number;
  askedAt: number;
};

/** How long a balance seen on chain is shown without asking the chain again; others may deposit or withdraw meanwhile. */
const FRESH_MS = 1_000;
const MAX_ENTRIES = 10_000;

/**
 * Balances as the chain shows them, kept current by the events of our own transactions, plus what settlements that the chain does not
 * have yet will return: a client reads its own writes.
 */
export class Balances {
  readonly #reader: AccountReader;
  readonly #head: Pick<Head, "time">;
  readonly #entries = new Map<string, Entry>();
  readonly #returns = new ExpectedReturns();
  /** Reads under way, one a wallet at most. */
  readonly #reading = new Map<string, { startedAt: number; done: Promise<Balance> }>();

  /** `signer` sends this process's settlements, and no other process does. */
  constructor(rpc: Rpc, { escrow, signer, head }: { escrow: Address; signer: Address; head: Pick<Head, "time"> }) {
    this.#reader = new AccountReader(rpc, escrow, signer);
    this.#head = head;
  }

  /** Takes note of the nonce of the transaction in which operations have left; null: that came to nothing, they wait for another. */
  sent(nonce: number | null, operations: readonly Operation[]): void {
    for (const { kind, jobId } of operations) if (kind === "complete") this.#returns.sent(jobId, nonce);
  }

  /** Takes the balances out of a mined batch. */
  observe(batch: MinedBatch): void {
    for (const [jobId, events] of batch.eventsByJob) {
      if (events.some((event) => event.name !== "JobLocked" && accountIn(event) !== null)) this.#returns.drop(jobId);
    }
    for (const event of [...batch.eventsByJob.values()].flat()) {
      const account = accountIn(event);
      if (account === null) continue;
      const wallet = (event.args.wallet as string).toLowerCase();
      const known = this.#entries.get(wallet);
      if (known && known.position > event.position) continue;
      // A signer's transactions are mined in their order: this batch's balances have what those before it returned, even where
      // their receipts are seen later.
      const sent = batch.nonce + 1;
      // Some events tell balances only: the terms stay as the chain last told them.
      const terms = "flags" in account ? termsOf(account) : (known?.terms ?? null);
      const { free, escrowed } = account;
      const seen = { seenAt: performance.now(), askedAt: Number.NEGATIVE_INFINITY };
      this.#set(wallet, { free, escrowed, position: event.position, terms, sent, ...seen });
    }
  }

  /** A settlement that will give `credits` back is about to be sent; it can be mined before `until` (chain time, Unix seconds). */
  expectReturn(wallet: string, jobId: Hex, credits: number, until: number): void {
    this.#returns.add(wallet.toLowerCase(), jobId, credits, until);
  }

  /** The settlement came to nothing, or is mined. */
  dropReturn(jobId: Hex): void {
    this.#returns.drop(jobId);
  }

  /** Balance now: from the chain unless it was seen within the last second. */
  async current(wallet: string): Promise<Balance> {
    const key = wallet.toLowerCase();
    const entry = this.#entries.get(key);
    if (entry && performance.now() - entry.seenAt < FRESH_MS) return this.#withReturns(key, entry);
    // A read that began a moment ago tells no older state than an entry of that age would.
    return await (this.#reading.get(key)?.done ?? this.#read(key));
  }

  /** The last balance seen, without asking the chain; null if none was. */
  known(wallet: string): Balance | null {
    const key = wallet.toLowerCase();
    const entry = this.#entries.get(key);
    return entry ? this.#withReturns(key, entry) : null;
  }

  /** Who may lock the wallet's credits, as the chain last told it; null if it did not. */
  terms(wallet: string): SpendingTerms | null {
    return this.#entries.get(wallet.toLowerCase())?.terms ?? null;
  }

  /**
   * Balance from the chain, asked for at `since` (`performance.now()`) or later: whatever was mined before that is in it. Calls that
   * come while an older read is under way wait for it and share the next one. Rejects with RpcUnreachable.
   */
  async read(wallet: string, since = performance.now()): Promise<Balance> {
    const key = wallet.toLowerCase();
    for (;;) {
      const entry = this.#entries.get(key);
      if (entry && entry.askedAt >= since) return this.#withReturns(key, entry);
      const reading = this.#reading.get(key);
      const balance = await (reading?.done ?? this.#read(key));
      if (reading === undefined || reading.startedAt >= since) return balance;
    }
  }

  /** The key that signs each of the wallet's jobs; zero for none. Rejects with RpcUnreachable. */
  authorizationKey(wallet: Address): Promise<Address> {
    return this.#reader.authorizationKey(wallet);
  }

  #read(wallet: string): Promise<Balance> {
    const startedAt = performance.now();
    const done = this.#reader
      .read(wallet as Address, () => this.#returns.hasSent(wallet))
      .then((account) => this.#take(wallet, account, startedAt))
      .finally(() => this.#reading.delete(wallet));
    this.#reading.set(wallet, { startedAt, done });
    return done;
  }

  #take(wallet: string, { block, free, escrowed, terms, sent }: AccountAtBlock, askedAt: number): Balance {
    const position = endOfBlock(block);
    const known = this.#entries.get(wallet);
    if (known && known.position > position) {
      // A node behind the one that told of our own transactions: its balance is older than ours.
      known.terms ??= terms;
      return this.#withReturns(wallet, known);
    }
    const entry = { free, escrowed, position, terms, sent, seenAt: performance.now(), askedAt };
    this.#set(wallet, entry);
    return this.#withReturns(wallet, entry);
  }

  #withReturns(wallet: string, entry: Entry): Balance {
    const returning = this.#returns.sum(wallet, entry.sent, this.#head.time);
    return { free: entry.free + returning, escrowed: entry.escrowed - returning };
  }

  #set(wallet: string, entry: Entry): void {
    this.#entries.delete(wallet);
    this.#entries.set(wallet, entry);
    if (this.#entries.size <= MAX_ENTRIES) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}
