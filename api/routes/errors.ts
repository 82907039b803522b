import { randomUUID } from "node:crypto";
import type { Server } from "node:http";
import type { Duplex } from "node:stream";
import type { ErrorRequestHandler, RequestHandler } from "express";
import type { Logger } from "pino";
import { BaseError } from "viem";
import { isAnswering } from "../../shared/connections.ts";
import { BodyRefused } from "../../shared/request-body.ts";
import { markFailed } from "../../shared/tracing.ts";
import { RpcUnreachable } from "../chain/rpc.ts";
import { ApiError, unavailable } from "../errors.ts";
import { pathOf } from "./request.ts";
import { methodsOf } from "./routes.ts";

/** The end of the chain of routes: whatever was thrown becomes the error body of the specification. */
export function errorHandler(docsUrl: string, logger: Logger): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    const apiError = toApiError(error);
    const fields = { requestId: request.requestId, code: apiError.code, status: apiError.status };
    if (apiError.status >= 500) markFailed(apiError.code);
    logFailure(logger, apiError, fields, `${request.method} ${pathOf(request)}`);
    if (response.headersSent) {
      // The client has part of an answer: all that is left is not to pretend that it is whole.
      response.destroy();
      return;
    }
    // The route may have announced trailers for its own answer; an error has none.
    response.removeHeader("trailer");
    // RFC 6750: what kind of key is asked for, and whether one was there.
    if (apiError.status === 401) {
      const wrong = apiError.code === "invalid_api_key" ? ' error="invalid_token"' : "";
      response.setHeader("www-authenticate", `Bearer${wrong}`);
    }
    const retryAfter = apiError.details?.retry_after;
    if (typeof retryAfter === "number") response.setHeader("retry-after", String(retryAfter));
    response.status(apiError.status).json(apiError.body(docsUrl));
  };
}

/** A fault of ours with all that is known of it; a lack of workers or of time as what it is. */
function logFailure(logger: Logger, error: ApiError, fields: object, what: string): void {
  if (error.code === "internal_error") logger.error({ ...fields, err: error.cause ?? error }, what);
  else if (error.status >= 500) {
    logger.warn({ ...fields, reason: error.message, ...(error.cause ? { err: error.cause } : {}) }, what);
  }
}

/** Unknown routes below `/v1` and elsewhere. The specification has no 405: a wrong method is 404 too, with `Allow`. */
export const notFound: RequestHandler = (request, response) => {
  const path = pathOf(request);
  const methods = methodsOf(path);
  if (methods === null) {
    throw new ApiError("route_not_found", `There is no ${request.method} ${path}; the API is below /v1.`);
  }
  response.setHeader("allow", methods.join(", "));
  throw new ApiError("route_not_found", `There is no ${request.method} ${path}; its methods: ${methods.join(", ")}.`);
};

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const { status, code } = (error ?? {}) as { status?: number; code?: string };
  if (error instanceof BodyRefused) return bodyError(error);
  // Express's own: a path that cannot be decoded.
  if (status !== undefined && status >= 400 && status < 500) {
    const message = "The request's path could not be read: each '%' in it must start an escape such as %20.";
    return new ApiError("invalid_request", message, { cause: error });
  }
  if (code === NO_SUCH_CHARACTER) {
    return new ApiError("invalid_request", "The request contains a NUL character, which no field accepts; remove it.", {
      cause: error,
    });
  }
  if (isNodeOutage(error) || isDatabaseOutage(error, code)) {
    return unavailable("A part of the service cannot be reached; retry in a few seconds.", 5, error);
  }
  return new ApiError(
    "internal_error",
    "Something went wrong on our side; nothing is charged without an answer. Retry.",
    { cause: error },
  );
}

/** The chain's node did not answer: our own calls say so, and viem's. */
function isNodeOutage(error: unknown): boolean {
  if (error instanceof RpcUnreachable) return true;
  const isSilence = (cause: unknown) => cause instanceof RpcUnreachable;
  return error instanceof BaseError && error.walk(isSilence) !== null;
}

function bodyError({ fault, limit }: BodyRefused): ApiError {
  const size = limit < 1024 * 1024 ? `${limit / 1024} KiB` : `${limit / 1024 / 1024} MiB`;
  switch (fault) {
    case "too_large":
      return new ApiError("invalid_request", `The request body is larger than ${size}; send less text.`);
    case "no_room":
      return unavailable("Too many large requests arrive at once; retry in a second.", 1);
    case "compressed":
      return new ApiError(
        "invalid_request",
        "Content-Encoding: compressed requests are not accepted; send plain JSON.",
        {
          param: "Content-Encoding",
        },
      );
    case "broken_off":
      return new ApiError("invalid_request", "The request body ended early; send all of it.");
  }
}

/** PostgreSQL's text has no NUL: an id with one in it is a client's mistake wherever it gets to. */
const NO_SUCH_CHARACTER = "22021";

/**
 * The driver could not reach its host, or PostgreSQL answered with one of these classes. 08: connection. 25006: a replica that is no primary
 * yet. 28: the password was changed. 53: resources. 57P: shutdown. FATAL: PostgreSQL ended the connection for another reason, such as a full disk.
 */
const OUTAGE = /^(ECONN|EHOST|ENET|ENOTFOUND|EAI_|EPIPE|ETIMEDOUT|08|25006|28|53|57P)/;

function isDatabaseOutage(error: unknown, code: string | undefined): boolean {
  if (code !== undefined) return OUTAGE.test(code) || (error as { severity?: string }).severity === "FATAL";
  // A connection that breaks under a query, or a pool that gets none in time: the driver has no codes for these.
  return (
    error instanceof Error &&
    /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout)/.test(error.message)
  );
}

// ---------------------------------------------------------------- what is no HTTP

const WHAT: Record<string, string> = {
  HPE_HEADER_OVERFLOW: "The request's headers are larger than 16 KiB.",
  ERR_HTTP_REQUEST_TIMEOUT: "The request did not arrive in time.",
};

/** Time for a refused connection to take its answer. */
const FLUSH_MS = 2_000;

/**
 * Bytes that never become a request, because they are no HTTP or too slow, get the error body as well (specification, "Errors"). The
 * connection is closed once the answer is sent: half closed, it would stay for as long as the client likes.
 */
export function answerMalformed(server: Server, docsUrl: string, logger: Logger): void {
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    // Another answer in the midst of one would be worse than none. A connection that had whole answers is a proxy's, as a rule: a proxy that gets
    // none for a client's malformed request takes the gateway for broken, and stops asking it for everybody.
    if (error.code === "ECONNRESET" || !socket.writable || isAnswering(socket)) {
      socket.destroy();
      return;
    }
    const requestId = randomUUID();
    logger.info({ requestId, code: error.code }, "not a request");
    const message = WHAT[error.code ?? ""] ?? "This is not a well-formed HTTP request.";
    const body = JSON.stringify(new ApiError("invalid_request", message).body(docsUrl));
    const head = [
      "HTTP/1.1 400 Bad Request",
      "content-type: application/json; charset=utf-8",
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${requestId}`,
      "connection: close",
    ];
    socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
    // A client that does not read the error is disconnected as well.
    setTimeout(() => socket.destroy(), FLUSH_MS).unref();
  });
}
