import type { PrivateKeyAccount } from "viem";
import { createSiweMessage } from "viem/siwe";
import type { KnownStack } from "../../support/api-client.ts";

type SignInFields = {
  domain?: string;
  uri?: string;
  chainId?: number;
  nonce?: string;
  issuedAt?: Date;
  expirationTime?: Date;
};

// biome-ignore lint/suspicious/noExplicitAny: whatever the application's API answers is what the tests look at
export type Answer = { status: number; headers: Headers; body: any };

/** The application's API as its own scripts use it in a browser: with a cookie jar, the Origin and the header. */
export class WebClient {
  readonly #stack: KnownStack;
  readonly origin: string;
  cookie: string | null = null;

  constructor(stack: KnownStack) {
    this.#stack = stack;
    this.origin = new URL(stack.info.app_url).origin;
  }

  async request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await fetch(`${this.#stack.info.app_url}/api${path}`, {
      method,
      headers: {
        ...(method === "GET" ? {} : { origin: this.origin, "x-requested-by": "web" }),
        ...(this.cookie === null ? {} : { cookie: this.cookie }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const set = response.headers.get("set-cookie");
    if (set !== null) this.cookie = /max-age=0/i.test(set) ? null : (set.split(";", 1)[0] ?? null);
    const text = await response.text();
    const json = response.headers.get("content-type")?.includes("json");
    return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text };
  }

  get = (path: string) => this.request("GET", path);
  post = (path: string, body?: unknown) => this.request("POST", path, body);

  /** A sign-in message for this service, but for what `fields` say. */
  async message(account: PrivateKeyAccount, fields: SignInFields = {}): Promise<string> {
    const nonce = fields.nonce ?? ((await this.post("/nonce")).body.nonce as string);
    const { host } = new URL(this.origin);
    return createSiweMessage({
      address: account.address,
      domain: host,
      uri: `${this.origin}/app`,
      version: "1",
      chainId: this.#stack.info.chain_id,
      issuedAt: new Date(),
      expirationTime: new Date(Date.now() + 300_000),
      ...fields,
      nonce,
    });
  }

  /** Signs in; answers as the service does. */
  async signIn(account: PrivateKeyAccount, fields: SignInFields = {}): Promise<Answer> {
    const message = await this.message(account, fields);
    return await this.post("/session", { message, signature: await account.signMessage({ message }) });
  }
}
