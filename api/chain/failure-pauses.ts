/**
 * Pauses between the jobs of a wallet whose requests fail at sound models, are refused by model servers, or whose locks revert by its own doing.
 * Such a request is not charged, but costs the operator gas, and perhaps a worker its time. Other wallets notice nothing.
 */
import { setNewest } from "../../shared/newest.ts";

/** Failures without a pause: anybody can send one request that a model server does not survive. */
const FREE_FAILURES = 2;
/** After a further failure the wallet's next job waits 1, 2, 4 … 60 s. */
const LONGEST_PAUSE_MS = 60_000;
/** So long after its last failure a wallet starts anew. */
const FORGOTTEN_MS = 300_000;
/** Wallets that are remembered; the one that failed longest ago is forgotten first. */
const MOST_WALLETS = 10_000;

/** Times are milliseconds since the epoch. */
type Failing = { failures: number; failedAt: number; nextAt: number };

export class FailurePauses {
  readonly #failing = new Map<string, Failing>();

  /** A request of the wallet failed for a reason that lies with the wallet. */
  failed(wallet: string, now = Date.now()): void {
    const key = wallet.toLowerCase();
    const before = this.#current(key, now);
    const failures = (before?.failures ?? 0) + 1;
    const nextAt = now + pauseMs(failures);
    const failing = { failures, failedAt: now, nextAt: Math.max(nextAt, before?.nextAt ?? 0) };
    setNewest(this.#failing, key, failing, MOST_WALLETS);
  }

  /** A request of the wallet did not fail: the wallet starts anew. */
  succeeded(wallet: string): void {
    this.#failing.delete(wallet.toLowerCase());
  }

  /**
   * Returns 0 if the wallet's next job may start now, and then counts it as started: the next pause begins. Else returns the milliseconds that are
   * left of the pause. A wallet whose requests do not fail has none.
   */
  take(wallet: string, now = Date.now()): number {
    const left = this.left(wallet, now);
    const failing = this.#current(wallet.toLowerCase(), now);
    if (left === 0 && failing !== undefined) failing.nextAt = now + pauseMs(failing.failures);
    return left;
  }

  /** The milliseconds that are left of the wallet's pause; 0 without one. */
  left(wallet: string, now = Date.now()): number {
    const failing = this.#current(wallet.toLowerCase(), now);
    return failing === undefined ? 0 : Math.max(0, failing.nextAt - now);
  }

  #current(key: string, now: number): Failing | undefined {
    const failing = this.#failing.get(key);
    if (failing !== undefined && now - failing.failedAt > FORGOTTEN_MS) this.#failing.delete(key);
    return this.#failing.get(key);
  }
}

const pauseMs = (failures: number): number =>
  failures <= FREE_FAILURES ? 0 : Math.min(LONGEST_PAUSE_MS, 1_000 * 2 ** (failures - FREE_FAILURES - 1));
