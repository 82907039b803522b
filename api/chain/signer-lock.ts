import pg from "pg";
import type { Logger } from "pino";
import { type Address, keccak256, stringToBytes } from "viem";

/**
 * Exclusive use of one signer: a PostgreSQL advisory lock on a connection of its own. While the connection lives, no other
 * process can send with this signer; when it breaks, sending stops until the lock is taken again. The unique
 * (signer, nonce) rows fence the moment between.
 */
export class SignerLock {
  readonly #url: string;
  readonly #key: bigint;
  readonly #logger: Logger;
  #client: pg.Client | undefined;
  #closed = false;
  #onLost: () => void = () => {};

  constructor(url: string, chainId: number, signer: Address, logger: Logger) {
    this.#url = url;
    this.#logger = logger;
    const digest = keccak256(stringToBytes(`signer-lock:${chainId}:${signer.toLowerCase()}`));
    this.#key = BigInt.asIntN(64, BigInt(digest));
  }

  get held(): boolean {
    return this.#client !== undefined;
  }

  /** Called when the connection breaks. */
  onLost(listener: () => void): void {
    this.#onLost = listener;
  }

  /** Takes the lock; false if another process has it. */
  async acquire(): Promise<boolean> {
    const client = new pg.Client({
      connectionString: this.#url,
      keepAlive: true,
      application_name: "gateway signer lock",
      connectionTimeoutMillis: 5_000,
    });
    client.on("error", (error) => this.#lost(client, error));
    client.on("end", () => this.#lost(client, null));
    await client.connect();
    const result = await client.query<{ ok: boolean }>("SELECT pg_try_advisory_lock($1) AS ok", [this.#key]);
    if (result.rows[0]?.ok !== true) {
      await client.end();
      return false;
    }
    this.#client = client;
    return true;
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
    this.#onLost();
  }
}
