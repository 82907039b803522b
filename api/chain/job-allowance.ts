/**
 * How many jobs of a wallet the gateway starts and runs at a time. Each job costs the operator the gas of its lock and of its end, and the wallet
 * pays only for an answer. So a wallet has few jobs at first and more with each that goes well, and fewer again when its jobs end at the operator's
 * expense. A wallet whose jobs do so one after the other rests between them. Each gateway process counts for itself (docs/decisions.md, 208, 209).
 */
import { newJobId, toApiJobId } from "../../protocol/job-id.ts";
import { setNewest } from "../../shared/newest.ts";
import type { Reader } from "../db/pool.ts";
import { FailurePauses, type Rest } from "./failure-pauses.ts";

/**
 * The contract's errors that a wallet can cause between our look at its account and the block of its lock. It can withdraw, freeze itself,
 * or change its operator, its limit or its key. It can send an authorization of its own to two gateways, and one whose times a chain that is behind
 * the clock refuses. All of its locks on their way then revert at the gateway's cost.
 */
const BY_THE_WALLET = new Set([
  "Ledger_InsufficientCredits",
  "Limits_Frozen",
  "Limits_DailyLimitReached",
  "Job_OperatorNotChosen",
  "Job_AuthorizationRequired",
  "Job_NotAuthorized",
  "Job_AuthorizationTooLong",
  "Job_InvalidId",
  "Job_AlreadyExists",
]);

/**
 * Jobs of a wallet without a record that may be on their way to their first token. If all of their locks revert, the operator pays about 200,000
 * gas, and 460,000 if the locks are mined and the jobs fail. Such a wallet costs its owner 235,000: the tokens' approval, a deposit, a freeze and a
 * withdrawal.
 */
const FIRST_STARTING = 8;
/** Jobs of such a wallet that may run at a time, those on their way to their first token among them. */
const FIRST_RUNNING = 32;
/** Each first token allows so many more to start, and each answer so many more to run: a wallet with many clients has all of its jobs soon. */
const MORE = 2;
/**
 * Jobs of a wallet that run, and answered ones that wait for their settlement, are together at most so many times the jobs that may run. The wallet's
 * own worker can make the contract refuse the settlement, a block after the client has the answer.
 */
const OPEN_PER_RUNNING = 2;
/** Jobs that began within this time say how many jobs a wallet had before a restart. */
const RECALLED_MS = 600_000;
/** One wallet never has more of either at once. */
const MOST = 10_000;
/**
 * Failures at which the worker is at fault and that do not count against a wallet: at first the first number, one more with each answer, at most the
 * second number. They are bounded since the worker may be the wallet's own, and be at fault on purpose.
 */
const FIRST_EXCUSES = 8;
const MOST_EXCUSES = 32;

/** What a wallet may have. `excuses`: failures that will not count against it if the worker is at fault. */
type Allowed = { starting: number; running: number; excuses: number };
type Jobs = {
  /** Jobs before their first token, or whose lock is not mined. */
  starting: number;
  /** Jobs without their whole answer; those in `starting` are among them. */
  running: number;
  /** Jobs that are not over; those in `running` are among them, and answered ones whose settlement is not mined. */
  open: number;
  /** Credits of locks that are on their way. */
  credits: number;
};

/** A job that counts for its wallet. Call each function when its event has happened; a second or late call does nothing. */
export type CountedJob = {
  /** Its lock is mined: the credits are in the account as the chain shows it. */
  lockEnded: () => void;
  /** Its first token has come. */
  begun: () => void;
  /** Its answer is whole, and its settlement is on its way. */
  answered: () => void;
  ended: () => void;
};

/** Wallets may be written in any letters. */
export class JobAllowance {
  readonly #allowed = new Map<string, Allowed>();
  readonly #jobs = new Map<string, Jobs>();
  readonly #pauses = new FailurePauses();

  /** Credits of the wallet's locks on their way. */
  credits(wallet: string): number {
    return this.#jobs.get(wallet.toLowerCase())?.credits ?? 0;
  }

  /** Whether the wallet has as many jobs as it may. */
  isFull(wallet: string): boolean {
    const jobs = this.#jobs.get(wallet.toLowerCase());
    const { starting, running } = this.#of(wallet);
    if (jobs === undefined) return false;
    return jobs.starting >= starting || jobs.running >= running || jobs.open >= OPEN_PER_RUNNING * running;
  }

  /** Counts a job whose lock is about to be sent. */
  begin(address: string, credits: number): CountedJob {
    const wallet = address.toLowerCase();
    const jobs = this.#jobs.get(wallet) ?? { starting: 0, running: 0, open: 0, credits: 0 };
    this.#jobs.set(wallet, jobs);
    jobs.starting += 1;
    jobs.running += 1;
    jobs.open += 1;
    jobs.credits += credits;
    let [isStarting, isLocked, hasBegun] = [true, false, false];
    const leaveStart = (hasGoneWell: boolean) => {
      if (!isStarting) return;
      isStarting = false;
      jobs.starting -= 1;
      if (!hasGoneWell) return;
      this.#change(wallet, ({ starting }) => ({ starting: Math.min(starting + MORE, MOST) }));
    };
    const lockEnded = once(() => {
      isLocked = true;
      jobs.credits -= credits;
      if (hasBegun) leaveStart(true);
    });
    const begun = once(() => {
      hasBegun = true;
      // A promised lock can still revert after the first token.
      if (isLocked) leaveStart(true);
    });
    const answered = once(() => {
      jobs.running -= 1;
    });
    const ended = once(() => {
      leaveStart(false);
      lockEnded();
      answered();
      jobs.open -= 1;
      if (jobs.open === 0) this.#jobs.delete(wallet);
    });
    return { lockEnded, begun, answered, ended };
  }

  /** The wallet's rest, because several of its jobs ended at the operator's expense, one after the other; null if its next job may start. */
  rest(wallet: string): Rest | null {
    return this.#pauses.rest(wallet);
  }

  /** An answer of the wallet was settled: it has paid. */
  settled(wallet: string): void {
    this.#change(wallet, ({ running, excuses }) => ({
      running: Math.min(running + MORE, MOST),
      excuses: Math.min(excuses + 1, MOST_EXCUSES),
    }));
    this.#pauses.succeeded(wallet);
  }

  /**
   * A job of the wallet ended without a charge after its lock was mined: half as many may run, unless the worker is at fault and the wallet has an
   * excuse left. A job that fails during a rest is not counted: it began before the rest.
   */
  failed(wallet: string, { isWorkersFault }: { isWorkersFault: boolean }): void {
    if (this.rest(wallet) !== null) return;
    if (isWorkersFault && this.#of(wallet).excuses > 0) {
      return this.#change(wallet, ({ excuses }) => ({ excuses: excuses - 1 }));
    }
    this.#change(wallet, ({ running }) => ({ running: Math.max(Math.floor(running / 2), 1) }));
    this.#pauses.failed(wallet);
  }

  /**
   * Counts the jobs of the last minutes as if this process had seen them. Otherwise a wallet with hundreds of clients would have few jobs
   * in the first block after a restart, which takes 12 seconds on a slow chain. A wallet whose locks revert would have more than one again.
   */
  async recall(reader: Reader): Promise<void> {
    const { rows } = await reader.query<{ wallet: string; hasReverted: boolean; since: number; answered: number }>(
      `WITH recent AS (SELECT wallet, job_id, completion IS NOT NULL AND failure IS NULL AS is_paid,
           state = 'unlocked' AND failure = ANY($2) AS is_revert FROM job WHERE job_id > $1),
         reverted AS (SELECT wallet, max(job_id) AS job_id FROM recent WHERE is_revert GROUP BY wallet)
       SELECT wallet, bool_or(is_revert) AS "hasReverted", (count(*) FILTER (WHERE is_paid))::int AS answered,
         (count(*) FILTER (WHERE is_paid AND recent.job_id > COALESCE(reverted.job_id, '')))::int AS since
       FROM recent LEFT JOIN reverted USING (wallet) GROUP BY wallet`,
      [toApiJobId(newJobId(Date.now() - RECALLED_MS)), [...BY_THE_WALLET]],
    );
    for (const { wallet, hasReverted, since, answered } of rows) {
      const starting = (hasReverted ? 1 : FIRST_STARTING) + MORE * since;
      const running = FIRST_RUNNING + MORE * answered;
      this.#change(wallet, () => ({
        starting: Math.min(starting, MOST),
        running: Math.min(running, MOST),
        excuses: Math.min(FIRST_EXCUSES + answered, MOST_EXCUSES),
      }));
    }
  }

  /** A lock of the wallet reverted with this error of the contract. Returns whether that was the wallet's doing: it has one job at a time then. */
  lockReverted(wallet: string, name: string): boolean {
    if (!BY_THE_WALLET.has(name)) return false;
    this.#change(wallet, () => ({ starting: 1 }));
    this.#pauses.failed(wallet, name);
    return true;
  }

  #of(wallet: string): Allowed {
    const first = { starting: FIRST_STARTING, running: FIRST_RUNNING, excuses: FIRST_EXCUSES };
    return this.#allowed.get(wallet.toLowerCase()) ?? first;
  }

  #change(wallet: string, change: (allowed: Allowed) => Partial<Allowed>): void {
    const allowed = this.#of(wallet);
    setNewest(this.#allowed, wallet.toLowerCase(), { ...allowed, ...change(allowed) });
  }
}

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act();
  };
}
