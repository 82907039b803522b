import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { ipKeyGenerator } from "express-rate-limit";
import { tinyPieces } from "./bounded-body.ts";
import { discardBody } from "./request-body.ts";

/** Bits of an IPv6 address that a client does not choose: it owns a whole /56. */
export const IPV6_CLIENT_BITS = 56;
/** Addresses of this machine: a proxy on it, or its own programs. */
export const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/;

/** Closes connections of an address that has `most` of them: one client must not take them all. This machine's own are not counted. */
export function limitConnectionsEach(server: Server, most: number): void {
  const open = new Map<string, number>();
  server.on("connection", (socket: Socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || LOOPBACK.test(remoteAddress)) return;
    const from = ipKeyGenerator(remoteAddress, IPV6_CLIENT_BITS);
    const count = open.get(from) ?? 0;
    if (count >= most) {
      socket.destroy();
      return;
    }
    open.set(from, count + 1);
    socket.once("close", () => {
      const left = (open.get(from) ?? 0) - 1;
      if (left > 0) open.set(from, left);
      else open.delete(from);
    });
  });
}

/** Requests of one connection whose answers are still to come. Hardly any client sends its next request before it has the answer to the last one. */
const UNDER_WAY = 16;
/** The responses of each connection that are not whole yet. */
const underWay = new WeakMap<Duplex, Set<ServerResponse>>();

/** Whether a part of an answer was sent on this connection and the rest is still to come. Its requests must go through `boundUnderWay`. */
export function isAnswering(socket: Duplex): boolean {
  return [...(underWay.get(socket) ?? [])].some((response) => response.headersSent);
}

/**
 * Closes connections that have more requests under way. A few kilobytes hold thousands of requests, which Node hands out at once: nobody else would
 * be served meanwhile, and each of them takes memory until those before it are answered.
 */
export function boundUnderWay(app: RequestListener): RequestListener {
  return (request, response) => {
    const { socket } = request;
    // Node still hands out requests that had arrived on a connection when it was closed.
    if (socket.destroyed) return;
    const responses = underWay.get(socket) ?? new Set();
    underWay.set(socket, responses.add(response));
    response.once("close", () => responses.delete(response));
    if (responses.size > UNDER_WAY) socket.destroy();
    else {
      boundPieces(request, response);
      closeAfterUnread(request, response);
      app(request, response);
    }
  };
}

/** A request with a longer body, answered before all of it is there, is the last one of its connection. */
const LONG_BYTES = 64 * 1024;

/**
 * A proxy has the answer, and has written the body into its connection, long before the gateway has discarded that: it would send the next request,
 * of any client, on the same connection, behind megabytes that wait for their turn. The connection is closed for writing only, so that a client which
 * still sends gets its answer.
 */
function closeAfterUnread(request: IncomingMessage, response: ServerResponse): void {
  const { socket, headers } = request;
  const bytes =
    headers["transfer-encoding"] === undefined ? Number(headers["content-length"] ?? 0) : Number.POSITIVE_INFINITY;
  if (!(bytes > LONG_BYTES)) return;
  const { writeHead } = response;
  response.writeHead = (...args: unknown[]) => {
    if (!request.complete) {
      response.shouldKeepAlive = false;
      socket.destroySoon = () => void socket.end();
    }
    return Reflect.apply(writeHead, response, args);
  };
}

/** Closes the connection of a body with many tiny pieces; a body that no route reads is received slowly, and not without an end. */
function boundPieces(request: IncomingMessage, response: ServerResponse): void {
  const { socket, push } = request;
  const areTooMany = tinyPieces();
  request.push = (piece: Buffer | null, ...rest) => {
    if (piece !== null) {
      if (socket.destroyed) return false;
      if (areTooMany(piece)) {
        socket.destroy();
        return false;
      }
    }
    return Reflect.apply(push, request, [piece, ...rest]);
  };
  // Node receives the body of a request that was answered and never read as fast as it comes, in whatever pieces.
  response.prependListener("finish", () => {
    if (!request.complete && request.readableFlowing === null) discardBody(request);
  });
}
