import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";

/** Why a body was not read. `no_room`: this process holds as many bytes of bodies as it may. */
type BodyFault = "too_large" | "no_room" | "unknown_encoding" | "not_decodable" | "broken_off";

/** A body that was not read. The rest of it is received and thrown away, so an answer can be sent at once. */
export class BodyRefused extends Error {
  override name = "BodyRefused";
  readonly fault: BodyFault;
  /** The most bytes that were allowed. */
  readonly limit: number;

  constructor(fault: BodyFault, limit: number) {
    super(`the request's body was not read: ${fault}`);
    this.fault = fault;
    this.limit = limit;
  }
}

type Body = { from: string; bytes: number; refuse: (() => void) | null };

/**
 * Bytes that a process holds of request bodies, from their arrival to the end of the answer. When they are too many, whoever holds most gives up
 * the largest body that is still arriving, or whose request waits for another one: a client of ordinary size is served beside one that sends many
 * large bodies slowly, or repeats one.
 */
export class BodyBudget {
  readonly #most: number;
  readonly #bodies = new Set<Body>();
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Bytes held now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts a body that arrives `from` an address. `refuse` is called when it is given up. */
  open(from: string, refuse: () => void): Body {
    const body = { from, bytes: 0, refuse };
    this.#bodies.add(body);
    return body;
  }

  /** A body that was given up or released no longer counts. */
  grow(body: Body, bytes: number): void {
    if (!this.#bodies.has(body)) return;
    body.bytes += bytes;
    this.#bytes += bytes;
    while (this.#bytes > this.#most) {
      const largest = this.#largest();
      if (largest === undefined) return;
      largest.refuse?.();
      this.close(largest);
    }
  }

  close(body: Body): void {
    if (this.#bodies.delete(body)) this.#bytes -= body.bytes;
  }

  #largest(): Body | undefined {
    const held = new Map<string, number>();
    for (const { from, bytes } of this.#bodies) held.set(from, (held.get(from) ?? 0) + bytes);
    const idle = [...this.#bodies].filter(({ refuse }) => refuse !== null);
    const order = (a: Body, b: Body) => (held.get(b.from) ?? 0) - (held.get(a.from) ?? 0) || b.bytes - a.bytes;
    return idle.sort(order)[0];
  }
}

const DECODERS = {
  gzip: promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip),
  deflate: promisify<Buffer, { maxOutputLength: number }, Buffer>(inflate),
  br: promisify<Buffer, { maxOutputLength: number }, Buffer>(brotliDecompress),
};

/** `limit`: most bytes, compressed or not. `from`: the client's address. */
type BodyLimits = { limit: number; budget: BodyBudget; from: string };

/** A body that was read. */
export type ReadBody = {
  bytes: Buffer;
  /** Gives its bytes back to the budget, and ends what its request waits for. */
  release: () => void;
  /** Waits for another request. Meanwhile the body may be given up: the signal then aborts with a BodyRefused. */
  whileWaiting: <T>(wait: (signal: AbortSignal) => Promise<T>) => Promise<T>;
};

/** Reads a request's body and decompresses it. Rejects with BodyRefused. */
export async function readRequestBody(
  request: IncomingMessage,
  { limit, budget, from }: BodyLimits,
): Promise<ReadBody> {
  const refused = Promise.withResolvers<never>();
  const body = budget.open(from, () => refused.reject(new BodyRefused("no_room", limit)));
  const arrival = new Arrival(request, limit, (bytes) => budget.grow(body, bytes));
  try {
    const raw = await Promise.race([arrival.whole, refused.promise]);
    const bytes = await decoded(raw, request.headers["content-encoding"], limit);
    budget.grow(body, Math.max(0, bytes.length - raw.length));
    // Rejected meanwhile, or not at all.
    await Promise.race([refused.promise, Promise.resolve()]);
    body.refuse = null;
    // Made when the request waits for another one: most never do.
    let waiting: AbortController | null = null;
    let isReleased = false;
    const release = () => {
      budget.close(body);
      isReleased = true;
      waiting?.abort(new BodyRefused("broken_off", limit));
    };
    const whileWaiting: ReadBody["whileWaiting"] = async (wait) => {
      const wanted = new AbortController();
      waiting = wanted;
      if (isReleased) wanted.abort(new BodyRefused("broken_off", limit));
      body.refuse = () => wanted.abort(new BodyRefused("no_room", limit));
      try {
        return await wait(wanted.signal);
      } finally {
        body.refuse = null;
        waiting = null;
      }
    };
    return { bytes, release, whileWaiting };
  } catch (error) {
    budget.close(body);
    arrival.discard();
    throw error;
  }
}

/** A body as it comes, copied into one buffer: a client chooses how small the pieces are, and each would cost memory of its own. */
class Arrival {
  /** All of it. Rejects with BodyRefused. */
  readonly whole: Promise<Buffer>;
  readonly #request: IncomingMessage;
  #buffer: Buffer = Buffer.alloc(0);
  #size = 0;

  constructor(request: IncomingMessage, limit: number, onBytes: (bytes: number) => void) {
    this.#request = request;
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    this.whole = promise;
    let isWhole = false;
    const refuse = (fault: BodyFault) => isWhole || reject(new BodyRefused(fault, limit));
    if (Number(request.headers["content-length"]) > limit) {
      refuse("too_large");
      return;
    }
    request.on("data", (piece: Buffer) => {
      if (this.#size + piece.length > limit) return refuse("too_large");
      this.#add(piece, limit);
      onBytes(piece.length);
    });
    request.on("end", () => {
      isWhole = true;
      resolve(this.#buffer.subarray(0, this.#size));
    });
    for (const event of ["error", "close"]) request.on(event, () => refuse("broken_off"));
  }

  #add(piece: Buffer, limit: number): void {
    const size = this.#size + piece.length;
    if (size > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(limit, Math.max(size, 2 * this.#buffer.length)));
      this.#buffer.copy(larger, 0, 0, this.#size);
      this.#buffer = larger;
    }
    piece.copy(this.#buffer, this.#size);
    this.#size = size;
  }

  /** Forgets what came; what is still to come goes nowhere. The request lives on until its connection ends. */
  discard(): void {
    this.#buffer = Buffer.alloc(0);
    this.#size = 0;
    this.#request.removeAllListeners("data").resume();
  }
}

async function decoded(raw: Buffer, encoding: string | undefined, limit: number): Promise<Buffer> {
  const name = encoding?.trim().toLowerCase() ?? "identity";
  if (name === "identity") return raw;
  if (!Object.hasOwn(DECODERS, name)) throw new BodyRefused("unknown_encoding", limit);
  try {
    return await DECODERS[name as keyof typeof DECODERS](raw, { maxOutputLength: limit });
  } catch (error) {
    const isTooLarge = (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
    throw new BodyRefused(isTooLarge ? "too_large" : "not_decodable", limit);
  }
}
