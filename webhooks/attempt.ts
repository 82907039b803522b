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

/** The result of an attempt: `delivered` for an answer of 2xx within the limit, and for nothing else. */
export type Outcome = {
  result: "delivered" | "status" | "timeout" | "connection" | "refused";
  startedAt: Date;
  /** To the answer's status. */
  durationMs: number;
  /** To the end of what was read of the answer. */
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

/** Posts a signed event once. Never rejects for what the endpoint does. */
export async function attempt(message: Message, http: GuardedClient): Promise<Outcome> {
  const { url, secret, body, timeoutMs, owner } = message;
  const startedAt = new Date();
  const begin = performance.now();
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), timeoutMs);
  const signature = signatureHeader(secret, Math.floor(startedAt.getTime() / 1000), body);
  const passedMs = () => Math.round(performance.now() - begin);
  try {
    const headers = {
      "content-type": "application/json",
      "user-agent": "inference-webhooks/1",
      "service-signature": signature,
    };
    const answer = await http.post(url, { headers, body, signal: limit.signal, owner });
    // Before the body: an answer's time is that of its status.
    const durationMs = passedMs();
    const status = answer.statusCode ?? 0;
    const isDelivered = status >= 200 && status < 300;
    const redirected = status >= 300 && status < 400 ? ": redirects are not followed" : "";
    const response = await firstBytes(answer);
    return {
      startedAt,
      durationMs,
      heldMs: passedMs(),
      result: isDelivered ? "delivered" : "status",
      status,
      signature,
      responseHeaders: headerLines(answer.rawHeaders),
      response,
      error: isDelivered ? null : `answered ${status}${redirected}`,
    };
  } catch (error) {
    const why = limit.signal.aborted ? timedOut(timeoutMs) : failure(error);
    const ended = { startedAt, durationMs: passedMs(), heldMs: passedMs() };
    return { ...ended, ...why, status: null, signature, responseHeaders: null, response: null };
  } finally {
    clearTimeout(timer);
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
 * A thread that is started with this data says `LOADED`, then answers each `Task` with a `Done`. After TLS has read a piece of what a receiver sent,
 * the thread hands it no other piece for `rest` times as long.
 */
export type ThreadData = { thread: typeof ATTEMPT_THREAD; allowLocal: boolean; allowNetworks: string; rest: number };
export const ATTEMPT_THREAD = "webhook attempts";
export const LOADED = "loaded";
export type Task = { id: number; message: Message };
export type Done = { id: number; outcome: Outcome };

if (!isMainThread && workerData?.thread === ATTEMPT_THREAD) {
  const { allowLocal, allowNetworks: text, rest }: ThreadData = workerData;
  const allowNetworks = text === "" ? [] : parseNetworks(text);
  const http = guardedClient({ allowLocal, allowNetworks, turns: new Turns(rest) });
  parentPort?.on("message", async ({ id, message }: Task) => {
    parentPort?.postMessage({ id, outcome: await attempt(message, http) } satisfies Done);
  });
  parentPort?.postMessage(LOADED);
}
