import { type Dispatcher, request } from "undici";
import { EndpointRefused } from "../outbound/endpoint.ts";
import { signatureHeader } from "./envelope.ts";

/** Bytes of an answer that are kept for the log. */
const RESPONSE_BYTES = 1_024;
/** An answer is its status; its body gets this long to come. */
const BODY_MS = 2_000;

export type Message = { url: string; secret: string; body: string };

/** What an attempt came to. `delivered` is true for an answer of 2xx within the limit, and for nothing else. */
export type Outcome = {
  delivered: boolean;
  result: "delivered" | "status" | "timeout" | "connection" | "refused";
  startedAt: Date;
  durationMs: number;
  status: number | null;
  /** First bytes of the answer, as text that PostgreSQL can hold. */
  response: string | null;
  error: string | null;
};

/**
 * Posts a signed event once. Never rejects for what the endpoint does; rejects with the signal's reason if `stop` ends it.
 * `dispatcher` is the guarded agent: the endpoint's address is judged when it is connected to, redirects are not followed.
 */
export async function attempt(
  { url, secret, body }: Message,
  dispatcher: Dispatcher,
  timeoutMs: number,
  stop?: AbortSignal,
): Promise<Outcome> {
  const startedAt = new Date();
  const begin = performance.now();
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(TIMED_OUT), timeoutMs);
  const done = (more: Pick<Outcome, "result" | "status" | "response" | "error">): Outcome => ({
    delivered: more.result === "delivered",
    startedAt,
    durationMs: Math.round(performance.now() - begin),
    ...more,
  });
  try {
    const answer = await request(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "inference-webhooks/1",
        "service-signature": signatureHeader(secret, Math.floor(startedAt.getTime() / 1000), body),
      },
      body,
      dispatcher,
      signal: stop === undefined ? limit.signal : AbortSignal.any([limit.signal, stop]),
    });
    const status = answer.statusCode;
    const answered = {
      ...done({ result: status >= 200 && status < 300 ? "delivered" : "status", status, response: null, error: null }),
    };
    return {
      ...answered,
      response: await firstBytes(answer.body),
      error: answered.delivered ? null : describeStatus(status),
    };
  } catch (error) {
    stop?.throwIfAborted();
    return done({ ...failure(error, timeoutMs), status: null, response: null });
  } finally {
    clearTimeout(timer);
  }
}

const TIMED_OUT = new Error("the endpoint did not answer in time");

/** The beginning of a body, whatever becomes of its rest. Reading a short one to its end lets the connection be used again. */
async function firstBytes(body: AsyncIterable<Buffer> & { destroy(): unknown }): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  const timer = setTimeout(() => body.destroy(), BODY_MS);
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > RESPONSE_BYTES) break;
    }
  } catch {
    // Cut by the endpoint or by us: the status has decided already, and what came is shown.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks).subarray(0, RESPONSE_BYTES).toString("utf8").replaceAll("\0", "\ufffd");
}

function describeStatus(status: number): string {
  return `answered ${status}${status >= 300 && status < 400 ? ": redirects are not followed" : ""}`;
}

const CLOSED = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);
const SILENT = new Set(["UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT", "ETIMEDOUT"]);

/** Why there was no answer, in words for the endpoint's owner. */
function failure(error: unknown, timeoutMs: number): Pick<Outcome, "result" | "error"> {
  if (error === TIMED_OUT) return { result: "timeout", error: `no answer within ${timeoutMs / 1000} seconds` };
  if (error instanceof EndpointRefused) return { result: "refused", error: `not called: ${error.message}` };
  const { code = "", syscall = "", message = String(error) } = error as NodeJS.ErrnoException;
  if (SILENT.has(code)) return { result: "timeout", error: "the endpoint could not be connected to in time" };
  // The resolver's own errors: their codes can be those of sockets, of the connection to the name server.
  if (syscall.startsWith("query"))
    return { result: "connection", error: `the host name could not be resolved (${code})` };
  if (code === "ECONNREFUSED") return { result: "connection", error: "the connection was refused" };
  if (CLOSED.has(code)) return { result: "connection", error: "the connection was closed before an answer" };
  return { result: "connection", error: `${message.slice(0, 200)}${code === "" ? "" : ` (${code})`}` };
}
