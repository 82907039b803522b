/**
 * A wallet's locks on their way, and how many it may have: few at first, more with each that is mined, and one after a revert of its own doing.
 * After that a revert costs the operator 47,000 gas, and the wallet at least two transactions, such as `setLimits` twice, which are 61,500 gas. A
 * wallet that makes locks revert again and again rests between them. Each gateway process counts for itself (docs/decisions.md, 208).
 */
import { newJobId, toApiJobId } from "../../protocol/job-id.ts";
import { setNewest } from "../../shared/newest.ts";
import type { Reader } from "../db/pool.ts";
import { FailurePauses } from "./failure-pauses.ts";
import type { MinedBatch } from "./operations.ts";

/**
 * The contract's errors that a wallet can cause between our look at its account and the block of its lock. It can withdraw, freeze itself,
 * or change its operator, its limit or its key. All of its locks on their way then revert at the gateway's cost. Each of these errors names
 * the wallet first.
 */
const BY_THE_WALLET = new Set([
  "Ledger_InsufficientCredits",
  "Limits_Frozen",
  "Limits_DailyLimitReached",
  "Job_OperatorNotChosen",
  "Job_AuthorizationRequired",
  "Job_NotAuthorized",
]);

/**
 * Locks that a wallet without jobs in the last minutes may have on their way. If all of them revert, the operator pays about 200,000 gas.
 * Such a wallet costs its owner 235,000: the tokens' approval, a deposit, a freeze and a withdrawal.
 */
const FIRST = 8;
/** Each mined lock allows so many more: a wallet with many clients has all of its locks on their way after a few blocks. */
const MORE = 2;
/** Jobs that began within this time say how many locks a wallet had on their way before a restart. */
const RECALLED_MS = 600_000;
/** More locks of one wallet are never on their way at once. */
const MOST = 10_000;

/** Wallets whose allowance is remembered; that of the wallet without a lock for the longest time is forgotten first. */
const MOST_WALLETS = 10_000;

/** The locks of a wallet that are on their way together, and their credits. `hasReverted`: one of them has, by the wallet's own doing. */
type Locking = { locks: number; credits: number; hasReverted: boolean };

/** Wallets are written in lower case, but in batches. */
export class LockAllowance {
  /** Locks that a wallet may have on their way. */
  readonly #allowed = new Map<string, number>();
  readonly #locking = new Map<string, Locking>();
  readonly #pauses = new FailurePauses();

  /** Credits of the wallet's locks on their way. */
  credits(wallet: string): number {
    return this.#locking.get(wallet)?.credits ?? 0;
  }

  /** Counts a lock that is about to be sent. Returns the function that ends it, to be called once; null if the wallet has as many as it may. */
  begin(wallet: string, credits: number): (() => void) | null {
    const locking = this.#locking.get(wallet) ?? { locks: 0, credits: 0, hasReverted: false };
    if (locking.locks >= this.#of(wallet)) return null;
    locking.locks += 1;
    locking.credits += credits;
    this.#locking.set(wallet, locking);
    return () => {
      locking.locks -= 1;
      locking.credits -= credits;
      if (locking.locks === 0) this.#locking.delete(wallet);
    };
  }

  /** Milliseconds until the wallet's next lock may be sent. */
  restMs(wallet: string): number {
    return this.#pauses.left(wallet);
  }

  /**
   * Counts the jobs of the last minutes as if this process had seen them. Otherwise a wallet with hundreds of clients would have few locks
   * in the first block after a restart, which takes 12 seconds on a slow chain. A wallet whose locks revert would have more than one again.
   */
  async recall(reader: Reader): Promise<void> {
    const { rows } = await reader.query<{ wallet: string; hasReverted: boolean; locks: number }>(
      `WITH recent AS (SELECT wallet, job_id, escrow_tx, state = 'unlocked' AND failure = ANY($2) AS is_revert FROM job WHERE job_id > $1),
         reverted AS (SELECT wallet, max(job_id) AS job_id FROM recent WHERE is_revert GROUP BY wallet)
       SELECT wallet, bool_or(is_revert) AS "hasReverted",
         count(*) FILTER (WHERE escrow_tx IS NOT NULL AND recent.job_id > COALESCE(reverted.job_id, ''))::int AS locks
       FROM recent LEFT JOIN reverted USING (wallet) GROUP BY wallet`,
      [toApiJobId(newJobId(Date.now() - RECALLED_MS)), [...BY_THE_WALLET]],
    );
    for (const { wallet, hasReverted, locks } of rows) {
      this.#set(wallet, Math.min((hasReverted ? 1 : FIRST) + MORE * locks, MOST));
    }
  }

  /** Takes note of the locks in a mined batch. Returns the wallets that made some of them revert. */
  observe({ eventsByJob, failures }: Pick<MinedBatch, "eventsByJob" | "failures">): Set<string> {
    for (const { name, args } of [...eventsByJob.values()].flat()) {
      if (name !== "JobLocked") continue;
      const wallet = String(args.wallet).toLowerCase();
      this.#set(wallet, Math.min(this.#of(wallet) + MORE, MOST));
      this.#pauses.succeeded(wallet);
    }
    const byTheWallet = [...failures.values()].filter(({ name }) => BY_THE_WALLET.has(name));
    const wallets = new Set(byTheWallet.map(({ args }) => String(args[0]).toLowerCase()));
    for (const wallet of wallets) {
      this.#set(wallet, 1);
      this.#noteRevert(wallet);
    }
    return wallets;
  }

  /** Locks that were sent before the first of them reverted count as one failure: the wallet may have spent its last credits at several clients. */
  #noteRevert(wallet: string): void {
    const locking = this.#locking.get(wallet);
    if (locking === undefined || locking.hasReverted) return;
    locking.hasReverted = true;
    this.#pauses.failed(wallet);
  }

  #of(wallet: string): number {
    return this.#allowed.get(wallet) ?? FIRST;
  }

  #set(wallet: string, allowed: number): void {
    setNewest(this.#allowed, wallet, allowed, MOST_WALLETS);
  }
}
