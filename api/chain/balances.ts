/**
 * The credits that a wallet can spend: its account on chain at one block, plus the credits that its settlements on their way will return. A
 * return counts only if its job holds the credits at that block and the settlement can still be mined. So a balance is never too high.
 */
import type pg from "pg";
import { type Address, type ContractFunctionReturnType, decodeFunctionResult, type Hex } from "viem";
import { escrowCall } from "../../protocol/calls.ts";
import { inferenceEscrowAbi as abi } from "../../protocol/generated/abi.ts";
import { newJobId, toApiJobId } from "../../protocol/job-id.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import type { Completion } from "../../protocol/messages.ts";
import { charge } from "../../protocol/pricing.ts";
import { ACCOUNT_AUTHORIZED, ACCOUNT_FROZEN, ACCOUNT_LIMITED, type AccountWord } from "../../protocol/words.ts";
import { setNewest } from "../../shared/newest.ts";
import { ReadLane } from "../../shared/read-lane.ts";
import { ifIndexed, walletsWithCredits } from "../db/index-reads.ts";
import { CHAIN_JOB_ID, type Reader } from "../db/pool.ts";
import { accountIn, endOfBlock, type MinedBatch } from "./operations.ts";
import { type Head, type Rpc, RpcError, RpcUnreachable } from "./rpc.ts";

/** Credits of a wallet. `free` can be spent and withdrawn; `escrowed` is locked in unfinished jobs. */
export type Balance = { free: number; escrowed: number };

/** Which operator may lock a wallet's credits and how many, and how many were locked on the UTC day `spentDay` (days since 1970). */
export type SpendingTerms = {
  /** The one operator that may; 0: none. */
  operator: number;
  /** Each lock needs a signature of the wallet's authorization key. */
  authorized: boolean;
  frozen: boolean;
  dailyLimit: number | null;
  spentToday: number;
  spentDay: number;
};

/** The terms in an account as the chain stores it. */
export function termsOf(account: AccountWord): SpendingTerms {
  const { operator, flags, dailyLimit, spentToday, spentDay } = account;
  return {
    operator,
    authorized: (flags & ACCOUNT_AUTHORIZED) !== 0,
    frozen: (flags & ACCOUNT_FROZEN) !== 0,
    dailyLimit: (flags & ACCOUNT_LIMITED) !== 0 ? dailyLimit : null,
    spentToday,
    spentDay,
  };
}

/** Credits that a settlement gives back if it is mined before `until` (chain time, Unix seconds). */
type Return = { credits: number; until: number };
type Returns = Map<Hex, Return>;

/** A wallet's account at `position` of the chain, and the returns of jobs that hold credits in it. */
type Entry = Balance & {
  position: number;
  returns: Returns;
  terms: SpendingTerms | null;
  /** When it was last seen, and when the chain was asked for it; never asked for what events told. `performance.now()`. */
  seenAt: number;
  askedAt: number;
};

/** An answered job of ours whose settlement is not seen mined. */
type SettlingRow = { jobId: Hex; attempt: number; countedTokens: number; completion: Completion };
type ChainJob = ContractFunctionReturnType<typeof abi, "view", "jobOf">;
/** The result of one read of the chain, all of it at one block. */
type AtBlock = { block: number; account: AccountWord; returns: Returns };

type Parts = {
  rpc: Rpc;
  pool: pg.Pool;
  escrow: Address;
  head: Pick<Head, "time">;
  /** Chain time before which a job that was locked then can be settled. */
  settleBefore: (lockedAt: number) => number;
};

/** A wallet's locks on their way, and their credits. */
type Locking = { locks: number; credits: number };

/** How long a balance seen on chain is shown without asking the chain again; others may deposit or withdraw meanwhile. */
const FRESH_MS = 1_000;
const MAX_ENTRIES = 10_000;
/** Balances that are read a second for requests that a wallet without credits can make, of all wallets together. */
const BOUNDED_READS_PER_SECOND = 50;
/** Settlements on their way that are looked at, the newest ones; the credits of more are shown once they are mined. */
const MAX_SETTLING = 50;
const READ_TIMEOUT_MS = 3_000;
/** Pauses before a refused read is tried again: one node of an address can be a block behind the one that was asked first. */
const RETRY_MS = [100, 300, 900];

/** Balances of wallets, remembered for a second and kept current by the events of our own transactions. */
export class Balances {
  readonly #parts: Parts;
  readonly #entries = new Map<string, Entry>();
  /** Reads under way, one a wallet at most. */
  readonly #reading = new Map<string, { startedAt: number; done: Promise<Balance> }>();

  /** Which wallets have credits in the index; none has while that is being built. */
  readonly #withCredits = new ReadLane<string, boolean>(async (wallets) => {
    const found = await ifIndexed(walletsWithCredits(this.#parts.pool, wallets), null);
    return wallets.map((wallet) => found?.has(wallet) ?? false);
  });

  /** Reads by `bounded` in the second that began at `since`, `performance.now()`. */
  #boundedReads = { since: Number.NEGATIVE_INFINITY, count: 0 };

  /** Locks on their way, by wallet. */
  readonly #locking = new Map<string, Locking>();
  readonly #allowance = new LockAllowance();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Takes up how many locks of a wallet an earlier process allowed. Call it before the first `hold`. */
  async start(): Promise<void> {
    await this.#allowance.recall(this.#parts.pool);
  }

  /**
   * Keeps credits for a lock that is about to be sent: requests of one moment must not all lock the same ones. Returns the function that
   * gives the credits back; call it once. Returns `held` if the wallet's other locks may leave too little, or are as many as it may have.
   * Returns null if the wallet has too little.
   */
  hold(wallet: string, credits: number): (() => void) | "held" | null {
    const key = wallet.toLowerCase();
    const free = this.known(key)?.free ?? Number.POSITIVE_INFINITY;
    if (free < credits) return null;
    const { locks, credits: held } = this.#locking.get(key) ?? { locks: 0, credits: 0 };
    if (free - held < credits || locks >= this.#allowance.of(key)) return "held";
    this.#locking.set(key, { locks: locks + 1, credits: held + credits });
    return () => this.#endLock(key, credits);
  }

  #endLock(key: string, credits: number): void {
    const { locks, credits: held } = this.#locking.get(key) as Locking;
    if (locks === 1) this.#locking.delete(key);
    else this.#locking.set(key, { locks: locks - 1, credits: held - credits });
  }

  /** Balance now: from the chain unless it was seen within the last second. Rejects with RpcUnreachable. */
  async current(wallet: string): Promise<Balance> {
    const key = wallet.toLowerCase();
    const entry = this.#entries.get(key);
    if (entry && isFresh(entry)) return this.#balance(entry);
    // A read under way is shared: on a slow node its answer is older than a second.
    return await (this.#reading.get(key)?.done ?? this.#read(key));
  }

  /**
   * Balance for what a wallet without credits can cause as well: a header, or what it can pay. As `current` has it, with `since` as `read`
   * has it. Null for a wallet that has no credits by the index, in a second in which this method has read the chain 50 times. Such wallets
   * cost nothing to make, and must not keep others from being read. Rejects with RpcUnreachable.
   */
  async bounded(wallet: string, since?: number): Promise<Balance | null> {
    const key = wallet.toLowerCase();
    const entry = this.#entries.get(key);
    const reading = this.#reading.get(key);
    const isKnown = entry !== undefined && (since === undefined ? isFresh(entry) : entry.askedAt >= since);
    const isRead = reading !== undefined && reading.startedAt >= (since ?? Number.NEGATIVE_INFINITY);
    if (!isKnown && !isRead && !this.#takeBoundedRead() && !(await this.#withCredits.ask(key))) return null;
    return since === undefined ? this.current(key) : this.read(key, since);
  }

  /** Counts one more read; false if this second has had as many as it may. */
  #takeBoundedRead(): boolean {
    const now = performance.now();
    if (now - this.#boundedReads.since >= 1_000) this.#boundedReads = { since: now, count: 0 };
    if (this.#boundedReads.count >= BOUNDED_READS_PER_SECOND) return false;
    this.#boundedReads.count += 1;
    return true;
  }

  /**
   * Balance from the chain, asked for at `since` (`performance.now()`) or later: whatever was mined before that is in it. Calls that
   * come while an older read is under way wait for it and share the next one. Rejects with RpcUnreachable.
   */
  async read(wallet: string, since = performance.now()): Promise<Balance> {
    const key = wallet.toLowerCase();
    for (;;) {
      const entry = this.#entries.get(key);
      if (entry && entry.askedAt >= since) return this.#balance(entry);
      const reading = this.#reading.get(key);
      const balance = await (reading?.done ?? this.#read(key));
      if (reading === undefined || reading.startedAt >= since) return balance;
    }
  }

  /** The last balance seen, without asking the chain; null if none was. */
  known(wallet: string): Balance | null {
    const entry = this.#entries.get(wallet.toLowerCase());
    return entry ? this.#balance(entry) : null;
  }

  /** The wallet's spending terms, as the chain last told them; null if it did not. */
  terms(wallet: string): SpendingTerms | null {
    return this.#entries.get(wallet.toLowerCase())?.terms ?? null;
  }

  /** The key that signs each of the wallet's jobs; zero for none. Rejects with RpcUnreachable. */
  async authorizationKey(wallet: Address): Promise<Address> {
    try {
      const question = escrowCall("authorizationKeyOf", [wallet]);
      const [data] = await this.#call([question], "latest");
      return decodeFunctionResult({ abi, functionName: "authorizationKeyOf", data: data as Hex });
    } catch (error) {
      throw error instanceof RpcError ? new RpcUnreachable("authorization key", error) : error;
    }
  }

  /**
   * The first settlement of a job of ours is about to be sent. So the job holds its credits in every account seen so
   * far. An account that is seen later may have them back: it counts what is read with it.
   */
  expectReturn(wallet: string, jobId: Hex, credits: number, until: number): void {
    this.#entries.get(wallet.toLowerCase())?.returns.set(jobId, { credits, until });
  }

  /** Takes the accounts out of a mined batch. */
  observe(batch: MinedBatch): void {
    this.#allowance.observe(batch);
    for (const event of [...batch.eventsByJob.values()].flat()) {
      const account = accountIn(event);
      if (account === null) continue;
      const { free, escrowed } = account;
      const { position } = event;
      const wallet = (event.args.wallet as string).toLowerCase();
      const known = this.#entries.get(wallet);
      if (known && known.position > position) continue;
      // Some events tell balances only: the terms stay as the chain last told them.
      const terms = "flags" in account ? termsOf(account) : (known?.terms ?? null);
      const seen = { seenAt: performance.now(), askedAt: Number.NEGATIVE_INFINITY };
      this.#set(wallet, { free, escrowed, position, returns: new Map(), terms, ...seen });
    }
  }

  /** A reorganisation took blocks back: what was seen in them is not true any more. */
  forget(): void {
    this.#entries.clear();
  }

  #read(wallet: string): Promise<Balance> {
    const startedAt = performance.now();
    const done = this.#untilAgreed(wallet as Address)
      .then((read) => this.#take(wallet, read, startedAt))
      .finally(() => this.#reading.delete(wallet));
    this.#reading.set(wallet, { startedAt, done });
    return done;
  }

  /** Rejects with RpcUnreachable, also where the nodes of an address do not come to agree on the newest block. */
  async #untilAgreed(wallet: Address): Promise<AtBlock> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#atNewestBlock(wallet);
      } catch (error) {
        const pause = RETRY_MS[attempt];
        if (!(error instanceof RpcError)) throw error;
        if (pause === undefined) throw new RpcUnreachable("account", error);
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  /** The account, and the jobs that wait for their settlement, at one block: one request of the node after its number. */
  async #atNewestBlock(wallet: Address): Promise<AtBlock> {
    const [block, rows] = await Promise.all([
      this.#parts.rpc.request<Hex>("eth_blockNumber", [], READ_TIMEOUT_MS),
      this.#settling(wallet),
    ]);
    const questions = [escrowCall("accountOf", [wallet]), ...rows.map(({ jobId }) => escrowCall("jobOf", [jobId]))];
    const [first, ...rest] = await this.#call(questions, block);
    const account = decodeFunctionResult({ abi, functionName: "accountOf", data: first as Hex });
    const returns: Returns = new Map();
    for (const [index, data] of rest.entries()) {
      const row = rows[index] as SettlingRow;
      const job = decodeFunctionResult({ abi, functionName: "jobOf", data });
      const expected = job.account === account.id ? this.#returnOf(row, job) : null;
      if (expected !== null) returns.set(row.jobId, expected);
    }
    return { block: Number(block), account, returns };
  }

  /**
   * The credits that the settlement of a job gives back; null if the job holds no credits, or the contract would refuse the settlement.
   */
  #returnOf({ attempt, countedTokens, completion }: SettlingRow, job: ChainJob): Return | null {
    // A proven job may be charged what its worker proved, which can be all of its lock.
    if (job.status !== ChainStatus.Locked && job.status !== ChainStatus.Acknowledged) return null;
    // The worker of a later attempt has the job, or a reorganisation moved the lock behind the answer.
    if (job.attempt > attempt || completion.completedAt < job.lockedAt) return null;
    const credits = job.credits - charge(countedTokens, job, job.credits);
    return { credits, until: this.#parts.settleBefore(job.lockedAt) };
  }

  /** The newest of the wallet's answered jobs, of every gateway on this database. A job that is given back in full is not among them. */
  async #settling(wallet: Address): Promise<SettlingRow[]> {
    const { rows } = await this.#parts.pool.query<SettlingRow>({
      name: "balance-settling",
      text: `SELECT ${CHAIN_JOB_ID} AS "jobId", attempt, completion->'completion' AS completion, counted_tokens AS "countedTokens"
             FROM job WHERE wallet = $1 AND state = 'settling' AND failure IS NULL AND completion IS NOT NULL
             ORDER BY job_id DESC LIMIT ${MAX_SETTLING}`,
      values: [wallet],
    });
    return rows;
  }

  /** Asks the escrow several things at one block. */
  async #call(questions: readonly Hex[], block: Hex | "latest"): Promise<Hex[]> {
    const { rpc, escrow } = this.#parts;
    const calls = questions.map((data) => ({ method: "eth_call", params: [{ to: escrow, data }, block] }));
    return rpc.batch<Hex[]>(calls, READ_TIMEOUT_MS);
  }

  #take(wallet: string, { block, account, returns }: AtBlock, askedAt: number): Balance {
    const { free, escrowed } = account;
    const position = endOfBlock(block);
    const terms = termsOf(account);
    const known = this.#entries.get(wallet);
    if (known && known.position > position) {
      // A node behind the one that told of our own transactions: its balance is older than ours.
      known.terms ??= terms;
      return this.#balance(known);
    }
    const entry = { free, escrowed, position, returns, terms, seenAt: performance.now(), askedAt };
    this.#set(wallet, entry);
    return this.#balance(entry);
  }

  #balance({ free, escrowed, returns }: Entry): Balance {
    const { time } = this.#parts.head;
    let returning = 0;
    // Anyone may refund a job that cannot be settled any more: its credits may be back already.
    for (const { credits, until } of returns.values()) if (time < until) returning += credits;
    return { free: free + returning, escrowed: escrowed - returning };
  }

  #set(wallet: string, entry: Entry): void {
    setNewest(this.#entries, wallet, entry, MAX_ENTRIES);
  }
}

const isFresh = ({ seenAt }: Entry): boolean => performance.now() - seenAt < FRESH_MS;

// ---------------------------------------------------------------- locks on their way

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
 * Locks that a wallet without jobs in the last minutes may have on their way. If all of them revert, that costs the gateway about what such
 * a wallet costs its owner.
 */
const FIRST = 32;
/** Each mined lock allows so many more: a wallet with many clients has all of its locks on their way after a few blocks. */
const MORE = 2;
/** Jobs that began within this time say how many locks a wallet had on their way before a restart. */
const RECALLED_MS = 600_000;
/** More locks of one wallet are never on their way at once. */
const MOST = 10_000;

/** A wallet's locks on their way: few at first, more with each that is mined, and one after a revert of its own doing. */
class LockAllowance {
  readonly #allowed = new Map<string, number>();

  of(wallet: string): number {
    return this.#allowed.get(wallet.toLowerCase()) ?? FIRST;
  }

  /**
   * Counts the jobs of the last minutes as if this process had seen them. Otherwise a wallet with hundreds of clients would have 32 locks
   * in the first block after a restart, which takes 12 seconds on a slow chain. A wallet whose locks revert would have 32 again.
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
      this.#set(wallet, () => Math.min((hasReverted ? 1 : FIRST) + MORE * locks, MOST));
    }
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
    setNewest(this.#allowed, wallet, change(this.of(wallet)), MAX_ENTRIES);
  }
}
