import type { Hex } from "viem";

/**
 * Credits that a settlement will give back. `until`: chain time (Unix seconds) from which on the contract refuses it. `nonce`: of the
 * transaction that it left in; null while it waits for one.
 */
type Return = { wallet: string; credits: number; until: number; nonce: number | null };

/** What the settlements that are not yet seen mined will give back. Wallets are lower-case addresses. */
export class ExpectedReturns {
  readonly #byJob = new Map<Hex, Return>();
  readonly #byWallet = new Map<string, Map<Hex, Return>>();

  /** A settlement that will give `credits` back is about to be sent; it can be mined before `until` (chain time, Unix seconds). */
  add(wallet: string, jobId: Hex, credits: number, until: number): void {
    const expected = { wallet, credits, until, nonce: null };
    this.#byJob.set(jobId, expected);
    const jobs = this.#byWallet.get(wallet) ?? new Map<Hex, Return>();
    this.#byWallet.set(wallet, jobs.set(jobId, expected));
  }

  /** The settlement was seen mined, or came to nothing. */
  drop(jobId: Hex): void {
    const expected = this.#byJob.get(jobId);
    if (expected === undefined) return;
    this.#byJob.delete(jobId);
    const jobs = this.#byWallet.get(expected.wallet);
    jobs?.delete(jobId);
    if (jobs?.size === 0) this.#byWallet.delete(expected.wallet);
  }

  /** The job's settlement has left in the signer's transaction of this nonce; null: that came to nothing, and it waits for another. */
  sent(jobId: Hex, nonce: number | null): void {
    const expected = this.#byJob.get(jobId);
    if (expected !== undefined) expected.nonce = nonce;
  }

  /** Whether a settlement of the wallet has left in a transaction. */
  hasSent(wallet: string): boolean {
    for (const { nonce } of this.#byWallet.get(wallet)?.values() ?? []) if (nonce !== null) return true;
    return false;
  }

  /**
   * Credits that will come back to the wallet after the signer's first `sent` transactions, as of `time` (chain time, Unix seconds).
   * What was in one of those has come back. A settlement that can no longer be mined gives nothing back: anyone may then end the job in
   * another way, and its credits may be back already.
   */
  sum(wallet: string, sent: number, time: number): number {
    let credits = 0;
    for (const expected of this.#byWallet.get(wallet)?.values() ?? []) {
      const mined = expected.nonce !== null && expected.nonce < sent;
      if (!mined && time < expected.until) credits += expected.credits;
    }
    return credits;
  }
}
