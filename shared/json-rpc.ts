import { Agent, request as send } from "undici";
import { BodyTooLarge, readBounded } from "./bounded-body.ts";
import { type NodeAddress, nodeAddress } from "./node-url.ts";

/** An answer of the node that is an error: the request arrived and was refused. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;
  constructor(method: string, code: number, message: string, data: unknown) {
    super(`${method}: ${message} (${code})`);
    this.name = "RpcError";
    this.code = code;
    this.data = data;
  }
}

/** No usable answer: the node is out of reach, slow or broken. Whether the request took effect is unknown. */
export class RpcUnreachable extends Error {
  constructor(method: string, cause: unknown) {
    super(`${method}: no answer from the chain node (${cause instanceof Error ? cause.message : String(cause)})`, {
      cause,
    });
    this.name = "RpcUnreachable";
  }
}

/** The node, or what stands before it, answered that it cannot serve now: too many requests, or it is overloaded. */
export class RpcLimited extends RpcUnreachable {
  constructor(method: string, status: number) {
    super(method, `it cannot serve now (HTTP ${status})`);
    this.name = "RpcLimited";
  }
}

/** The node answered to a batch as a whole, or not to all of it: it takes none, or none of this size. */
export class BatchRefused extends RpcUnreachable {
  constructor(methods: string, reason: string) {
    super(methods, reason);
    this.name = "BatchRefused";
  }
}

/** An answer that is longer than its reader takes: asked again, it would be so again. */
export class RpcTooLong extends RpcUnreachable {
  constructor(method: string, maxBytes: number) {
    super(method, `its reply is larger than ${maxBytes} bytes`);
    this.name = "RpcTooLong";
  }
}

/** One JSON-RPC call. */
export type Call = { method: string; params: readonly unknown[] };
type Reply = { id?: number | string; result?: unknown; error?: { code: number; message: string; data?: unknown } };
/** The answer to one call of a batch. */
export type Answer = { result: unknown } | { error: RpcError };

/** The result of a call. Throws the error that is its answer. */
export function unwrap(answer: Answer): unknown {
  if ("error" in answer) throw answer.error;
  return answer.result;
}

/** HTTP statuses of a node, or of what stands before it, that cannot serve now. */
const OVERLOADED: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const TOO_LARGE = 413;

const TIMEOUT_MS = 10_000;
/** Most bytes of a reply, as viem has it: many times the largest that is asked for. A node that sends more is broken. */
const REPLY_BYTES = 10 * 1024 * 1024;
type Limits = { timeoutMs: number; maxBytes: number };

/**
 * JSON-RPC as it is, for the calls that every job makes: kept connections, no scheduler, nothing tried twice. Rejects with RpcError or
 * RpcUnreachable.
 */
export class JsonRpc {
  readonly #node: NodeAddress;
  // A synchronous sending holds its connection until it is mined: reads must not wait for those.
  readonly #agent = new Agent({ connections: 128 });
  #nextId = 1;

  /** `url` may name user and password; throws when they cannot be read. */
  constructor(url: string) {
    this.#node = nodeAddress(url);
  }

  /** One call; its reply has at most `maxBytes`. */
  async request<T>(
    method: string,
    params: readonly unknown[],
    timeoutMs = TIMEOUT_MS,
    maxBytes = REPLY_BYTES,
  ): Promise<T> {
    const reply = await this.#post(method, this.#body({ method, params }), { timeoutMs, maxBytes });
    return resultOf(method, reply as Reply) as T;
  }

  /** Several calls in one HTTP request; answers in the order of the calls. Rejects with BatchRefused where the node answers them as a whole. */
  async answers(calls: readonly Call[], timeoutMs = TIMEOUT_MS): Promise<Answer[]> {
    const names = calls.map(({ method }) => method).join(", ");
    const bodies = calls.map((call) => this.#body(call));
    const replies = await this.#post(names, bodies, { timeoutMs, maxBytes: REPLY_BYTES });
    // A node that takes no batches, or none of this size, answers with one error for all; geth has it in a list.
    if (!Array.isArray(replies)) throw new BatchRefused(names, refusalOf(replies));
    // Some send the ids as text.
    const byId = new Map((replies as Reply[]).map((reply) => [Number(reply?.id), reply]));
    return bodies.map(({ id, method }) => {
      const reply = byId.get(id);
      if (reply === undefined) throw new BatchRefused(names, `its answer lacks ${method}`);
      try {
        return { result: resultOf(method, reply) };
      } catch (error) {
        if (error instanceof RpcError) return { error };
        throw error;
      }
    });
  }

  #body({ method, params }: Call) {
    return { jsonrpc: "2.0", id: this.#nextId++, method, params };
  }

  async #post(name: string, body: unknown, { timeoutMs, maxBytes }: Limits): Promise<unknown> {
    // A timer of its own, cleared with the reply: a timeout signal that is listened to makes an error for each call in the end.
    const abort = new AbortController();
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      const error = new DOMException(`no reply within ${timeoutMs} ms`, "TimeoutError");
      abort.abort(error);
      // undici sees the signal only once it is connected, and tries that for ten seconds.
      reject(error);
    }, timeoutMs);
    try {
      const sent = send(this.#node.url, {
        method: "POST",
        headers: { ...this.#node.headers, "content-type": "application/json" },
        body: JSON.stringify(body),
        dispatcher: this.#agent,
        signal: abort.signal,
      });
      const response = await Promise.race([sent, late]);
      const text = (await readBounded(response.body, maxBytes)).toString("utf8");
      // Such an answer can have a JSON-RPC error in it: it is a proxy's, not the node's.
      if (OVERLOADED.has(response.statusCode)) throw new RpcLimited(name, response.statusCode);
      if (response.statusCode === TOO_LARGE) throw new BatchRefused(name, "the request is too large");
      return JSON.parse(text);
    } catch (error) {
      if (error instanceof BodyTooLarge) throw new RpcTooLong(name, maxBytes);
      throw error instanceof RpcUnreachable ? error : new RpcUnreachable(name, error);
    } finally {
      clearTimeout(timer);
    }
  }
}

function refusalOf(reply: unknown): string {
  const { error } = Object(reply) as Reply;
  return error ? `it refuses the batch: ${error.message} (${error.code})` : "the answer to a batch is no list";
}

function resultOf(method: string, reply: Reply): unknown {
  if (typeof reply !== "object" || reply === null) throw new RpcUnreachable(method, "the answer is no JSON-RPC");
  const { error } = reply;
  if (typeof error?.code === "number") throw new RpcError(method, error.code, error.message, plainData(error.data));
  // A proxy's own error (too many requests, no such route) is JSON as well. A receipt that does not exist is `null`, and that is a result.
  if (error) throw new RpcUnreachable(method, new Error(JSON.stringify(error).slice(0, 200)));
  if (reply.result === undefined) throw new RpcUnreachable(method, "the answer has neither a result nor an error");
  return reply.result;
}

/** Nethermind puts a word before the data of a revert. */
const plainData = (data: unknown): unknown => (typeof data === "string" ? data.replace(/^Reverted (?=0x)/, "") : data);
