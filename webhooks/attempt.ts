/**
 * One attempt of a delivery: the signed request, and what came of it in words for the endpoint's owner. And the thread that makes attempts for a
 * gateway (attempt-thread.ts).
 */
import { createHmac } from "node:crypto";
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { parseNetworks } from "../api/outbound/address.ts";
import { EndpointRefused, type GuardedClient, guardedClient } from "../api/outbound/endpoint.ts";
import { readStart } from "../shared/bounded-body.ts";
import { Turns } from "../shared/turns.ts";

/** Value of `Service-Signature` (specification, "Signature"). `timestamp` in Unix seconds. */
export function signatureHeader(secret: string, timestamp: number, body: string): string {
  const mac = createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex");
  return `t=${timestamp},v1=${mac}`;
}

/**
 * The result of an attempt: `delivered` for an answer of 2xx within the limit, and for nothing else; `delayed` if it was given up while it waited for
 * its turn, which says nothing of the endpoint.
 */
export type Outcome = {
  result: "delivered" | "status" | "timeout" | "connection" | "refused" | "delayed";
  startedAt: Date;
  /** To the answer's status, without the time that the attempt waited for turns. */
  durationMs: number;
  /** To the end of what was read of the answer, likewise. */
  heldMs: number;
  status: number | null;
  /** Value of `Service-Signature` that was sent; null if the attempt's thread did not say. */
  signature: string | null;
  /** The beginnings of the answer's headers, a line each, and of its body, as `textOf` makes them. */
  responseHeaders: string | null;
  response: string | null;
  error: string | null;
};

/** Kept of an answer's headers and of its body. */
const KEPT_BYTES = 1_024;
/** An answer is its status; its body gets this long to come. */
const BODY_MS = 2_000;

/** `owner`: the wallet whose webhook it is. */
export type Message = { url: string; secret: string; body: string; timeoutMs: number; owner: string };

/** The limit of an attempt. While the attempt waits for a turn, the time of its endpoint stands still. It may wait for as long in all. */
class Limit {
  readonly #abort = new AbortController();
  readonly #ms: number;
  /** Used until `#since`, when the attempt began or ended to wait. */
  readonly #usedMs = { endpoint: 0, turns: 0 };
  #user: "endpoint" | "turns" = "endpoint";
  #since = performance.now();
  #timer: NodeJS.Timeout;

  constructor(ms: number) {
    this.#ms = ms;
    this.#timer = setTimeout(() => this.#abort.abort(), ms);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether the endpoint's time is over, or that of waiting for turns. */
  get user(): "endpoint" | "turns" {
    return this.#user;
  }

  /** The attempt begins to wait for a turn, or its turn has come. */
  readonly wait = (waits: boolean): void => {
    if (this.signal.aborted) return;
    this.#usedMs[this.#user] += performance.now() - this.#since;
    [this.#user, this.#since] = [waits ? "turns" : "endpoint", performance.now()];
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#abort.abort(), this.#ms - this.#usedMs[this.#user]);
  };

  /** Time that the endpoint has used. */
  get passedMs(): number {
    const running = this.#user === "endpoint" ? performance.now() - this.#since : 0;
    return Math.round(this.#usedMs.endpoint + running);
  }

  /** Time for which the attempt has waited for turns. */
  get waitedMs(): number {
    const running = this.#user === "turns" ? performance.now() - this.#since : 0;
    return Math.round(this.#usedMs.turns + running);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/** An answer is late if it held a place for more than this part of the limit. */
const SLOW_PART = 1 / 5;

/** Whether an attempt took so long that its webhook is none of the prompt ones. */
export const isLate = (tookMs: number, timeoutMs: number): boolean => tookMs > SLOW_PART * timeoutMs;

/** Receivers close connections whose handshakes rest for some seconds. After such a wait, a closed connection says nothing of its receiver. */
const RESTED_MS = 1_000;

/** Posts a signed event once. Never rejects for what the endpoint does. */
export async function attempt(message: Message, http: GuardedClient): Promise<Outcome> {
  const { url, secret, body, timeoutMs, owner } = message;
  const startedAt = new Date();
  const limit = new Limit(timeoutMs);
  const signature = signatureHeader(secret, Math.floor(startedAt.getTime() / 1000), body);
  try {
    const headers = {
      "content-type": "application/json",
      "user-agent": "inference-webhooks/1",
      "service-signature": signature,
    };
    const answer = await http.post(url, { headers, body, signal: limit.signal, owner, onWait: limit.wait });
    // Before the body: an answer's time is that of its status.
    const durationMs = limit.passedMs;
    const status = answer.statusCode ?? 0;
    const isDelivered = status >= 200 && status < 300;
    const redirected = status >= 300 && status < 400 ? ": redirects are not followed" : "";
    // Answers that come late would let a wallet with one slow webhook pay for the costly handshakes of another.
    if (isDelivered && !isLate(durationMs, timeoutMs)) http.earned(owner);
    const response = await firstBytes(answer);
    return {
      startedAt,
      durationMs,
      heldMs: limit.passedMs,
      result: isDelivered ? "delivered" : "status",
      status,
      signature,
      responseHeaders: headerLines(answer.rawHeaders),
      response,
      error: isDelivered ? null : `answered ${status}${redirected}`,
    };
  } catch (error) {
    const ended = { startedAt, durationMs: limit.passedMs, heldMs: limit.passedMs };
    const own = limit.signal.aborted ? timedOut(timeoutMs) : failure(error);
    const isDelayed = limit.signal.aborted
      ? limit.user === "turns"
      : own.result === "connection" && limit.waitedMs > RESTED_MS;
    const why = isDelayed ? delayed : own;
    return { ...ended, ...why, status: null, signature, responseHeaders: null, response: null };
  } finally {
    limit.end();
  }
}

/** Names and values in turn, as Node has them. */
function headerLines(raw: readonly string[]): string {
  const lines = raw.flatMap((name, nth) => (nth % 2 === 0 ? `${name}: ${raw[nth + 1]}` : []));
  return textOf(Buffer.from(lines.join("\n")));
}

/** The beginning of a body. A short one is read to its end, so that its connection can be used again. */
async function firstBytes(body: AsyncIterable<Buffer> & { destroy(): unknown }): Promise<string> {
  // The status has decided already: of a body that we cut, what came is shown.
  const timer = setTimeout(() => body.destroy(), BODY_MS);
  const bytes = await readStart(body, KEPT_BYTES);
  clearTimeout(timer);
  return textOf(bytes);
}

/** The first bytes as text that PostgreSQL can hold. What is no text becomes three bytes each, which count. */
function textOf(bytes: Buffer): string {
  const text = bytes.subarray(0, KEPT_BYTES).toString("utf8").replaceAll("\0", "\ufffd");
  return Buffer.from(text).subarray(0, KEPT_BYTES).toString("utf8");
}

const CLOSED = new Set(["ECONNRESET", "EPIPE"]);

export const timedOut = (timeoutMs: number): Pick<Outcome, "result" | "error"> => ({
  result: "timeout",
  error: `no answer within ${timeoutMs / 1000} seconds`,
});

const delayed: Pick<Outcome, "result" | "error"> = {
  result: "delayed",
  error: "the attempt's turn did not come in time",
};

/** Why there was no answer, in words for the endpoint's owner. */
function failure(error: unknown): Pick<Outcome, "result" | "error"> {
  if (error instanceof EndpointRefused) return { result: "refused", error: `not called: ${error.message}` };
  const { code = "", syscall = "", message = String(error) } = error as NodeJS.ErrnoException;
  if (code === "ETIMEDOUT") return { result: "timeout", error: "the endpoint could not be connected to in time" };
  const words = () => {
    // The resolver's own errors: their codes can be those of sockets, of the connection to the name server.
    if (syscall.startsWith("query")) return `the host name could not be resolved (${code})`;
    if (code === "ECONNREFUSED") return "the connection was refused";
    if (CLOSED.has(code)) return "the connection was closed before an answer";
    return `${message.slice(0, 200)}${code === "" ? "" : ` (${code})`}`;
  };
  return { result: "connection", error: words() };
}

/**
 * A thread that is started with this data says `LOADED`, then answers each `Task` with a `Done`. After TLS has read a piece that waited for its turn,
 * the thread hands it no other such piece for `rest` times as long.
 */
export type ThreadData = { thread: typeof ATTEMPT_THREAD; allowLocal: boolean; allowNetworks: string; rest: number };
export const ATTEMPT_THREAD = "webhook attempts";
export const LOADED = "loaded";
export type Task = { id: number; message: Message };
export type Done = { id: number; outcome: Outcome };

/** Honest handshakes take 3 ms. After a costly one of 0.2 s, a wallet has no time left that it earned. */
const EARNED = { ms: 10, most: 100 };

if (!isMainThread && workerData?.thread === ATTEMPT_THREAD) {
  const { allowLocal, allowNetworks: text, rest }: ThreadData = workerData;
  const allowNetworks = text === "" ? [] : parseNetworks(text);
  const http = guardedClient({ allowLocal, allowNetworks, turns: new Turns(rest, EARNED) });
  parentPort?.on("message", async ({ id, message }: Task) => {
    parentPort?.postMessage({ id, outcome: await attempt(message, http) } satisfies Done);
  });
  parentPort?.postMessage(LOADED);
}
