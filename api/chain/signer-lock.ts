import pg from "pg";
import type { Logger } from "pino";
import { type Address, keccak256, stringToBytes } from "viem";

const RETAKE_MS = 1_000;
const TIMEOUT_MS = 5_000;

/**
 * Exclusive use of one signer: a PostgreSQL advisory lock on a connection of its own. While the connection lives, no other
 * process can send with this signer; when it breaks, sending stops until the lock is taken again. The unique
 * (signer, nonce) rows fence the moment between.
 */
export class SignerLock {
  readonly #url: string;
  readonly #signer: Address;
  readonly #key: bigint;
  readonly #logger: Logger;
  readonly #timeoutMs: number;
  #client: pg.Client | undefined;
  #closed = false;
  #keeping = false;

  constructor(url: string, chainId: number, signer: Address, logger: Logger, timeoutMs = TIMEOUT_MS) {
    this.#url = url;
    this.#signer = signer;
    this.#logger = logger;
    this.#timeoutMs = timeoutMs;
    const digest = keccak256(stringToBytes(`signer-lock:${chainId}:${signer.toLowerCase()}`));
    this.#key = BigInt.asIntN(64, BigInt(digest));
  }

  get held(): boolean {
    return this.#client !== undefined;
  }

  /** Takes the lock, and takes it again whenever it is lost. Rejects if another process has it. */
  async keep(): Promise<void> {
    if (!(await this.acquire())) {
      throw new Error(
        `Another process sends transactions as ${this.#signer}: stop it, or give this one a signer of its own.`,
      );
    }
    this.#keeping = true;
  }

  /** Takes the lock; false if another process has it. */
  async acquire(): Promise<boolean> {
    const client = new pg.Client({
      connectionString: this.#url,
      keepAlive: true,
      application_name: "gateway signer lock",
      connectionTimeoutMillis: this.#timeoutMs,
      query_timeout: this.#timeoutMs,
    });
    client.on("error", (error) => this.#lost(client, error));
    client.on("end", () => this.#lost(client, null));
    try {
      await client.connect();
      const result = await client.query<{ ok: boolean }>("SELECT pg_try_advisory_lock($1) AS ok", [this.#key]);
      if (result.rows[0]?.ok === true && !this.#closed) this.#client = client;
    } finally {
      // Left open, a connection whose answer was lost could hold the lock against this very process.
      if (this.#client !== client) client.end().catch((error) => this.#logger.debug({ err: error }, "not closed"));
    }
    return this.#client === client;
  }

  async release(): Promise<void> {
    this.#closed = true;
    await this.#client?.end();
    this.#client = undefined;
  }

  #lost(client: pg.Client, error: Error | null): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    if (this.#closed) return;
    this.#logger.error(
      { err: error },
      "the signer lock's database connection was lost: sending stops until it is back",
    );
    if (this.#keeping) void this.#retake();
  }

  async #retake(): Promise<void> {
    while (!this.#closed && !this.held) {
      await new Promise((resolve) => setTimeout(resolve, RETAKE_MS));
      try {
        if (await this.acquire()) this.#logger.info("the signer lock is held again: sending goes on");
        else if (!this.#closed) this.#logger.error("another process took the signer: this one cannot send");
      } catch (error) {
        this.#logger.warn({ err: error }, "the signer lock cannot be taken yet");
      }
    }
  }
}
