import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { BrowserContext, Page } from "playwright-core";
import { createWalletClient, type Hex, http, type PrivateKeyAccount, type RpcError } from "viem";
import type { KnownStack } from "../../support/api-client.ts";

type Request = { method: string; params?: unknown[] };
type Reply = { result: unknown } | { thrown: unknown } | { error: { code: number; message: string; data?: unknown } };

/** How a wallet comes into the page; at once and announced, by default. */
export type WalletKind = { late: boolean; silent: boolean };

/** What a wallet says when its owner presses "reject" (EIP-1193). */
const REJECTED = { code: 4001, message: "User rejected the request." };

/**
 * A browser wallet (EIP-1193, announced as of EIP-6963) for tests: it signs with `account`, and hands everything else to the stack's
 * node, as wallets do. A person's part is played by its fields.
 */
export class TestWallet {
  account: PrivateKeyAccount;
  /** The chain it is on. */
  chainId: number;
  /** Refuses the next request of one of these methods. */
  readonly refuses = new Set<string>();
  /** Throws this, as it is, at the next request of the method: not every wallet throws errors. */
  readonly throws = new Map<string, unknown>();
  /** What it was asked to sign or send, in order. */
  readonly asked: Request[] = [];
  /** Sends the account's transactions, where it cannot itself: a contract's owner does. */
  sender: ((call: { to: Hex; data: Hex }) => Promise<Hex>) | null = null;
  /** Hashes of the transactions that the page has read from the node. */
  readonly read = new Set<unknown>();
  /** Time its node takes for an answer, ms: what a page shows in between can be seen. */
  nodeMs = 0;
  /** Runs before a transaction is sent: what others do meanwhile. */
  beforeSending: () => Promise<void> = async () => {};
  readonly #stack: KnownStack;
  readonly #owner: PrivateKeyAccount;
  readonly #pages: Page[] = [];
  /** Whether the person has let the application see the account. */
  #connected = false;

  constructor(stack: KnownStack, account: PrivateKeyAccount) {
    this.#stack = stack;
    this.#owner = account;
    this.account = account;
    this.chainId = stack.info.chain_id;
  }

  /** Takes back what a test had its owner do. */
  reset(): void {
    this.account = this.#owner;
    this.chainId = this.#stack.info.chain_id;
    this.refuses.clear();
    this.throws.clear();
    this.asked.length = 0;
    this.read.clear();
    this.beforeSending = async () => {};
  }

  /** It is another person's from now on, whom the application does not know. */
  becomes(account: PrivateKeyAccount): void {
    this.account = account;
    this.asked.length = 0;
    this.#connected = false;
  }

  /** Puts the wallet into every page of the context. */
  async install(context: BrowserContext, kind?: WalletKind): Promise<void> {
    if (kind !== undefined) await context.addInitScript(`window.__walletKind = ${JSON.stringify(kind)}`);
    await context.exposeFunction("__wallet", (request: Request) => this.#answer(request));
    await context.addInitScript({ path: fileURLToPath(new URL("./page-wallet.mjs", import.meta.url)) });
    context.on("page", (page) => this.#pages.push(page));
  }

  /** What was signed or sent, by method. */
  signed(): string[] {
    return this.asked.map(({ method }) => method).filter((method) => /^(personal_sign|eth_sign|eth_send)/.test(method));
  }

  /** The person switches the chain in the wallet. */
  async switchTo(chainId: number): Promise<void> {
    this.chainId = chainId;
    await this.#emit("chainChanged", `0x${chainId.toString(16)}`);
  }

  /** The person selects another account in the wallet. */
  async selectAccount(account: PrivateKeyAccount): Promise<void> {
    this.account = account;
    await this.#emit("accountsChanged", [account.address]);
  }

  async #emit(event: string, value: unknown): Promise<void> {
    for (const page of this.#pages) {
      if (!page.isClosed()) await page.evaluate(`window.__emit(${JSON.stringify(event)}, ${JSON.stringify(value)})`);
    }
  }

  async #answer(request: Request): Promise<Reply> {
    const { method, params = [] } = request;
    if (this.throws.has(method)) {
      const thrown = this.throws.get(method);
      this.throws.delete(method);
      this.asked.push({ method, params });
      return { thrown };
    }
    try {
      return { result: await this.#handle(request) };
    } catch (error) {
      const { code, message, data } = error as Partial<RpcError> & { data?: unknown };
      return { error: { code: typeof code === "number" ? code : -32603, message: message ?? String(error), data } };
    }
  }

  async #handle({ method, params = [] }: Request): Promise<unknown> {
    if (/^(personal_sign|eth_sign|eth_send|wallet_|eth_requestAccounts)/.test(method))
      this.asked.push({ method, params });
    if (this.refuses.delete(method)) throw REJECTED;
    switch (method) {
      case "eth_requestAccounts":
        this.#connected = true;
        return [this.account.address];
      case "eth_accounts":
        return this.#connected ? [this.account.address] : [];
      case "eth_chainId":
        return `0x${this.chainId.toString(16)}`;
      case "wallet_switchEthereumChain":
        await this.switchTo(Number((params[0] as { chainId: Hex }).chainId));
        return null;
      case "wallet_addEthereumChain":
        return null;
      case "wallet_requestPermissions":
      case "wallet_revokePermissions":
      case "wallet_getCapabilities":
        throw { code: 4200, message: `${method} is not supported` };
      case "personal_sign":
        return await this.account.signMessage({ message: { raw: params[0] as Hex } });
      case "eth_signTypedData_v4":
        return await this.account.signTypedData(JSON.parse(params[1] as string));
      case "eth_sendTransaction":
        return await this.#send(params[0] as { to: Hex; data?: Hex; value?: Hex; gas?: Hex });
      default:
        return await this.#rpc(method, params);
    }
  }

  async #send({ to, data, value, gas }: { to: Hex; data?: Hex; value?: Hex; gas?: Hex }): Promise<Hex> {
    await this.beforeSending();
    if (this.sender !== null) return await this.sender({ to, data: data ?? "0x" });
    const client = createWalletClient({ account: this.account, transport: http(this.#stack.info.rpc_url) });
    return await client.sendTransaction({
      to,
      ...(data === undefined ? {} : { data }),
      value: BigInt(value ?? 0),
      // A wallet estimates before it asks; what changed since then is what reverts.
      gas: BigInt(gas ?? 1_000_000),
      chain: null,
    });
  }

  async #rpc(method: string, params: unknown[]): Promise<unknown> {
    await sleep(this.nodeMs);
    const response = await fetch(this.#stack.info.rpc_url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const { result, error } = (await response.json()) as { result?: unknown; error?: object };
    if (error !== undefined) throw error;
    if (method === "eth_getTransactionByHash" && result != null) this.read.add(params[0]);
    return result ?? null;
  }
}
