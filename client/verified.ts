/** A `fetch` that checks what the service answers, and what it charges, while the program reads the answer. */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Address, getAddress, type Hex, isAddress, type LocalAccount } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { toApiJobId } from "../protocol/job-id.ts";
import { oneLine } from "../shared/one-line.ts";
import { signingAccount } from "../shared/secp256k1.ts";
import { ChainView, type Deployment } from "./chain.ts";
import { jobOf, type Received } from "./check.ts";
import { type Ask, LATE } from "./dispute.ts";
import { type Finding, findingLine, type JobReport } from "./findings.ts";
import { isOver, JobCheck, type JobContext } from "./job.ts";
import { EventStream, Reply, ReplyFormError, textOf } from "./reply.ts";
import { type ClientRequest, jobNames, nameJob, readBody, type Signing } from "./request.ts";

export type VerifiedOptions = {
  /** A node of the settlement chain that you trust, not the service's. */
  rpcUrl: string;
  /** Address of the escrow that holds your credits. */
  escrow: Address;
  /** The wallet whose credits are spent: its address, or a local account of viem's, which then can dispute by itself. */
  wallet?: Address | LocalAccount;
  /** Private key of the wallet's authorization key: each request's maximum is signed with it. Needs `wallet`. */
  authorizationKey?: Hex;
  /** Private key of the wallet's dispute key: it disputes in the wallet's name, and pays the gas. Needs `wallet`. */
  disputeKey?: Hex;
  /** Most credits that one request may cost, if each is signed. No limit without it. */
  maxCredits?: number;
  /** Takes each finding as it comes. Default: a line on standard error. */
  onFinding?: (finding: Finding) => void;
  /** Takes the report of each job, when nothing more is expected of it. */
  onJob?: (report: JobReport) => void;
  /** The function that sends the requests. Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch;
};

export type VerifiedFetch = typeof globalThis.fetch & {
  /** Resolves when all jobs whose replies have ended are checked. */
  checked: () => Promise<void>;
};

/** Paths of chat requests, as the service knows them. */
const CHAT = /\/chat\/completions\/?$/i;
/** How often a request is sent again when its connection breaks, and the first pause, milliseconds. */
const REPEATS = 3;
const PAUSE = 250;
/** How long a request that got no answer is remembered, to be sent again under the same name, milliseconds; and how many are. */
const REMEMBERED = 120_000;
const MOST_REMEMBERED = 1_000;
/** How long a reply waits to be checked, milliseconds: many checks in a row cost half of what each costs between two requests. */
const ROUND = 250;
/** How long a connection may stay open after the last event of its reply, milliseconds. */
const MOST_REST = 5_000;
/** Longest text of a finding, characters. */
const MOST_SAID = 1_000;
/** The part of a dispute's window after which the chain is asked whether the answer is paid for: a quarter, in milliseconds a second. */
const LOOK = 250;
/** How often, in that time, the client looks whether the program waits for a paid answer; and how often it may wait. */
const TICKS = 8;
const MOST_WAITED = 3;

/**
 * A `fetch` for the OpenAI SDK and its like. Chat requests are checked, all others are passed on as they are.
 *
 * @example
 * const openai = new OpenAI({ baseURL, apiKey, fetch: verified({ rpcUrl, escrow }) });
 */
export function verified(options: VerifiedOptions): VerifiedFetch {
  const client = new VerifiedClient(options);
  return Object.assign(client.fetch, { checked: () => client.checked() });
}

/** A chat request on its way: what is sent, however often. `heard`: replies of which at least the headers came, by the jobs that they name. */
type Sending = {
  url: string;
  init: RequestInit & { headers: Headers; body: string };
  asked: ClientRequest;
  patience: Patience;
  heard: Map<Hex, Response>;
};

/** A request that got no answer: what it asked for, of whom, and the headers that name its job. */
type Unanswered = { key: string; names: [string, string][]; asked: ClientRequest };

class VerifiedClient {
  readonly #context: JobContext;
  readonly #send: typeof globalThis.fetch;
  readonly #signing: Signing | null;
  readonly #wallet: Address | null;
  readonly #running = new Set<Promise<void>>();
  /** A repetition of one of these gets its job's answer, and is paid once. Oldest first. */
  readonly #unanswered = new Set<Unanswered>();
  /** Jobs of requests of which a broken reply without text is checked already: another one says no more. */
  readonly #empty = new WeakMap<ClientRequest, Hex>();
  /** Jobs whose answers the program has. */
  readonly #answered = new Set<Hex>();
  /** When the replies that have ended since the last round are checked. */
  #round: Promise<void> | undefined;

  constructor(all: VerifiedOptions) {
    const { rpcUrl, escrow, wallet, authorizationKey, disputeKey, maxCredits = Infinity, ...options } = all;
    if (!isAddress(escrow)) throw new TypeError(`escrow: ${escrow} is not an address`);
    this.#wallet = wallet === undefined ? null : getAddress(typeof wallet === "object" ? wallet.address : wallet);
    if (authorizationKey !== undefined && this.#wallet === null) {
      throw new TypeError("wallet: an authorization key signs for a wallet, so its address is needed");
    }
    if (disputeKey !== undefined && this.#wallet === null) {
      throw new TypeError("wallet: a dispute key signs for a wallet, so its address is needed");
    }
    const byKey = disputeKey === undefined ? null : privateKeyToAccount(disputeKey);
    const signer = byKey ?? (typeof wallet === "object" ? wallet : null);
    const keyOf = byKey === null ? null : this.#wallet;
    this.#signing =
      authorizationKey === undefined
        ? null
        : { account: signingAccount(authorizationKey), wallet: this.#wallet as Address, maxCredits };
    this.#send = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    const tell = options.onFinding ?? ((finding: Finding) => console.error(findingLine(finding)));
    // Findings quote what the service sent.
    const onFinding = (finding: Finding) => tell({ ...finding, says: oneLine(finding.says, MOST_SAID) });
    const onJob = options.onJob ?? (() => {});
    this.#context = { chain: new ChainView(rpcUrl, escrow), signer, keyOf, onFinding, onJob };
  }

  async checked(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  fetch: typeof globalThis.fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const method = init?.method ?? (input instanceof Request ? input.method : "GET");
    if (method.toUpperCase() !== "POST" || !CHAT.test(new URL(url).pathname)) return this.#send(input, init);
    const given = typeof init?.body === "string" ? null : new Request(input, init);
    const body = given === null ? String(init?.body) : await given.text();
    const read = readBody(body);
    if (read === null) return this.#send(input, { ...init, method, body });
    const headers = new Headers(given?.headers ?? init?.headers);
    const signal = given?.signal ?? init?.signal ?? null;
    const again = headers.has("idempotency-key") || headers.has("x-service-authorization");
    const from = this.#context.chain.startBlock();
    // The check of the job waits for it; until then nothing does.
    from.catch(() => {});
    const now = { askedAt: Date.now(), named: new Set<Hex>(), from };
    let asked: ClientRequest = { ...read, ...now, again, wallet: this.#wallet, authorization: null };
    const earlier =
      again || this.#unanswered.size === 0 ? undefined : this.#takeUnanswered(keyOf({ url, headers, body }));
    if (earlier !== undefined) {
      for (const [name, value] of earlier.names) headers.set(name, value);
      asked = earlier.asked;
    } else if (!headers.has("x-service-authorization")) {
      const signed = await nameJob(this.#context.chain, headers, { ...read, body }, this.#signing);
      if (signed instanceof Response) return signed;
      asked.authorization = signed;
    }
    const patience = new Patience(this.#context.chain, from, asked.authorization?.jobId ?? null);
    const sending: Sending = {
      url,
      init: { ...init, method, headers, body, signal },
      asked,
      patience,
      heard: new Map(),
    };
    return asked.stream ? await this.#stream(sending) : await this.#plain(sending);
  };

  async #sendOnce({ url, init, asked, patience, heard }: Sending): Promise<Response> {
    const response = await this.#send(url, { ...init, signal: patience.connect(init.signal) });
    const jobId = jobOf(response.headers);
    if (jobId === null) return response;
    heard.set(jobId, response);
    patience.jobId ??= jobId;
    if (asked.named.size > 0 && !asked.named.has(jobId)) {
      const says = `the request was sent again, and the service made another job of it than ${[...asked.named].map(toApiJobId)}`;
      this.#context.onFinding({ kind: "wrong", id: "reply.job", jobId: toApiJobId(jobId), says });
    }
    asked.named.add(jobId);
    return response;
  }

  async #plain(sending: Sending): Promise<Response> {
    const { response, text } = await this.#sendOften(sending, async () => {
      const response = await this.#sendOnce(sending);
      return { response, text: await textOf(response) };
    });
    const reply = new Reply();
    let shown = text ?? "";
    try {
      if (text === null) throw new ReplyFormError("it is longer than any answer");
      if (response.ok) shown = reply.readPlain(text);
    } catch (error) {
      this.#refused(response, error);
      // SDKs take it for a broken connection, and ask again: it stays one job.
      this.#remember(sending);
      throw error;
    } finally {
      this.#ended(sending, response, reply);
    }
    return answerOf(response, shown);
  }

  async #stream(sending: Sending): Promise<Response> {
    const { patience } = sending;
    const first = await this.#sendOften(sending, () => this.#sendOnce(sending));
    if (!first.ok || first.body === null || !isEventStream(first)) {
      const text = (await textOf(first)) ?? "";
      this.#ended(sending, first, new Reply());
      if (!first.ok) return answerOf(first, text);
      const error = new ReplyFormError("a stream was asked for, and it is none");
      this.#refused(first, error);
      this.#remember(sending);
      throw error;
    }
    patience.isWaiting = false;
    let source = first.body.getReader();
    const reply = new Reply();
    let events = new EventStream(reply);
    let over = false;
    const end = (left: boolean): void => {
      if (over) return;
      over = true;
      this.#ended(sending, first, reply, left);
    };
    /** The next bytes to pass on; null at the end. A broken connection is made again, and goes on where the last one ended. */
    const next = async (): Promise<Uint8Array | null> => {
      for (let repeats = 0; ; ) {
        try {
          const { done, value } = await source.read();
          if (!done) {
            const passed = events.take(value);
            if (passed !== null) return passed;
          } else if (reply.complete || reply.failed) return null;
          else throw new TypeError("the stream ended before the answer did");
        } catch (error) {
          if (error instanceof ReplyFormError) throw error;
          if (reply.complete || reply.failed) return null;
          if (sending.init.signal?.aborted || repeats === REPEATS || patience.isOver) throw error;
          await sleep(PAUSE << repeats);
          repeats += 1;
          const again = await this.#sendOnce(sending).catch(() => null);
          if (again === null) continue;
          if (!again.ok || again.body === null || jobOf(again.headers) !== jobOf(first.headers)) throw error;
          source = again.body.getReader();
          events = new EventStream(reply);
        }
      }
    };
    const stream = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          try {
            patience.isWaiting = true;
            const bytes = await next();
            patience.isWaiting = false;
            if (bytes !== null) controller.enqueue(bytes);
            if (bytes === null || reply.complete || reply.failed) {
              end(false);
              controller.close();
              // SDKs stop reading at the last event, which costs the connection.
              await drain(source);
            }
          } catch (error) {
            void source.cancel().catch(() => {});
            this.#refused(first, error);
            const aborted = sending.init.signal?.aborted === true;
            // A program that stops an answer and asks again wants a new one.
            const stopped = aborted && reply.text + reply.reasoning !== "";
            if (!(error instanceof ReplyFormError) && !stopped) this.#remember(sending);
            end(aborted);
            controller.error(error);
          }
        },
        cancel: async (reason) => {
          end(true);
          await source.cancel(reason);
        },
      },
      { highWaterMark: 0 },
    );
    return answerOf(first, stream);
  }

  /** Sends until there is an answer: each time under the same name, so that the job is paid for once. */
  async #sendOften<T>(sending: Sending, send: () => Promise<T>): Promise<T> {
    const { init, patience } = sending;
    for (let repeats = 0; ; repeats += 1) {
      try {
        return await send();
      } catch (error) {
        if (init.signal?.aborted || repeats === REPEATS || patience.isOver) {
          this.#remember(sending);
          // A signed job can be charged although nobody has heard of it.
          this.#ended(sending, new Response(null, { status: 503 }), new Reply());
          throw error;
        }
        await sleep(PAUSE << repeats);
      }
    }
  }

  /** A repetition of the same request gets the answer of this job, and is paid once. */
  #remember({ url, init, asked }: Sending): void {
    const { headers, body } = init;
    const request = { key: keyOf({ url, headers, body }), names: jobNames(headers), asked };
    this.#unanswered.add(request);
    const [oldest] = this.#unanswered;
    if (this.#unanswered.size > MOST_REMEMBERED && oldest !== undefined) this.#unanswered.delete(oldest);
    setTimeout(() => this.#unanswered.delete(request), REMEMBERED).unref();
  }

  /** The oldest request of this key that got no answer. Of two equal ones, each is asked again under its own name. */
  #takeUnanswered(key: string): Unanswered | undefined {
    const request = [...this.#unanswered].find((one) => one.key === key);
    if (request !== undefined) this.#unanswered.delete(request);
    return request;
  }

  #refused({ headers }: Response, error: unknown): void {
    const jobId = headers.get("x-service-job-id");
    if (error instanceof ReplyFormError)
      this.#context.onFinding({ kind: "wrong", id: "reply.form", jobId, says: error.message });
  }

  /** The program has what it gets of a reply: now it is checked. */
  #ended(sending: Sending, response: Response, reply: Reply, left = false): void {
    sending.patience.end();
    const jobId = this.#checkReply(sending, response, reply, left);
    // A job that was not signed for is another request's, also if the reply names it: a wrong dispute would cost the wallet its bond.
    if (sending.asked.authorization !== null) return;
    // Jobs that were named on connections which broke before the answer: they can be charged all the same.
    const unwanted = left || sending.init.signal?.aborted === true;
    for (const [other, heard] of sending.heard) {
      if (other !== jobId && !this.#answered.has(other)) this.#checkJob(sending, other, heard, new Reply(), unwanted);
    }
  }

  /** Checks the reply, and the job that it is for; returns that job. */
  #checkReply(sending: Sending, response: Response, reply: Reply, left: boolean): Hex | null {
    const { asked } = sending;
    const { headers, ok } = response;
    const named = jobOf(headers, reply);
    const signed = asked.authorization?.jobId ?? null;
    const wrong = (says: string) => {
      const jobId = named === null ? null : toApiJobId(named);
      this.#context.onFinding({ kind: "wrong", id: "reply.job", jobId, says });
    };
    if (named !== null && signed !== null && named !== signed)
      wrong(`the reply names another job than the one that was signed, ${toApiJobId(signed)}`);
    else if (ok && jobOf(headers) === null) wrong("the reply's headers name no job");
    else if (signed === null && named !== null && this.#answered.has(named) && !asked.again) {
      // Nothing to dispute: that job's own answer was checked, and a wrong dispute would cost the wallet its bond.
      wrong("the job is another request's, whose answer the program has");
      return named;
    }
    // The job that was signed for can be charged, whatever job the reply names.
    const jobId = signed ?? named;
    if (jobId !== null) this.#checkJob(sending, jobId, response, reply, left);
    return jobId;
  }

  #checkJob({ url, init, asked }: Sending, jobId: Hex, { headers, ok }: Response, reply: Reply, left: boolean): void {
    if (reply.complete) this.#note(jobId);
    else if (ok && reply.text === "") {
      if (this.#empty.get(asked) === jobId) return;
      this.#empty.set(asked, jobId);
    }
    const ask = this.#asker(baseOf(url), init);
    const answered = () => this.#answered.has(jobId);
    this.#check(asked, { jobId, reply, headers, ok, left, answered }, ask);
  }

  #note(jobId: Hex): void {
    this.#answered.add(jobId);
    const [oldest] = this.#answered;
    if (this.#answered.size > 10_000 && oldest !== undefined) this.#answered.delete(oldest);
  }

  #check(asked: ClientRequest, received: Received, ask: Ask): void {
    this.#round ??= sleep(ROUND).then(() => {
      this.#round = undefined;
    });
    const run = this.#round.then(() => new JobCheck(this.#context, asked, received, ask).run());
    if (received.ok) this.#running.add(run);
    void run.finally(() => this.#running.delete(run));
  }

  /** Asks the service with the program's key. */
  #asker(base: string, { headers }: Sending["init"]): Ask {
    const authorization = headers.get("authorization") ?? "";
    return async (method, path, body) => {
      const sent = { "content-type": "application/json", authorization };
      const init = { method, headers: sent, ...(body !== undefined && { body: JSON.stringify(body) }) };
      const response = await this.#send(`${base}${path}`, init);
      return { status: response.status, body: await jsonOf(response).catch(() => null) };
    };
  }
}

const jsonOf = async (response: Response): Promise<unknown> => JSON.parse((await textOf(response)) ?? "");

/**
 * Gives a connection up when its answer is paid for and does not come: a charge can be disputed for a short time only. The request is sent once
 * more, and then no more.
 */
class Patience {
  /** The job, once it is known. */
  jobId: Hex | null;
  /** The program waits for more of the answer. */
  isWaiting = true;
  readonly #chain: ChainView;
  readonly #from: Promise<bigint>;
  #connection = new AbortController();
  #givenUp = 0;
  #waited = 0;
  /** Between two looks at the chain, milliseconds; and when the chain lets nobody be paid any more. */
  #pause = 0;
  #until = 0;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(chain: ChainView, from: Promise<bigint>, jobId: Hex | null) {
    this.#chain = chain;
    this.#from = from;
    this.jobId = jobId;
    const begin = ({ windows }: Deployment) => {
      this.#pause = windows.dispute * LOOK;
      this.#until = Date.now() + (windows.completion + windows.inclusion) * 1000 + LATE;
      this.#again();
    };
    // The check of the job reports that the chain cannot be read.
    chain.deployment().then(begin, () => {});
  }

  /** The signal of a new connection. */
  connect(signal: AbortSignal | null | undefined): AbortSignal {
    this.#connection = new AbortController();
    this.#waited = 0;
    const own = this.#connection.signal;
    return signal == null ? own : AbortSignal.any([signal, own]);
  }

  get isOver(): boolean {
    return this.#givenUp > 1;
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  #again(): void {
    if (this.#ended || Date.now() > this.#until) return;
    this.#timer = setTimeout(() => void this.#look(), this.#pause).unref();
  }

  async #look(): Promise<void> {
    const { jobId } = this;
    const once = { isOver: () => true, end: 0, background: true };
    const story =
      jobId === null
        ? null
        : await this.#from.then((from) => this.#chain.watch({ jobId, from, ...once })).catch(() => null);
    if (story === null || !isOver(story)) this.#again();
    else if (story.returned === null && !this.#ended)
      this.#timer = setInterval(() => this.#wait(), this.#pause / TICKS).unref();
  }

  #wait(): void {
    if (!this.isWaiting) return;
    this.#waited += 1;
    if (this.#waited < MOST_WAITED) return;
    this.#waited = 0;
    this.#givenUp += 1;
    this.#connection.abort(new TypeError("the answer is paid for, and it does not come"));
  }
}

/** The address of the service, from that of its chat requests. */
const baseOf = (url: string): string => {
  const { origin, pathname } = new URL(url);
  return origin + pathname.replace(CHAT, "");
};

/** The same for two requests with the same key, URL and body. */
const keyOf = ({ url, headers, body }: { url: string; headers: Headers; body: string }): string =>
  createHash("sha256")
    .update(JSON.stringify([headers.get("authorization"), url]))
    .update(body)
    .digest("hex");

const isEventStream = ({ headers }: Response): boolean =>
  (headers.get("content-type") ?? "").startsWith("text/event-stream");

/** Reads a reply whose last event the program has to its end, so that its connection is used again. Never rejects. */
async function drain(source: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const cancel = () => void source.cancel().catch(() => {});
  const timer = setTimeout(cancel, MOST_REST);
  try {
    while (!(await source.read()).done);
  } catch {
    // The answer is whole: a connection that breaks here takes nothing away.
  } finally {
    clearTimeout(timer);
  }
}

/** The response with a body that was read already. */
function answerOf(given: Response, body: string | ReadableStream<Uint8Array>): Response {
  const { status, statusText } = given;
  const empty = [101, 204, 205, 304].includes(status);
  const response = new Response(empty ? null : body, { status, statusText, headers: given.headers });
  const { headers } = response;
  headers.delete("content-encoding");
  headers.delete("content-length");
  // The text was decoded as UTF-8, so the program must do the same.
  const type = headers.get("content-type")?.split(";")[0];
  if (type !== undefined) headers.set("content-type", `${type}; charset=utf-8`);
  return response;
}
