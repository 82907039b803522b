/** How many locks of a wallet may be on their way to the chain at once. */
import type { MinedBatch } from "./operations.ts";

/**
 * What a wallet can make true between our look at its account and the block of its lock: it withdraws, freezes itself, changes its operator, its
 * limit or its key. All of its locks on their way then revert at the gateway's cost. Each of these names the wallet first.
 */
const BY_THE_WALLET = new Set([
  "Ledger_InsufficientCredits",
  "Limits_Frozen",
  "Limits_DailyLimitReached",
  "Job_OperatorNotChosen",
  "Job_AuthorizationRequired",
  "Job_NotAuthorized",
]);

/** Of a wallet that this process does not know. So many reverts cost the gateway about what such a wallet costs its owner. */
const FIRST = 32;
/** Each mined lock allows so many more: a wallet with many clients has all of its locks on their way after a few blocks. */
const MORE = 2;
/** No wallet has more clients. */
const MOST = 10_000;
const MOST_WALLETS = 10_000;

/** A wallet's locks on their way: few at first, more with each that is mined, and one after a revert of its own doing. */
export class LockAllowance {
  readonly #allowed = new Map<string, number>();

  of(wallet: string): number {
    return this.#allowed.get(wallet.toLowerCase()) ?? FIRST;
  }

  /** Takes note of the locks in a mined batch. */
  observe({ eventsByJob, failures }: Pick<MinedBatch, "eventsByJob" | "failures">): void {
    for (const { name, args } of [...eventsByJob.values()].flat()) {
      if (name === "JobLocked") this.#set(String(args.wallet), (allowed) => Math.min(allowed + MORE, MOST));
    }
    for (const { name, args } of failures.values()) {
      if (BY_THE_WALLET.has(name)) this.#set(String(args[0]), () => 1);
    }
  }

  #set(name: string, change: (allowed: number) => number): void {
    const wallet = name.toLowerCase();
    const allowed = change(this.of(wallet));
    this.#allowed.delete(wallet);
    this.#allowed.set(wallet, allowed);
    if (this.#allowed.size <= MOST_WALLETS) return;
    const [oldest] = this.#allowed.keys();
    if (oldest !== undefined) this.#allowed.delete(oldest);
  }
}
