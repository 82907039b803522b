import type pg from "pg";
import { pino } from "pino";
import { type Address, createPublicClient, createWalletClient, type Hex, http, type PrivateKeyAccount } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { Keys } from "../../api/account/keys.ts";
import { openDatabase } from "../../api/db/pool.ts";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { OPERATOR, provideTokens } from "../../scripts/dev/wallets.ts";
import type { EventName } from "../../webhooks/events.ts";
import type { WebhookObject } from "../../webhooks/receivers.ts";
import { type ApiClient, apiClient, type KnownStack } from "./api-client.ts";
import { richAccount } from "./gas.ts";
import { mined } from "./mined.ts";

/** The gateway's database as a test looks into it. */
export const openStore = (stack: KnownStack): pg.Pool => {
  const pool = openDatabase(stack.info.database_url, pino({ level: "silent" }), 4);
  // PostgreSQL may stop before a closing connection has said goodbye.
  pool.on("error", () => {});
  return pool;
};

/** A client of the service: a wallet of its own with gas and tokens, and an API key. */
export class Client {
  readonly account: PrivateKeyAccount;
  readonly api: ApiClient;
  readonly apiKey: string;
  readonly #stack: KnownStack;
  readonly #reader;
  readonly #sender;
  /** Of its next transaction: the first one was the escrow's allowance. */
  #nonce = 1;

  private constructor(stack: KnownStack, account: PrivateKeyAccount, apiKey: string) {
    this.account = account;
    this.#stack = stack;
    const transport = http(stack.info.rpc_url);
    this.#reader = createPublicClient({ transport, pollingInterval: 20 });
    this.#sender = createWalletClient({ account, transport });
    this.api = apiClient(stack, apiKey);
    this.apiKey = apiKey;
  }

  /** `credits`: how many it can buy, all in all. */
  static async create(stack: KnownStack, pool: pg.Pool, credits: number): Promise<Client> {
    const account = privateKeyToAccount(generatePrivateKey());
    const client = new Client(stack, account, await new Keys(pool).regenerate(account.address));
    await provideTokens(stack.info, { funder: await richAccount(stack), owner: account, credits });
    return client;
  }

  /** A client that has bought these credits. */
  static async funded(stack: KnownStack, pool: pg.Pool, credits: number): Promise<Client> {
    const client = await Client.create(stack, pool, credits);
    await client.deposit(credits);
    return client;
  }

  /** Buys credits, with the stack's operator; resolves when the transaction is mined. */
  async deposit(credits: number): Promise<Hex> {
    return await this.escrow("deposit", [credits, OPERATOR]);
  }

  /** Buys credits in `count` transactions, sent before the first one is mined; resolves with their hashes when all are mined. */
  async depositOften(count: number, credits: number): Promise<Hex[]> {
    const hashes: Hex[] = [];
    // One after the other: of transactions that arrive in another order than their nonces, anvil can leave one unmined.
    for (let sent = 0; sent < count; sent += 1) hashes.push(await this.#send("deposit", [credits, OPERATOR]));
    await Promise.all(hashes.map((hash) => this.mined(hash)));
    return hashes;
  }

  async withdraw(credits: number): Promise<Hex> {
    return await this.escrow("withdraw", [credits, this.account.address]);
  }

  /** Creates a webhook through the API; with `secret` if it is to be known. */
  async webhook(url: string, events: EventName[], secret?: string): Promise<WebhookObject> {
    const { status, body } = await this.api.post("/v1/webhooks", { url, events, ...(secret ? { secret } : {}) });
    if (status !== 201) throw new Error(`no webhook: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  async mined(hash: Hex): Promise<Hex> {
    await mined(this.#reader, hash);
    return hash;
  }

  /** A call of the escrow by the wallet itself, mined; a revert throws. */
  async escrow(functionName: string, args: unknown[]): Promise<Hex> {
    return await this.mined(await this.#send(functionName, args));
  }

  async #send(functionName: string, args: unknown[]): Promise<Hex> {
    const address = this.#stack.info.contracts.InferenceEscrow as Address;
    const call = {
      address,
      abi: inferenceEscrowAbi,
      functionName,
      args,
      chain: null,
      gas: 300_000n,
      nonce: this.#nonce++,
    };
    return await this.#sender.writeContract(call as never);
  }
}
