/** A local OpenAI endpoint that checks what it passes on, for programs in any language. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type VerifiedFetch, type VerifiedOptions, verified } from "./verified.ts";

/** `baseUrl`: the service with its `/v1`. `apiKey`: used where a request brings none. `port`: 0 for a free one. */
export type ProxyOptions = VerifiedOptions & { baseUrl: string; apiKey?: string; port?: number };

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

/** Starts the endpoint on this machine only. `close` takes no more requests, and resolves when those that came have ended. */
export async function startProxy({ baseUrl, apiKey, port = 4141, ...options }: ProxyOptions) {
  const send = verified(options);
  const base = baseUrl.replace(/\/+$/, "");
  const server = createServer((request, response) => {
    if (!server.listening) {
      // A connection with a request on its way stays open; whoever goes on asking there would keep the process alive.
      response.shouldKeepAlive = false;
      return refuse(response, 503, "service_unavailable", "This endpoint is ending: start it again, then ask again.");
    }
    answer(request, response, { base, apiKey, send }).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else refuse(response, 502, "service_unavailable", failureOf(error, base));
    });
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return { url, fetch: send, close: () => new Promise<void>((resolve) => server.close(() => resolve())) };
}

/** Why there is no reply, for a person: fetch says no more than that it failed. */
function failureOf(error: unknown, base: string): string {
  const { message, cause } = error as Error & { cause?: { code?: string; message: string } };
  if (!(error instanceof TypeError) || cause === undefined) return message;
  return `no service answers at ${base}: ${cause.message || cause.code}`;
}

type Target = { base: string; apiKey: string | undefined; send: VerifiedFetch };

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { base, apiKey, send }: Target,
): Promise<void> {
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
  const path = /^\/v1(\/.*)$/.exec(request.url ?? "")?.[1];
  if (path === undefined) return refuse(response, 404, "route_not_found", "This endpoint has the routes below /v1.");
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined && !NOT_PASSED.has(name)) headers.set(name, String(value));
  }
  if (!headers.has("authorization") && apiKey !== undefined) headers.set("authorization", `Bearer ${apiKey}`);
  const body = await readBody(request);
  if (body === null) return refuse(response, 400, "invalid_request", `The body has more than ${MOST_BODY} bytes.`);
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const init = { method: request.method ?? "GET", headers, signal: gone.signal, ...(body !== "" && { body }) };
  const reply = await send(`${base}${path}`, init);
  const passed = [...reply.headers].filter(([name]) => !NOT_PASSED.has(name));
  response.writeHead(reply.status, Object.fromEntries(passed));
  if (reply.body === null) response.end();
  else await pipeline(Readable.fromWeb(reply.body as never), response);
}

async function readBody(request: IncomingMessage): Promise<string | null> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > MOST_BODY) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  const error = { code, message, type: status >= 500 ? "api_error" : "invalid_request_error", param: null };
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error }));
}
