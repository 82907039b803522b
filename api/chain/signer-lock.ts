/**
 * Exclusive use of a signer: a PostgreSQL advisory lock on a connection of its own. One process holds it to send as that signer, or to
 * end the jobs that the signer's gateway left. The lock goes with its connection; the unique (signer, nonce) rows of the outbox fence
 * what the process has still under way at that moment.
 */
import pg from "pg";
import type { Logger } from "pino";
import { type Address, keccak256, stringToBytes } from "viem";

const RETAKE_MS = 1_000;
/** Longer than a process needs to take its lock again, once the database is back. */
const OTHERS_MS = 8_000;
/** Pauses between the looks at another signer's lock in that time; there is one look more. */
const LOOKS = 8;
const TIMEOUT_MS = 5_000;
/** Both ends notice within 15 s that the other machine is gone: then the lock is lost here, and free there. */
const KEEPALIVE = { idleSeconds: 5, probes: 10 };

/** Gateways exclude each other per signer on one chain in one database. */
export type LockSpace = { databaseUrl: string; chainId: number; timeoutMs?: number };

/** A signer that no other process uses until `lost` is aborted: its connection broke, or `release` was called. */
type HeldSigner = {
  readonly lost: AbortSignal;
  /** Those of the signers whose locks no process holds now. */
  free(signers: readonly Address[]): Promise<Address[]>;
  release(): Promise<void>;
};

/** Number of a signer's advisory lock. */
export function signerLockKey(chainId: number, signer: Address): bigint {
  return BigInt.asIntN(64, BigInt(keccak256(stringToBytes(`signer-lock:${chainId}:${signer.toLowerCase()}`))));
}

/** Takes a signer; null if another process has it. Rejects if the database does not answer. */
export async function trySignerLock(space: LockSpace, signer: Address): Promise<HeldSigner | null> {
  const { databaseUrl, chainId, timeoutMs = TIMEOUT_MS } = space;
  const { idleSeconds, probes } = KEEPALIVE;
  const client = new pg.Client({
    connectionString: databaseUrl,
    options: `-c tcp_keepalives_idle=${idleSeconds} -c tcp_keepalives_interval=1 -c tcp_keepalives_count=${probes}`,
    keepAlive: true,
    keepAliveInitialDelayMillis: idleSeconds * 1_000,
    application_name: "gateway signer lock",
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  });
  const lost = new AbortController();
  client.on("error", (error) => lost.abort(error));
  client.on("end", () => lost.abort(new Error("the connection was closed")));
  let held = false;
  try {
    await client.connect();
    const key = signerLockKey(chainId, signer);
    const result = await client.query<{ held: boolean }>("SELECT pg_try_advisory_lock($1) AS held", [key]);
    held = result.rows[0]?.held === true && !lost.signal.aborted;
  } finally {
    // A connection whose answer was lost can hold the lock against this very process.
    if (!held) client.end().catch(() => {});
  }
  if (!held) return null;
  const free = async (signers: readonly Address[]): Promise<Address[]> => {
    const keys = signers.map((one) => String(signerLockKey(chainId, one)));
    const { rows } = await client.query<{ key: string }>(HELD_KEYS, [keys]);
    const taken = new Set(rows.map(({ key }) => key));
    return signers.filter((_, index) => !taken.has(keys[index] as string));
  };
  return { lost: lost.signal, free, release: () => client.end() };
}

/** Which of the keys are locked. PostgreSQL shows the key of an advisory lock in two halves. */
const HELD_KEYS = `SELECT key::text FROM unnest($1::bigint[]) AS key
  WHERE EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid = ((key >> 32) & 4294967295)::oid AND objid = (key & 4294967295)::oid)`;

/** The lock on this process's own signer: while it is lost, nothing may be sent, and it is taken again as soon as it is free. */
export class SignerLock {
  readonly #logger: Logger;
  readonly #take: () => Promise<HeldSigner | null>;
  #lock: HeldSigner;
  #released = false;
  /** When the lock was last taken again, ms since the epoch, and how often it was. */
  #retakenAt = 0;
  #terms = 0;

  private constructor(lock: HeldSigner, take: () => Promise<HeldSigner | null>, logger: Logger) {
    this.#lock = lock;
    this.#take = take;
    this.#logger = logger;
    this.#watch();
  }

  /** Takes the lock, and takes it again whenever it is lost. Rejects if another process has it. */
  static async keep(space: LockSpace, signer: Address, logger: Logger): Promise<SignerLock> {
    const take = () => trySignerLock(space, signer);
    const lock = await take();
    if (lock !== null) return new SignerLock(lock, take, logger);
    throw new Error(`Another process sends transactions as ${signer}: stop it, or give this one a signer of its own.`);
  }

  get held(): boolean {
    return !this.#lock.lost.aborted;
  }

  /** Changes each time that the lock was lost and taken again: between two terms another process may have sent as this signer. */
  get term(): number {
    return this.#terms;
  }

  /**
   * Those of the signers that no process uses any more: their locks are free at each look of eight seconds. A process that lost its connection to the
   * database takes its lock again, and what took this process's lock a moment ago took the others' as well.
   */
  async left(signers: readonly Address[]): Promise<Address[]> {
    let left = [...signers];
    for (let looks = 0; looks <= LOOKS && left.length > 0; looks++) {
      if (looks > 0) await new Promise((resolve) => setTimeout(resolve, OTHERS_MS / LOOKS));
      if (!this.held || Date.now() - this.#retakenAt < OTHERS_MS) return [];
      left = await this.#lock.free(left);
    }
    return left;
  }

  async release(): Promise<void> {
    this.#released = true;
    await this.#lock.release();
  }

  #watch(): void {
    const { lost } = this.#lock;
    if (lost.aborted) void this.#retake();
    else lost.addEventListener("abort", () => void this.#retake(), { once: true });
  }

  async #retake(): Promise<void> {
    if (this.#released) return;
    this.#logger.error(
      { err: this.#lock.lost.reason },
      "the signer lock's database connection was lost: sending stops until it is back",
    );
    while (!this.#released) {
      await new Promise((resolve) => setTimeout(resolve, RETAKE_MS));
      try {
        const lock = await this.#take();
        if (lock === null) {
          this.#logger.error("another process took the signer: this one cannot send");
          continue;
        }
        this.#lock = lock;
        this.#retakenAt = Date.now();
        this.#terms += 1;
        if (this.#released) return await lock.release();
        this.#logger.info("the signer lock is held again: sending goes on");
        return this.#watch();
      } catch (error) {
        this.#logger.warn({ err: error }, "the signer lock cannot be taken yet");
      }
    }
  }
}
