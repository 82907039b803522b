import type { Hex } from "viem";

/** Credits that a settlement will give back. `nonce`: of the transaction that it left in; null while it waits for one. */
type Return = { wallet: string; credits: number; nonce: number | null };

/** What the settlements that are not yet seen mined will give back. Wallets are lower-case addresses. */
export class ExpectedReturns {
  readonly #byJob = new Map<Hex, Return>();
  readonly #byWallet = new Map<string, Map<Hex, Return>>();

  /** A settlement that will give `credits` back is about to be sent. */
  add(wallet: string, jobId: Hex, credits: number): void {
    const expected = { wallet, credits, nonce: null };
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

  /** The job's settlement has left in the signer's transaction of this nonce. */
  sent(jobId: Hex, nonce: number): void {
    const expected = this.#byJob.get(jobId);
    if (expected !== undefined) expected.nonce = nonce;
  }

  /** Jobs of the wallet whose settlements are not yet seen mined; those that `admit` wants, by the nonce of their transaction. */
  jobsOf(wallet: string, admit: (jobId: Hex, nonce: number) => boolean | undefined = () => true): Set<Hex> {
    const jobs = new Set<Hex>();
    for (const [jobId, { nonce }] of this.#byWallet.get(wallet) ?? []) {
      if (admit(jobId, nonce ?? Number.POSITIVE_INFINITY)) jobs.add(jobId);
    }
    return jobs;
  }

  /** Credits that will come back to the wallet, those of the jobs in `counted` left out. */
  sum(wallet: string, counted: ReadonlySet<Hex>): number {
    let credits = 0;
    for (const [jobId, expected] of this.#byWallet.get(wallet) ?? [])
      if (!counted.has(jobId)) credits += expected.credits;
    return credits;
  }
}
