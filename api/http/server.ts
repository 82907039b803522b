import { createServer, type RequestListener, type Server } from "node:http";

/** A request's headers must be there within this time, all of it within the next. */
const HEADERS_MS = 20_000;
const REQUEST_MS = 60_000;
/** How often Node looks for requests beyond their time. */
const CHECK_MS = 5_000;
/** Longer than the idle time of usual load balancers: a connection is never closed under a request on its way. */
const KEEP_ALIVE_MS = 75_000;
/** Longer than any answer is silent (a plain one comes after at most 172 s): who reads nothing for so long has gone. */
const SILENT_MS = 300_000;

/**
 * The HTTP server with its limits against clients that are slow on purpose: headers and bodies that trickle in, answers that nobody
 * reads, connections that do nothing.
 */
export function createHttpServer(app: RequestListener, maxConnections: number): Server {
  const server = createServer(
    {
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      connectionsCheckingInterval: CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    app,
  );
  server.timeout = SILENT_MS;
  server.maxConnections = maxConnections;
  return server;
}
