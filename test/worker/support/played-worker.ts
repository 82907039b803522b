import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { createPublicClient, createWalletClient, type Hex, http } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import type { CompletedEvent } from "../../../api/workers/worker-client.ts";
import { answerHash } from "../../../protocol/answer-hash.ts";
import type { Dispatch } from "../../../protocol/dispatch.ts";
import { inferenceEscrowAbi } from "../../../protocol/generated/abi.ts";
import { type Completion, compactSignature, escrowDomain, jobMessageTypes } from "../../../protocol/messages.ts";
import { eventually } from "../../support/api-client.ts";
import { mined } from "../../support/mined.ts";
import type { TestStack } from "../../support/stack.ts";

/** What a played worker needs of its stack. */
type PlayedStack = Pick<TestStack, "info" | "workers">;

/** What a played worker does with one offer. Its answer has begun as an event stream, unless the script is `raw`. */
export type Script = (offer: Dispatch, response: ServerResponse) => void | Promise<void>;

/** One server-sent event. */
export const event = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

const isSame = ({ assignment, request }: Dispatch, other: Dispatch): boolean =>
  request !== undefined && isDeepStrictEqual(assignment, other.assignment);

/** A worker that is registered on chain and answers probes, and does with jobs what the test says. */
export class PlayedWorker {
  readonly account: PrivateKeyAccount;
  readonly offers: Dispatch[] = [];
  /** How often it was asked the gateway's own question. */
  trials = 0;
  readonly #stack: PlayedStack;
  readonly #server = createServer((request, response) => {
    if (request.url === "/healthz") {
      // It plays beside generators: as a model it would end their work.
      const jobs = { capacity: this.#capacity, queue_capacity: 0, in_flight: 0, queued: 0 };
      response.end(JSON.stringify({ status: "ok", worker: this.account.address, demo: true, ...jobs }));
      return;
    }
    if (request.url === "/jobs/end") {
      // It plays each answer to its end.
      response.writeHead(409).end(JSON.stringify({ error: { code: "not_running", message: "played to its end" } }));
      return;
    }
    if (request.url === "/trial") {
      this.trials += 1;
      response.end(JSON.stringify({ text: "One, two, three, four, five." }));
      return;
    }
    let body = "";
    request.on("data", (data) => {
      body += data;
    });
    request.on("end", () => {
      const offer = JSON.parse(body) as Dispatch;
      // A gateway whose connection dropped sends an offer once more.
      const isTaken = this.#once && this.offers.some((one) => isSame(one, offer));
      this.offers.push(offer);
      if (isTaken) {
        const error = { code: "already_taken", message: "this worker has the job already" };
        return void response.writeHead(409, { "content-type": "application/json" }).end(JSON.stringify({ error }));
      }
      if (!this.#raw) response.writeHead(200, { "content-type": "text/event-stream" });
      void this.#script(offer, response);
    });
  });
  #script: Script = (_offer, response) => void response.destroy();
  #raw = false;
  #once = false;
  readonly #capacity: number;

  private constructor(stack: PlayedStack, privateKey: Hex, capacity: number) {
    this.#stack = stack;
    this.#capacity = capacity;
    this.account = privateKeyToAccount(privateKey);
  }

  /** Plays worker `number` (from 1) of a stack that registered it and did not start it. It announces places for `capacity` jobs. */
  static async start(stack: PlayedStack, number: number, capacity = 96): Promise<PlayedWorker> {
    const entry = stack.workers[number - 1];
    if (entry === undefined) throw new Error(`the stack has no worker ${number}`);
    const worker = new PlayedWorker(stack, entry.privateKey, capacity);
    worker.#server.listen(entry.port, "127.0.0.1");
    await once(worker.#server, "listening");
    return worker;
  }

  get address(): Hex {
    return this.account.address;
  }

  /** Answers offers by this script from now on. `raw`: the script writes status and headers too. `once`: it takes a job once, as workers do. */
  play(script: Script, { raw = false, once = false } = {}): void {
    this.#script = script;
    this.#raw = raw;
    this.#once = once;
    this.offers.length = 0;
  }

  /** Waits until the gateway offers this worker jobs of the model, which then has so many hosts. */
  async isOffered(model: string, allHosts = 1): Promise<void> {
    const url = `${this.#stack.info.base_url}/v1/models/${model}`;
    const headers = { authorization: `Bearer ${this.#stack.info.demo?.api_key}` };
    const hosts = async () => {
      const body = (await (await fetch(url, { headers })).json()) as { service?: { active_workers: number } };
      return body.service?.active_workers ?? 0;
    };
    await eventually(hosts, (count) => count === allHosts, 90_000);
  }

  async acknowledgement({ assignment }: Dispatch): Promise<string> {
    const message = { jobId: assignment.jobId, attempt: assignment.attempt };
    return event("acknowledged", { signature: await this.#sign("Acknowledgement", message) });
  }

  /** A signed Completion of an offer; `more` overrides fields before signing. */
  async completion(offer: Dispatch, text: string, more: Partial<Completion> = {}): Promise<CompletedEvent> {
    const completion = {
      jobId: offer.assignment.jobId,
      proofHash: answerHash(text),
      promptTokens: 1,
      completionTokens: 1,
      reasoningTokens: 0,
      textBytes: Buffer.byteLength(text),
      // As the real worker does: blocks that follow each other at once put the chain's time before the clock.
      completedAt: Number((await this.#reader().getBlock()).timestamp),
      ...more,
    };
    return { completion, signature: await this.#sign("Completion", completion), finish_reason: "stop" };
  }

  /** Acknowledges the offer and proves the text on chain, as the worker can without its gateway. Returns what it signed. */
  async prove(offer: Dispatch, text: string) {
    const transport = http(this.#stack.info.rpc_url);
    const wallet = createWalletClient({ account: this.account, transport });
    const reader = this.#reader();
    const address = this.#stack.info.contracts["InferenceEscrow"] as Hex;
    const escrow = { address, abi: inferenceEscrowAbi, chain: null };
    const byWorker = JSON.parse((await this.acknowledgement(offer)).split("data: ")[1] as string).signature as Hex;
    const completed = await this.completion(offer, text);
    const taken = [offer.assignment, compactSignature(offer.signature), compactSignature(byWorker)] as const;
    await mined(reader, await wallet.writeContract({ ...escrow, functionName: "acknowledge", args: taken }));
    const proof = [completed.completion, compactSignature(completed.signature)] as const;
    await mined(reader, await wallet.writeContract({ ...escrow, functionName: "submitProof", args: proof }));
    return { ...completed, acknowledgement: { attempt: offer.assignment.attempt, signature: byWorker } };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  #reader() {
    return createPublicClient({ transport: http(this.#stack.info.rpc_url) });
  }

  #sign(primaryType: "Acknowledgement" | "Completion", message: Record<string, unknown>): Promise<Hex> {
    const { InferenceEscrow } = this.#stack.info.contracts as Record<string, Hex>;
    const domain = escrowDomain(this.#stack.info.chain_id, InferenceEscrow as Hex);
    return this.account.signTypedData({ domain, types: jobMessageTypes, primaryType, message } as never);
  }
}
