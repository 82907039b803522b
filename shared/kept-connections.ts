import { type Dispatcher, request } from "undici";

type Sending = {
  method?: "GET" | "POST";
  headers?: Record<string, string>;
  body?: string | null;
  signal: AbortSignal;
};
/** `isSecond`: it answers the second sending; the server may have had the first one all the same. */
type Sent = { response: Dispatcher.ResponseData; isSecond: boolean };

/** Interim answers (1xx) that a server can send before its answer. Each takes the event loop's time, and their stream could be without end. */
const MOST_INTERIM = 16;

/** A callback for each interim answer of a request. Calls `end` at one too many. */
export function boundInterim(end: (reason: Error) => void): () => void {
  let count = 0;
  return () => {
    count += 1;
    if (count > MOST_INTERIM) end(new Error(`the server sent more than ${MOST_INTERIM} interim answers`));
  };
}

/** Errors of a connection that the other side closed before a byte of its answer. */
const DROPPED = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/**
 * Requests over connections that are kept for the next one. Servers and proxies close an idle connection after some seconds, possibly just as it is
 * used again. So a request whose connection is dropped before a byte of the answer is sent a second time, over a new connection.
 */
export class KeptConnections {
  readonly #kept: Dispatcher;
  readonly #fresh: Dispatcher;

  /** `agentOf` makes the agent for kept connections, and the one for those that are used once. */
  constructor(agentOf: (options: { pipelining: 0 | 1 }) => Dispatcher) {
    this.#kept = agentOf({ pipelining: 1 });
    this.#fresh = agentOf({ pipelining: 0 });
  }

  /** Rejects as undici's `request` does. */
  async send(url: string | URL, sending: Sending): Promise<Sent> {
    try {
      return { response: await this.#request(url, sending, this.#kept), isSecond: false };
    } catch (error) {
      if (sending.signal.aborted || !DROPPED.has(String(Object(error).code))) throw error;
      return { response: await this.#request(url, sending, this.#fresh), isSecond: true };
    }
  }

  #request(url: string | URL, sending: Sending, dispatcher: Dispatcher): Promise<Dispatcher.ResponseData> {
    // An error that `onInfo` throws ends the request and its connection.
    const onInfo = boundInterim((reason) => {
      throw reason;
    });
    return request(url, { ...sending, dispatcher, onInfo });
  }

  async close(): Promise<void> {
    await Promise.all([this.#kept.destroy(), this.#fresh.destroy()]);
  }
}
