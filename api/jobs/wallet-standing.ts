/**
 * How many jobs of a wallet the gateway starts and runs at a time, and when it rests. Each job costs the operator the gas of its lock and of its end,
 * and the wallet pays only for an answer. So a wallet has few jobs at first and more with each that goes well, and fewer again when its jobs end at the
 * operator's expense: without a charge, or with a lock that reverts by the wallet's own doing. A wallet whose jobs do so one after the other rests
 * between them. Other wallets notice nothing. Each gateway process counts for itself (docs/decisions.md, 208, 209).
 */
import { newJobId, toApiJobId } from "../../protocol/job-id.ts";
import { setNewest } from "../../shared/newest.ts";
import type { Balances } from "../chain/balances.ts";
import type { Reader } from "../db/pool.ts";

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
/** No wallet has more excuses. */
const MOST_EXCUSES = 32;
/** Failures without a rest: anybody can send one request that a model server does not survive. */
const FREE_FAILURES = 2;
/** After a further failure the wallet's next job waits 1, 2, 4 … 300 s. */
const LONGEST_REST_MS = 300_000;
/** So long after its last failure a wallet has no failures any more. */
const FORGOTTEN_MS = 1_800_000;

/** So many milliseconds are left of a wallet's rest. `revert`: the contract's error if its last failure was a lock that reverted, else null. */
export type Rest = { ms: number; revert: Standing["revert"] };

/**
 * Why no lock of a wallet can be sent now. `account`: it is being read. `insufficient`: the wallet has too few credits, or too little left of its daily
 * limit. `credits` and `limit`: so it may be once its locks on their way are mined. `jobs`: it has as many jobs as it may.
 */
export type Obstacle = Rest | "account" | "insufficient" | "credits" | "limit" | "jobs";

/** How a wallet without a record stands. Times are milliseconds since the epoch. */
const FIRST = {
  /**
   * Jobs that may be on their way to their first token. If all of their locks revert, the operator pays about 200,000 gas, and 460,000 if the locks are
   * mined and the jobs fail. A new wallet costs its owner 235,000: the tokens' approval, a deposit, a freeze and a withdrawal.
   */
  starting: 8,
  /** Jobs that may run at a time, those on their way to their first token among them. */
  running: 32,
  /**
   * Failures at which the worker is at fault and that will not count; one more with each answer. They are bounded since the worker may be the wallet's
   * own, and be at fault on purpose.
   */
  excuses: 8,
  /** In a row, and when the last one was. */
  failures: 0,
  failedAt: 0,
  restsUntil: 0,
  /** The contract's error if the last failure was a lock that reverted. */
  revert: null as string | null,
};
type Standing = typeof FIRST;

/** The jobs of a wallet that has none. */
const NO_JOBS = {
  /** Jobs before their first token, or whose lock is not mined. */
  starting: 0,
  /** Jobs without their whole answer; those in `starting` are among them. */
  running: 0,
  /** Jobs that are not over; those in `running` are among them, and answered ones whose settlement is not mined. */
  open: 0,
  /** Credits of locks that are on their way. */
  credits: 0,
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

/** The standing of each wallet, and the jobs that it has. Wallets may be written in any letters. */
export class WalletStandings {
  readonly #standings = new Map<string, Standing>();
  readonly #jobs = new Map<string, typeof NO_JOBS>();

  /** Why no lock of so many credits can be sent for the wallet now; null if it can. An account that is not known is then read. */
  whyNot(wallet: string, credits: number, balances: Pick<Balances, "left">): Obstacle | null {
    const rest = this.rest(wallet);
    if (rest !== null) return rest;
    const left = balances.left(wallet);
    if (left === null) return "account";
    if (Math.min(left.free, left.today) < credits) return "insufficient";
    const jobs = this.#jobs.get(wallet.toLowerCase()) ?? NO_JOBS;
    if (left.free - jobs.credits < credits) return "credits";
    if (left.today - jobs.credits < credits) return "limit";
    const { starting, running } = this.#of(wallet);
    const isFull = jobs.running >= running || jobs.open >= OPEN_PER_RUNNING * running;
    return isFull || jobs.starting >= starting ? "jobs" : null;
  }

  /**
   * Counts a job whose lock is about to be sent and has no obstacle. Its credits are reserved until `lockEnded`, so that requests of the same moment do
   * not lock the same credits.
   */
  begin(address: string, credits: number): CountedJob {
    const wallet = address.toLowerCase();
    const jobs = this.#jobs.get(wallet) ?? { ...NO_JOBS };
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
    const { restsUntil, revert } = this.#of(wallet);
    const ms = restsUntil - Date.now();
    return ms > 0 ? { ms, revert } : null;
  }

  /** An answer of the wallet was settled: it has paid. Its rest is over, and half of its failures are forgotten. */
  settled(wallet: string): void {
    this.#change(wallet, ({ running, excuses, failures }) => ({
      running: Math.min(running + MORE, MOST),
      excuses: Math.min(excuses + 1, MOST_EXCUSES),
      failures: Math.floor(failures / 2),
      restsUntil: 0,
    }));
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
    this.#countFailure(wallet, null);
  }

  /** A lock of the wallet reverted with this error of the contract. Returns whether that was the wallet's doing: it has one job at a time then. */
  lockReverted(wallet: string, name: string): boolean {
    if (!BY_THE_WALLET.has(name)) return false;
    this.#change(wallet, () => ({ starting: 1 }));
    if (this.rest(wallet) === null) this.#countFailure(wallet, name);
    return true;
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
      const starting = (hasReverted ? 1 : FIRST.starting) + MORE * since;
      const running = FIRST.running + MORE * answered;
      this.#change(wallet, () => ({
        starting: Math.min(starting, MOST),
        running: Math.min(running, MOST),
        excuses: Math.min(FIRST.excuses + answered, MOST_EXCUSES),
      }));
    }
  }

  #countFailure(wallet: string, revert: Standing["revert"]): void {
    const now = Date.now();
    this.#change(wallet, (standing) => {
      const failures = now - standing.failedAt > FORGOTTEN_MS ? 1 : standing.failures + 1;
      return { failures, failedAt: now, restsUntil: now + restAfter(failures), revert };
    });
  }

  #of(wallet: string): Standing {
    return this.#standings.get(wallet.toLowerCase()) ?? FIRST;
  }

  #change(wallet: string, change: (standing: Standing) => Partial<Standing>): void {
    const standing = this.#of(wallet);
    setNewest(this.#standings, wallet.toLowerCase(), { ...standing, ...change(standing) });
  }
}

const restAfter = (failures: number): number =>
  failures <= FREE_FAILURES ? 0 : Math.min(LONGEST_REST_MS, 1_000 * 2 ** (failures - FREE_FAILURES - 1));

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act();
  };
}
