/**
 * The credits that a wallet can spend: its account on chain at one block, plus the credits that its settlements on their way will return. A
 * return counts only if its job holds the credits at that block and the settlement can still be mined. So a balance is never too high.
 */
import type pg from "pg";
import { type Address, type ContractFunctionReturnType, decodeFunctionResult, type Hex } from "viem";
import { escrowCall } from "../../protocol/calls.ts";
import { inferenceEscrowAbi as abi } from "../../protocol/generated/abi.ts";
import { ChainStatus } from "../../protocol/job-status.ts";
import type { Completion } from "../../protocol/messages.ts";
import { charge } from "../../protocol/pricing.ts";
import { ACCOUNT_AUTHORIZED, ACCOUNT_FROZEN, ACCOUNT_LIMITED, type AccountWord } from "../../protocol/words.ts";
import { setNewest } from "../../shared/newest.ts";
import { ReadLane } from "../../shared/read-lane.ts";
import { sleep } from "../../shared/sleep.ts";
import { ifIndexed, walletsWithCredits } from "../db/index-reads.ts";
import { CHAIN_JOB_ID } from "../db/pool.ts";
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

const SECONDS_PER_DAY = 86_400;

/** Credits that count against the daily limit of a lock at this chain time (Unix seconds): those of a UTC day before do not. */
export const spentAt = ({ spentDay, spentToday }: SpendingTerms, time: number): number =>
  spentDay < Math.floor(time / SECONDS_PER_DAY) ? 0 : spentToday;

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

/** How long a balance seen on chain is shown without asking the chain again; others may deposit or withdraw meanwhile. */
const FRESH_MS = 1_000;
/** Balances that are read a second for requests that a wallet without credits can make, of all wallets together. */
const BOUNDED_READS_PER_SECOND = 50;
/** Settlements on their way that are looked at, the newest ones; the credits of more are shown once they are mined. */
const MAX_SETTLING = 50;
const READ_TIMEOUT_MS = 3_000;
/** Pause before an account is read again for a lock that waits for it. */
const LEARN_AGAIN_MS = 250;
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

  /** Wallets whose accounts are read for locks that wait for that. */
  readonly #readForLock = new Set<string>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * What a wallet has left for locks: its free credits, and how many of them its daily limit leaves today. Null for an account that is not known, which
   * is then read.
   */
  left(wallet: string): { free: number; today: number } | null {
    const key = wallet.toLowerCase();
    const entry = this.#entries.get(key);
    const terms = entry?.terms ?? null;
    if (entry === undefined || terms === null) {
      void this.#learn(key);
      return null;
    }
    const { free } = this.#balance(entry);
    return { free, today: terms.dailyLimit === null ? free : terms.dailyLimit - spentAt(terms, this.#parts.head.time) };
  }

  /** Reads an account for a lock that waits for it. A node that does not answer, or is behind what we know, is asked again after a pause. */
  async #learn(wallet: string): Promise<void> {
    if (this.#readForLock.has(wallet)) return;
    this.#readForLock.add(wallet);
    await this.read(wallet).catch(() => {});
    if (this.terms(wallet) === null) await sleep(LEARN_AGAIN_MS);
    this.#readForLock.delete(wallet);
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
   * The balance for questions that a wallet without credits can cause: for a header, or whether it can pay. Works as `current`, and with `since` as
   * `read`. Null for a wallet that has no credits by the index, in a second in which this method has read the chain 50 times. Such wallets cost
   * nothing to make, and must not keep others from being read. Rejects with RpcUnreachable.
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

  /** The wallet's spending terms, as the chain last told them; null if it did not, or they may be others since. */
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
    for (const event of [...batch.eventsByJob.values()].flat()) {
      const account = accountIn(event);
      if (account === null) continue;
      const { free, escrowed } = account;
      const { position } = event;
      const wallet = (event.args.wallet as string).toLowerCase();
      const known = this.#entries.get(wallet);
      if (known && known.position > position) continue;
      // Some events tell balances only: the terms stay as the chain last told them. They can have given some of a daily limit back.
      const before = known?.terms?.dailyLimit === null ? known.terms : null;
      const terms = "flags" in account ? termsOf(account) : before;
      const seen = { seenAt: performance.now(), askedAt: Number.NEGATIVE_INFINITY };
      this.#set(wallet, { free, escrowed, position, returns: new Map(), terms, ...seen });
    }
  }

  /** The wallet made a lock revert in this block: what was known of its account is not true any more, unless it was seen after that block. */
  doubt(address: string, blockNumber: number): void {
    const wallet = address.toLowerCase();
    const known = this.#entries.get(wallet);
    const position = endOfBlock(blockNumber);
    if (known === undefined || known.position > position) return;
    const unseen = { seenAt: Number.NEGATIVE_INFINITY, askedAt: Number.NEGATIVE_INFINITY };
    this.#set(wallet, { ...known, position, terms: null, ...unseen });
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
      // A node behind the one that told of our own transactions: its account is older than ours.
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
    setNewest(this.#entries, wallet, entry);
  }
}

const isFresh = ({ seenAt }: Entry): boolean => performance.now() - seenAt < FRESH_MS;
