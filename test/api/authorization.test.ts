/** Whose credits this service may lock: of wallets that chose its operator, and where they demand it, for what they signed only. */
import { createHash } from "node:crypto";
import { type Address, type Hex, type PrivateKeyAccount, parseEventLogs } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { beforeAll, describe, expect, it } from "vitest";
import { inferenceEscrowAbi } from "../../protocol/generated/abi.ts";
import { fromApiJobId, newJobId, toApiJobId } from "../../protocol/job-id.ts";
import type { Authorization } from "../../protocol/messages.ts";
import { GATEWAY, OPERATOR } from "../../scripts/dev/wallets.ts";
import { chat, eventually, JSON_TYPE } from "../support/api-client.ts";
import { signAuthorization } from "../support/authorization.ts";
import { chainReader } from "../support/chain-reader.ts";
import { Client } from "../support/client.ts";
import { Contract } from "../support/contract.ts";
import { MODEL } from "../support/service-stack.ts";
import { openService, settled } from "./support/service.ts";

/** What the gateway remembers of an account, it asks for again after this. */
const FRESH_MS = 1_200;

const { stack, pool } = await openService();
const chain = chainReader(stack);
const contract = await Contract.of(stack.info.base_url);
const { data } = (await (await fetch(`${stack.info.base_url}/app/api/models`)).json()) as {
  data: { id: string; number: number }[];
};
/** Its number in the catalog. */
const model = data.find(({ id }) => id === MODEL)?.number as number;

/** What a client changes of what it would sign. */
type Change = Partial<Authorization> & { signer?: PrivateKeyAccount };

/** A client, the key that signs for its jobs, and what it does about both on chain. */
class Wallet {
  readonly client: Client;
  readonly key = privateKeyToAccount(generatePrivateKey());
  constructor(client: Client) {
    this.client = client;
  }

  static async create(): Promise<Wallet> {
    return new Wallet(await Client.funded(stack, pool, 1_000));
  }

  get address(): Address {
    return this.client.account.address;
  }

  async set(functionName: "setAuthorizationKey" | "chooseOperator", value: unknown): Promise<void> {
    await this.client.escrow(functionName, [value]);
    await new Promise((resolve) => setTimeout(resolve, FRESH_MS));
  }

  /** The header for a body. */
  sign(body: string, { signer = this.key, ...change }: Change = {}): Promise<string> {
    return signAuthorization(stack, signer, body, { wallet: this.address, model, ...change });
  }

  /** Asks, with whatever headers, and holds the answer against the OpenAPI document. */
  async ask(body: string, headers: Record<string, string> = {}) {
    const response = await this.client.api.send("POST", "/v1/chat/completions", { ...JSON_TYPE, ...headers }, body);
    const answer = await contract.check("post", "/v1/chat/completions", response);
    return { status: response.status, headers: response.headers, body: answer };
  }

  /** Signs the body and asks with it. */
  async askSigned(body: string, change: Change = {}) {
    const header = await this.sign(body, change);
    return { header, ...(await this.ask(body, { "x-service-authorization": header })) };
  }
}

/** Two wallets with a key each that signs for their jobs. */
const [one, other] = [await Wallet.create(), await Wallet.create()];

const hello = (more: Record<string, unknown> = {}) => JSON.stringify(chat(MODEL, "Hello", more));
/** Transactions of the gateway about the wallet since a block: what is refused before them has cost it no gas. */
async function sentAfter(block: bigint, { address }: Wallet): Promise<Hex[]> {
  const sent: Hex[] = [];
  // Asked for once: the other files go on mining.
  const head = await chain.client.getBlockNumber({ cacheTime: 0 });
  for (let number = block + 1n; number <= head; number++) {
    const { transactions } = await chain.client.getBlock({ blockNumber: number, includeTransactions: true });
    const own = transactions.filter(({ from }) => from === GATEWAY.address.toLowerCase());
    sent.push(...own.filter(({ input }) => input.includes(address.slice(2).toLowerCase())).map(({ hash }) => hash));
  }
  return sent;
}
const balance = async (wallet: Wallet) => {
  const { free, escrowed } = await chain.account(wallet.address);
  return { free, escrowed };
};

/** Expects that nothing was locked or sent meanwhile. */
async function untouched(wallet: Wallet, ask: () => Promise<void>): Promise<void> {
  const before = await balance(wallet);
  const block = await chain.client.getBlockNumber({ cacheTime: 0 });
  await ask();
  expect(await balance(wallet)).toEqual(before);
  expect(await sentAfter(block, wallet)).toEqual([]);
}

it("a wallet that chose another operator gets 403 operator_not_chosen, free of gas", async () => {
  const wallet = await Wallet.create();
  expect((await wallet.ask(hello())).status).toBe(200);
  await eventually(
    () => balance(wallet),
    ({ escrowed }) => escrowed === 0,
  );
  await wallet.set("chooseOperator", 0);
  await untouched(wallet, async () => {
    const { status, headers, body } = await wallet.ask(hello());
    expect(status).toBe(403);
    expect(body.error).toMatchObject({
      code: "operator_not_chosen",
      type: "permission_error",
      message: expect.stringContaining("Choose operator 1 in the web application, or call chooseOperator(1)"),
      details: { operator: OPERATOR, chosen_operator: null },
    });
    expect(headers.get("x-service-job-id")).toBeNull();
    expect(headers.get("x-service-credits-remaining")).toBe("992");
  });
  await wallet.set("chooseOperator", OPERATOR);
  expect((await wallet.ask(hello())).status).toBe(200);
});

describe("a wallet with an authorization key", () => {
  beforeAll(async () => {
    await one.set("setAuthorizationKey", one.key.address);
    await other.set("setAuthorizationKey", other.key.address);
  });

  it("locks nothing without its signature: 403 authorization_required, free of gas", async () => {
    await untouched(one, async () => {
      const { status, body } = await one.ask(hello());
      expect([status, body.error.code, body.error.type]).toEqual([403, "authorization_required", "permission_error"]);
    });
  });

  it("pays for what it signed, under its own job id, with the body's hash on chain", async () => {
    const body = hello();
    const jobId = newJobId();
    const { status, headers } = await one.askSigned(body, { jobId });
    expect(status).toBe(200);
    const id = headers.get("x-service-job-id") as string;
    expect(id).toBe(toApiJobId(jobId));
    const receipt = await chain.client.getTransactionReceipt({ hash: headers.get("x-service-tx-hash") as Hex });
    const [event] = parseEventLogs({ abi: inferenceEscrowAbi, logs: receipt.logs, eventName: "JobAuthorized" });
    const requestHash = `0x${createHash("sha256").update(body).digest("hex")}`;
    expect(event?.args).toEqual({ jobId, key: one.key.address, requestHash });
    expect(await settled(one.client.api, id)).toMatchObject({ credits_charged: 8 });
  });

  it("gets the same answer again for the same header and body, and pays once", async () => {
    const body = hello();
    const first = await one.askSigned(body);
    const id = first.headers.get("x-service-job-id") as string;
    await settled(one.client.api, id);
    await untouched(one, async () => {
      const again = await one.ask(body, { "x-service-authorization": first.header });
      expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
      expect(again.body).toEqual(first.body);
    });
    // Sent twice at once, it is one job as well.
    const header = await one.sign(body);
    const twice = await Promise.all([1, 2].map(() => one.ask(body, { "x-service-authorization": header })));
    expect(twice.map(({ status }) => status)).toEqual([200, 200]);
    expect(new Set(twice.map(({ headers }) => headers.get("x-service-job-id"))).size).toBe(1);
  });

  it("cannot use an id twice: another body, or another wallet, is 409 conflict", async () => {
    const jobId = newJobId();
    const first = await one.askSigned(hello(), { jobId });
    expect(first.status).toBe(200);
    const id = toApiJobId(jobId);
    expect(await settled(one.client.api, id)).toMatchObject({ id, credits_charged: 8 });
    for (const [wallet, body] of [
      [one, hello({ temperature: 1 })],
      [other, hello()],
    ] as const) {
      await untouched(wallet, async () => {
        const { status, body: answer } = await wallet.askSigned(body, { jobId });
        expect([status, answer.error.code, answer.error.details]).toEqual([409, "conflict", { job_id: id }]);
      });
    }
  });

  it("cannot take the id of a job that somebody else runs", async () => {
    const demo = (await Wallet.create()).client.api;
    const reply = await demo.post("/v1/chat/completions", chat(MODEL, "Hello"));
    const id = reply.headers.get("x-service-job-id") as string;
    const { status, body } = await one.askSigned(hello(), { jobId: fromApiJobId(id) as Hex });
    expect([status, body.error.code]).toEqual([409, "conflict"]);
    expect(await settled(demo, id)).toMatchObject({ credits_charged: 8 });
  });

  it("is refused with another key's signature, and no gas is spent", async () => {
    const header = await one.sign(hello(), { signer: privateKeyToAccount(generatePrivateKey()) });
    await untouched(one, async () => {
      const { status, body } = await one.ask(hello(), { "x-service-authorization": header });
      expect(status).toBe(403);
      expect(body.error).toMatchObject({ code: "authorization_invalid", param: "x-service-authorization" });
    });
  });

  it("sends no Idempotency-Key beside the header", async () => {
    const header = await one.sign(hello());
    const { status, body } = await one.ask(hello(), { "x-service-authorization": header, "idempotency-key": "mine" });
    expect([status, body.error.code]).toEqual([400, "invalid_request"]);
    // What was refused before its escrow can be sent again as it should have been.
    expect((await one.ask(hello(), { "x-service-authorization": header })).status).toBe(200);
  });

  it("and is asked for none without its key; a signature is then refused", async () => {
    await other.set("setAuthorizationKey", "0x0000000000000000000000000000000000000000");
    const { status, body } = await other.askSigned(hello());
    expect([status, body.error.code, body.error.details.key]).toEqual([403, "authorization_invalid", null]);
    expect((await other.ask(hello())).status).toBe(200);
  });
});
