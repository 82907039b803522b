/**
 * Rests between the jobs of a wallet whose jobs end at the operator's expense, one after the other: they end without a charge, or their locks revert
 * by the wallet's own doing. Other wallets notice nothing.
 */
import { setNewest } from "../../shared/newest.ts";

/** Failures without a pause: anybody can send one request that a model server does not survive. */
const FREE_FAILURES = 2;
/** After a further failure the wallet's next job waits 1, 2, 4 … 300 s. */
const LONGEST_PAUSE_MS = 300_000;
/** So long after its last failure a wallet starts anew. */
const FORGOTTEN_MS = 1_800_000;

/** A rest of a wallet: so many milliseconds are left of it. `revert`: the contract's error if its last failure was a lock that reverted, else null. */
export type Rest = { ms: number; revert: string | null };

/** Times are milliseconds since the epoch. */
type Failing = { failures: number; failedAt: number; nextAt: number; revert: string | null };

export class FailurePauses {
  readonly #failing = new Map<string, Failing>();

  /** A job of the wallet ended at the operator's expense. A job that fails during a rest is not counted: it began before the rest. */
  failed(wallet: string, revert: string | null = null, now = Date.now()): void {
    if (this.rest(wallet, now) !== null) return;
    const key = wallet.toLowerCase();
    const failures = (this.#current(key, now)?.failures ?? 0) + 1;
    setNewest(this.#failing, key, { failures, failedAt: now, nextAt: now + pauseMs(failures), revert });
  }

  /** A request of the wallet was answered: its rest is over, and half of its failures are forgotten. */
  succeeded(wallet: string): void {
    const key = wallet.toLowerCase();
    const failing = this.#failing.get(key);
    if (failing === undefined) return;
    failing.failures = Math.floor(failing.failures / 2);
    failing.nextAt = 0;
    if (failing.failures === 0) this.#failing.delete(key);
  }

  /** The wallet's rest now; null if its next job may start. */
  rest(wallet: string, now = Date.now()): Rest | null {
    const failing = this.#current(wallet.toLowerCase(), now);
    return failing === undefined || failing.nextAt <= now ? null : { ms: failing.nextAt - now, revert: failing.revert };
  }

  #current(key: string, now: number): Failing | undefined {
    const failing = this.#failing.get(key);
    if (failing !== undefined && now - failing.failedAt > FORGOTTEN_MS) this.#failing.delete(key);
    return this.#failing.get(key);
  }
}

const pauseMs = (failures: number): number =>
  failures <= FREE_FAILURES ? 0 : Math.min(LONGEST_PAUSE_MS, 1_000 * 2 ** (failures - FREE_FAILURES - 1));
