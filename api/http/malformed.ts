import { randomUUID } from "node:crypto";
import type { Server } from "node:http";
import type { Duplex } from "node:stream";
import type { Logger } from "pino";
import { ApiError } from "../errors.ts";

const WHAT: Record<string, string> = {
  HPE_HEADER_OVERFLOW: "The request's headers are larger than 16 KiB.",
  ERR_HTTP_REQUEST_TIMEOUT: "The request did not arrive in time.",
};

/** What never becomes a request, because it is no HTTP, gets the error body as well (specification, "Errors"). */
export function answerMalformed(server: Server, docsUrl: string, logger: Logger): void {
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex & { bytesWritten?: number }) => {
    // With an answer under way on this connection, another one in the midst of it would be worse than none.
    if (error.code === "ECONNRESET" || !socket.writable || (socket.bytesWritten ?? 0) > 0) {
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
    socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  });
}
