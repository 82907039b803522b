/**
 * A dishonest operator between its clients and the chain. It stands in front of the real gateway and changes what that replies, or it plays the
 * gateway: it has a key of the operator, and the key of a worker that does what it says. The first part of a path names the lie: /<lie>/v1/….
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { type Address, createPublicClient, createWalletClient, type Hex, http } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { parseAuthorization } from "../../../api/jobs/authorization.ts";
import { answerHash } from "../../../protocol/answer-hash.ts";
import { inferenceEscrowAbi, modelCatalogAbi } from "../../../protocol/generated/abi.ts";
import { newJobId, toApiJobId } from "../../../protocol/job-id.ts";
import { type Completion, compactSignature, escrowDomain, jobMessageTypes } from "../../../protocol/messages.ts";
import { giveGas } from "../../support/gas.ts";
import { mined } from "../../support/mined.ts";
import { SECOND_KEY } from "../../support/second-gateway.ts";
import type { SharedStack } from "../../support/shared-fixtures.ts";
import { PLAYED } from "./hostile-stack.ts";

/**
 * A reply on its way to the client, as it can be changed: headers, and each `data:` line of a stream, or the one body of a plain reply. Where it is
 * `held`, nothing follows `raw` but comments, and the connection stays open for so many milliseconds. `broken`: the connection ends after `raw`.
 */
export type Draft = {
  status: number;
  headers: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: replies are changed in every way
  data: any[];
  raw: string | null;
  cut: boolean;
  held?: number;
  broken?: boolean;
};

/** A request as the operator has it: the wallet is that of its key. */
export type RecordedRequest = {
  wallet: Address;
  body: string;
  headers: IncomingMessage["headers"];
  json: Record<string, unknown>;
};

/** What it does for a request itself, instead of the real gateway: the reply. */
type Play = (operator: HostileOperator, asked: RecordedRequest) => Promise<Draft>;

export type Lie = {
  /** Changes what the real gateway replies. */
  alter?: (draft: Draft, operator: HostileOperator, asked: RecordedRequest) => void | Promise<void>;
  play?: Play;
  /** Its answer to a request for a dispute; the real gateway's without it. `null`: none, ever. */
  dispute?: { status: number; body: unknown } | null;
  /** It forgets the name of a request, so that a repeated one is another job. */
  forgets?: boolean;
  /** Its answer to a request for an output. */
  output?: { status: number; body: unknown };
};

/** A job that it plays on the chain. Without a field it does what is right. */
type Played = {
  jobId?: Hex;
  wallet?: Address;
  model?: string;
  maxTokens?: number;
  maxCredits?: number;
  text?: string;
  /** The text whose hash is settled. */
  settledText?: string;
  tokens?: number;
  /** What it shows as reasoning, and the tokens of that which are signed and billed. */
  reasoning?: string;
  reasoningTokens?: number;
  textBytes?: number;
  settle?: boolean;
};

const NOT_PASSED = [
  "transfer-encoding",
  "connection",
  "content-length",
  "content-encoding",
  "keep-alive",
  "trailer",
  "date",
];

export class HostileOperator {
  readonly stack: SharedStack;
  readonly worker: PrivateKeyAccount;
  readonly key = privateKeyToAccount(SECOND_KEY);
  readonly lies: Record<string, Lie>;
  /** Wallets by their API keys. */
  readonly wallets = new Map<string, Address>();
  readonly #client;
  readonly #sender;
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(JSON.stringify({ error: { code: "internal_error", message: String(error) } }));
    });
  });
  /** Lies that were told to a client before: further requests of it are refused. */
  readonly #cut = new Set<string>();
  #models: Promise<Map<string, number>> | undefined;
  #lane: Promise<unknown> = Promise.resolve();

  private constructor(stack: SharedStack, lies: Record<string, Lie>) {
    this.stack = stack;
    this.lies = lies;
    this.worker = privateKeyToAccount(stack.workers[PLAYED]?.privateKey as Hex);
    const transport = http(stack.info.rpc_url);
    this.#client = createPublicClient({ transport, pollingInterval: 20 });
    this.#sender = createWalletClient({ account: this.key, transport });
  }

  static async start(stack: SharedStack, lies: Record<string, Lie>): Promise<HostileOperator> {
    const operator = new HostileOperator(stack, lies);
    await giveGas(stack, operator.key.address, "100");
    operator.#server.listen(0, "127.0.0.1");
    await once(operator.#server, "listening");
    return operator;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  url(lie: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${lie}/v1`;
  }

  get escrow(): Address {
    return this.stack.info.contracts["InferenceEscrow"] as Address;
  }

  /** A call of the escrow with the operator's key, mined; null when the contract refuses it. */
  call(functionName: string, args: unknown[]): Promise<Hex | null> {
    const call = { address: this.escrow, abi: inferenceEscrowAbi, functionName, args, chain: null };
    const sent = this.#lane.then(async () => {
      try {
        const hash = await this.#sender.writeContract(call as never);
        await mined(this.#client, hash);
        return hash;
      } catch {
        return null;
      }
    });
    this.#lane = sent;
    return sent;
  }

  /** Disputes a job of its own with another hash. */
  dispute(completion: Completion, signature: Hex): Promise<Hex | null> {
    return this.call("openDispute", [answerHash("made up"), completion, compactSignature(signature)]);
  }

  sign(completion: Completion, by: PrivateKeyAccount = this.worker): Promise<Hex> {
    const domain = escrowDomain(this.stack.info.chain_id, this.escrow);
    return by.signTypedData({ domain, types: jobMessageTypes, primaryType: "Completion", message: completion });
  }

  /** Gives a job to its worker, which takes it. */
  async acknowledge(jobId: Hex): Promise<Hex | null> {
    const assignment = { jobId, worker: this.worker.address, attempt: 1, acknowledgeBy: (await this.now()) + 20 };
    const domain = escrowDomain(this.stack.info.chain_id, this.escrow);
    const message = { jobId, attempt: 1 };
    const taken = { domain, types: jobMessageTypes, primaryType: "Acknowledgement", message } as const;
    const byWorker = compactSignature(await this.worker.signTypedData(taken));
    // Its own call needs no signature of the gateway.
    return this.call("acknowledge", [assignment, byWorker, byWorker]);
  }

  async now(): Promise<number> {
    return Number((await this.#client.getBlock()).timestamp);
  }

  /** Locks, has its worker sign, settles, and writes the reply that an honest gateway would. */
  async play(asked: RecordedRequest, played: Played = {}): Promise<Draft> {
    const { model = String(asked.json["model"]), wallet = asked.wallet, text = "All is well, I assure you." } = played;
    const header = asked.headers["x-service-authorization"];
    const signed = typeof header === "string" ? parseAuthorization(header) : null;
    const jobId = played.jobId ?? signed?.jobId ?? newJobId();
    const { maxTokens = signed?.maxTokens ?? 2_000, maxCredits = signed?.maxCredits ?? 5_000, tokens = 7 } = played;
    const number = (await this.models()).get(model) as number;
    const validUntil = (await this.now()) + 60;
    const escrowTx =
      signed === null
        ? await this.call("lock", [wallet, number, jobId, maxTokens, maxCredits, validUntil])
        : await this.lockSigned(asked, { ...signed, jobId, maxTokens, maxCredits, model: number, wallet });
    const { reasoning = "", reasoningTokens = 0, textBytes = Buffer.byteLength(text) } = played;
    const counts = { promptTokens: 3, completionTokens: tokens, reasoningTokens };
    const completion = { jobId, ...counts, textBytes, completedAt: await this.now() };
    const settled = { ...completion, proofHash: answerHash(played.settledText ?? text) };
    let settlementTx: Hex | null = null;
    if (played.settle !== false) {
      const byWorker = compactSignature(await this.sign(settled));
      settlementTx = await this.call("complete", [settled, tokens + reasoningTokens, byWorker, wallet]);
    }
    const said = { ...completion, proofHash: answerHash(text) };
    const statement = { worker_address: this.worker.address, completion: said, signature: await this.sign(said) };
    const job = { jobId, text, reasoning, statement, tokens, reasoningTokens, escrowTx, settlementTx };
    return this.draft(asked, job);
  }

  /** The lock that a client's signature allows, with whatever the operator puts in. */
  lockSigned(
    asked: RecordedRequest,
    { signature, ...message }: ReturnType<typeof parseAuthorization> & { model: number; wallet: Address },
  ) {
    const requestHash = answerHash(asked.body);
    return this.call("lockAuthorized", [{ ...message, operator: 1, requestHash }, compactSignature(signature)]);
  }

  /** A reply as an honest gateway writes it. */
  draft(
    asked: RecordedRequest,
    job: {
      jobId: Hex;
      text: string;
      reasoning?: string;
      statement: unknown;
      tokens: number;
      reasoningTokens?: number;
      escrowTx: Hex | null;
      settlementTx: Hex | null;
    },
  ): Draft {
    const id = `chatcmpl-${toApiJobId(job.jobId)}`;
    const model = asked.json["model"];
    const headers = {
      "content-type": "text/event-stream; charset=utf-8",
      "x-service-job-id": toApiJobId(job.jobId),
      "x-service-worker": this.worker.address,
      ...(job.escrowTx && { "x-service-tx-hash": job.escrowTx }),
      ...(job.settlementTx && { "x-service-settlement-tx": job.settlementTx }),
    };
    const chunk = { id, object: "chat.completion.chunk", created: 1, model };
    const delta = { role: "assistant", content: job.text, ...(job.reasoning && { reasoning_content: job.reasoning }) };
    const { reasoningTokens = 0 } = job;
    const tokens = job.tokens + reasoningTokens;
    const details = { completion_tokens_details: { reasoning_tokens: reasoningTokens } };
    const data = [
      { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] },
      { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: "stop" }], service: job.statement },
      {
        ...chunk,
        choices: [],
        usage: {
          prompt_tokens: 3,
          completion_tokens: tokens,
          total_tokens: 3 + tokens,
          ...(reasoningTokens > 0 && details),
        },
      },
    ];
    return { status: 200, headers, data, raw: null, cut: false };
  }

  models(): Promise<Map<string, number>> {
    this.#models ??= (async () => {
      const catalog = { address: this.stack.info.contracts["ModelCatalog"] as Address, abi: modelCatalogAbi } as const;
      const count = await this.#client.readContract({ ...catalog, functionName: "modelCount" });
      const read = (number: number) =>
        this.#client.readContract({ ...catalog, functionName: "modelAt", args: [number] });
      const all = await Promise.all(Array.from({ length: count }, (_, i) => read(i + 1)));
      return new Map(all.map(({ number, listing }) => [listing.id, number]));
    })();
    return this.#models;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, name = "", path = ""] = /^\/([^/]+)(\/.*)$/.exec(request.url ?? "") ?? [];
    const lie = this.lies[name] as Lie;
    const body = await textOf(request);
    if (path.endsWith("/dispute") && lie.dispute !== undefined)
      return lie.dispute ? send(response, lie.dispute) : undefined;
    if (path.endsWith("/output") && lie.output !== undefined) return send(response, lie.output);
    const apiKey = String(request.headers.authorization).replace("Bearer ", "");
    if (!path.endsWith("/chat/completions")) {
      const reply = await this.#forward(request, path, body);
      return send(response, { status: reply.status, body: JSON.parse(await reply.text()) });
    }
    if (this.#cut.has(`${name} ${apiKey}`))
      return send(response, { status: 503, body: { error: { code: "service_unavailable" } } });
    const asked = {
      wallet: this.wallets.get(apiKey) as Address,
      body,
      headers: request.headers,
      json: JSON.parse(body),
    };
    if (lie.forgets) delete request.headers["idempotency-key"];
    const draft = lie.play
      ? await lie.play(this, asked)
      : await this.#draftOf(await this.#forward(request, path, body), lie, asked);
    if (draft.cut) this.#cut.add(`${name} ${apiKey}`);
    response.writeHead(draft.status, draft.headers);
    const isStream = (draft.headers["content-type"] ?? "").startsWith("text/event-stream");
    const lines = draft.data.map((data) => `data: ${JSON.stringify(data)}\n\n`).join("");
    response.write(draft.raw ?? (isStream ? lines : JSON.stringify(draft.data[0])));
    if (draft.broken) setTimeout(() => response.destroy(), 100);
    else if (draft.held) {
      const comments = setInterval(() => void (isStream && response.write(": wait\n\n")), 500);
      response.once("close", () => clearInterval(comments));
      setTimeout(() => response.end(), draft.held);
    } else if (draft.cut) response.end();
    else response.end(isStream ? "data: [DONE]\n\n" : "");
  }

  async #draftOf(reply: Response, lie: Lie, asked: RecordedRequest): Promise<Draft> {
    const text = await reply.text();
    const headers = Object.fromEntries([...reply.headers].filter(([header]) => !NOT_PASSED.includes(header)));
    const events = text
      .split("\n\n")
      .filter((event) => event.startsWith("data: {"))
      .map((event) => event.slice(6));
    const data = (text.startsWith("{") ? [text] : events).map((json) => JSON.parse(json));
    const draft: Draft = { status: reply.status, headers, data, raw: null, cut: false };
    await lie.alter?.(draft, this, asked);
    return draft;
  }

  #forward(request: IncomingMessage, path: string, body: string): Promise<Response> {
    const { host: _, connection: _c, "content-length": _l, "transfer-encoding": _t, ...headers } = request.headers;
    const init = { method: request.method ?? "GET", headers: headers as Record<string, string>, ...(body && { body }) };
    return fetch(`${this.stack.info.base_url}${path}`, init);
  }
}

function send(response: ServerResponse, { status, body }: { status: number; body: unknown }): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
