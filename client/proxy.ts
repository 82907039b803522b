/** A local OpenAI endpoint that checks what it passes on, for programs in any language. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { BodyTooLarge, readBounded } from "../shared/bounded-body.ts";
import { type VerifiedFetch, type VerifiedOptions, verified } from "./verified.ts";

/**
 * `baseUrl`: the service with its `/v1`. `apiKey`: the service's key, used where a request brings `localKey`: every user of this machine can reach
 * the endpoint, and only who knows that key may spend. Without a `localKey` one is made. `port`: 0 for a free one.
 */
export type ProxyOptions = VerifiedOptions & { baseUrl: string; apiKey?: string; localKey?: string; port?: number };

/** As the service's own limit. */
const MOST_BODY = 4 * 1024 * 1024;
/** Hop by hop, or of a body that is decoded already. */
const NOT_PASSED = new Set([
  "host",
  "connection",
  "keep-alive",
  "transfer-encoding",
  "content-length",
  "content-encoding",
  "accept-encoding",
  "trailer",
  "upgrade",
  "expect",
]);

/**
 * Starts the endpoint on this machine only. `localKey`: what programs send as their API key; null where each brings one of the service. `close`
 * takes no more requests, and resolves when those that came have ended.
 *
 * @example
 * const proxy = await startProxy({ baseUrl, apiKey, rpcUrl, escrow });
 * const openai = new OpenAI({ baseURL: proxy.url, apiKey: proxy.localKey });
 */
export async function startProxy({ baseUrl, apiKey, localKey: chosen, port = 4141, ...options }: ProxyOptions) {
  const send = verified(options);
  const base = baseUrl.replace(/\/+$/, "");
  const localKey = apiKey === undefined ? null : (chosen ?? `local_${randomBytes(24).toString("base64url")}`);
  const keys = localKey === null || apiKey === undefined ? null : { localKey, apiKey };
  const server = createServer((request, response) => {
    if (!server.listening) {
      // A connection with a request on its way stays open; a program that goes on asking there would keep the process alive.
      response.shouldKeepAlive = false;
      return refuse(response, 503, "service_unavailable", "This endpoint is ending: start it again, then ask again.");
    }
    answer(request, response, { base, keys, send }).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else refuse(response, 502, "service_unavailable", failureOf(error, base));
    });
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return { url, localKey, fetch: send, close: () => new Promise<void>((resolve) => server.close(() => resolve())) };
}

/** Why there is no reply, for a person: fetch says no more than that it failed. */
function failureOf(error: unknown, base: string): string {
  const { message, cause } = error as Error & { cause?: { code?: string; message: string } };
  if (!(error instanceof TypeError) || cause === undefined) return message;
  return `no service answers at ${base}: ${cause.message || cause.code}`;
}

type Target = { base: string; keys: { localKey: string; apiKey: string } | null; send: VerifiedFetch };

async function answer(request: IncomingMessage, response: ServerResponse, { base, keys, send }: Target): Promise<void> {
  // A web page must not spend its visitor's credits: neither with a request of its own, nor under a name that it points to this machine.
  const host = (request.headers.host ?? "").replace(/:\d+$/, "");
  if (request.headers.origin !== undefined || !["127.0.0.1", "localhost"].includes(host)) {
    return refuse(
      response,
      403,
      "permission_denied",
      "This endpoint is for programs on this machine, not for web pages.",
    );
  }
  const target = targetOf(base, request.url ?? "");
  if (target === null) return refuse(response, 404, "route_not_found", "This endpoint has the routes below /v1.");
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined && !NOT_PASSED.has(name)) headers.set(name, String(value));
  }
  if (keys !== null) {
    const given = headers.get("authorization");
    if (given === null) return refuse(response, 401, "missing_api_key", NO_KEY);
    if (isSame(given, `Bearer ${keys.localKey}`)) headers.set("authorization", `Bearer ${keys.apiKey}`);
  }
  let body: string;
  try {
    body = (await readBounded(request, MOST_BODY)).toString("utf8");
  } catch (error) {
    if (!(error instanceof BodyTooLarge)) throw error;
    return refuse(response, 400, "invalid_request", `The body has more than ${MOST_BODY} bytes.`);
  }
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const init = { method: request.method ?? "GET", headers, signal: gone.signal, ...(body !== "" && { body }) };
  const reply = await send(target, init);
  const passed = [...reply.headers].filter(([name]) => !NOT_PASSED.has(name));
  response.writeHead(reply.status, Object.fromEntries(passed));
  if (reply.body === null) response.end();
  else await pipeline(Readable.fromWeb(reply.body as never), response);
}

const NO_KEY =
  "The request has no key: send the one that this endpoint printed at its start, as 'Authorization: Bearer local_…'. Without it, every user of this machine could spend the account's credits.";

/** Digests have one length, so the comparison says nothing of the key's. */
function isSame(given: string, expected: string): boolean {
  const [a, b] = [given, expected].map((text) => createHash("sha256").update(text).digest()) as [Buffer, Buffer];
  return timingSafeEqual(a, b);
}

/** The URL to which a request is passed; null unless it is below the service's `/v1`. `/v1/../app` is not, however it is escaped. */
function targetOf(base: string, path: string): string | null {
  const below = /^\/v1(\/.*)$/.exec(path)?.[1];
  if (below === undefined || !URL.canParse(`${base}${below}`)) return null;
  const [root, target] = [new URL(`${base}/`), new URL(`${base}${below}`)];
  return target.origin === root.origin && target.pathname.startsWith(root.pathname) ? target.href : null;
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  const error = { code, message, type: status >= 500 ? "api_error" : "invalid_request_error", param: null };
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error }));
}
