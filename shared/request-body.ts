import type { IncomingMessage } from "node:http";

/** Why a body was not read. `no_room`: this process holds as many bytes of bodies as it may. */
type BodyFault = "too_large" | "no_room" | "compressed" | "broken_off";

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

/** A body that arrives in at most so many bytes is small. */
export const SMALL_BODY = 64 * 1024;
/** The share of the budget that only small bodies may use. */
const SMALL_SHARE = 1 / 4;
/** With more than this part of the budget in use, a client has its share and no more. */
const SCARCE = 1 / 2;

/** Bytes a second that are received of all bodies that nobody reads: receiving takes the event loop's time too. */
const DISCARD_RATE = 16 * 1024 * 1024;
/** The bytes of such a body that are still received, so that its client reads the answer. The connection of a longer one is closed. */
const MOST_DISCARDED = 16 * 1024 * 1024;
/** A shorter pause is kept for the next piece. */
const SHORTEST_PAUSE_MS = 5;
/** A smaller piece (a chunk of HTTP) counts as so many bytes: receiving it takes as long. */
const SMALLEST_PIECE = 1_024;
const counted = (piece: Buffer): number => Math.max(piece.length, SMALLEST_PIECE);

/** When the next bytes may be read. */
class Pace {
  readonly #bytesPerMs: number;
  #until = 0;

  constructor(bytesPerSecond: number) {
    this.#bytesPerMs = bytesPerSecond / 1_000;
  }

  /** Stops the request for as long as these bytes of it may take. */
  take(request: IncomingMessage, bytes: number): void {
    const now = performance.now();
    this.#until = Math.max(this.#until, now) + bytes / this.#bytesPerMs;
    if (this.#until - now < SHORTEST_PAUSE_MS) return;
    request.pause();
    setTimeout(() => request.resume(), this.#until - now);
  }
}

const discardPace = new Pace(DISCARD_RATE);

/**
 * `bytes`: what it takes now; `isLarge`: by what arrived; `isWhole`: all has arrived; `since`: when it began to. `refuse`: gives the body up; null
 * while its request is being answered.
 */
type Body = {
  client: Client;
  bytes: number;
  isLarge: boolean;
  isWhole: boolean;
  since: number;
  refuse: (() => void) | null;
};
type Client = { name: string; bytes: number; bodies: Set<Body>; pace: Pace };

/**
 * Bytes that a process holds of request bodies, from their arrival to the end of the answer. While they are scarce, a client holds at most its
 * share. Large bodies together leave a part for small ones. Where a body does not fit, one is given up that still arrives, or whose request waits
 * (`isBefore` says which). So a client of ordinary size is served beside one that sends many large bodies, and beside many that send slowly.
 */
export class BodyBudget {
  readonly #most: number;
  readonly #mostEach: number;
  readonly #rateEach: number;
  readonly #clients = new Map<string, Client>();
  #bytes = 0;
  /** The part of `#bytes` that belongs to bodies that are not small. */
  #large = 0;

  /** `mostEach`: the share of one client while bytes are scarce. `rateEach`: bytes a second at which one client's large bodies are read. */
  constructor(most: number, mostEach = most, rateEach = Number.POSITIVE_INFINITY) {
    this.#most = most;
    this.#mostEach = mostEach;
    this.#rateEach = rateEach;
  }

  /** Bytes held now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts a body that arrives from a client: a wallet, or an address. `refuse` is called when the body is given up. */
  open(name: string, refuse: () => void): Body {
    const client = this.#clients.get(name) ?? {
      name,
      bytes: 0,
      bodies: new Set<Body>(),
      pace: new Pace(this.#rateEach),
    };
    this.#clients.set(name, client);
    const body = { client, bytes: 0, isLarge: false, isWhole: false, since: performance.now(), refuse };
    client.bodies.add(body);
    return body;
  }

  /** So many bytes of the body have arrived. */
  arrive(body: Body, bytes: number): void {
    if (bytes > SMALL_BODY && !body.isLarge) {
      body.isLarge = true;
      this.#large += body.bytes;
    }
    this.resize(body, bytes);
  }

  /** The body now takes so many bytes. One that was given up or closed no longer counts. */
  resize(body: Body, bytes: number): void {
    if (!body.client.bodies.has(body)) return;
    this.#count(body, bytes);
    const { client } = body;
    const isScarce = () => this.#bytes > this.#most * SCARCE && client.bytes > this.#mostEach;
    while (isScarce() && this.#giveUp([client]));
    const clients = this.#clients;
    while (this.#large > this.#most * (1 - SMALL_SHARE) && this.#giveUp(clients.values(), isLarge));
    while (this.#bytes > this.#most && this.#giveUp(clients.values()));
  }

  close(body: Body): void {
    const { client } = body;
    if (!client.bodies.has(body)) return;
    this.#count(body, 0);
    client.bodies.delete(body);
    if (client.bodies.size === 0) this.#clients.delete(client.name);
  }

  #count(body: Body, bytes: number): void {
    if (body.isLarge) this.#large += bytes - body.bytes;
    this.#bytes += bytes - body.bytes;
    body.client.bytes += bytes - body.bytes;
    body.bytes = bytes;
  }

  /** Gives up one such body of these clients; false if none can be. */
  #giveUp(clients: Iterable<Client>, isSuch = (_body: Body) => true): boolean {
    const now = performance.now();
    let first: Body | undefined;
    for (const { bodies } of clients) {
      for (const body of bodies) {
        if (body.refuse === null || body.bytes === 0 || !isSuch(body)) continue;
        if (first === undefined || this.#isBefore(body, first, now)) first = body;
      }
    }
    if (first === undefined) return false;
    first.refuse?.();
    this.close(first);
    return true;
  }

  /**
   * True if `body` is given up before `other`. First come the bodies of the client that is farthest beyond its share; then those that still
   * arrive, the slowest for its age first; then the largest.
   */
  #isBefore(body: Body, other: Body, now: number): boolean {
    const excess = ({ client }: Body) => Math.max(0, client.bytes - this.#mostEach);
    if (excess(body) !== excess(other)) return excess(body) > excess(other);
    if (body.isWhole !== other.isWhole) return other.isWhole;
    if (body.isWhole) return body.bytes > other.bytes;
    return body.bytes * (now - other.since) < other.bytes * (now - body.since);
  }
}

const isLarge = (body: Body): boolean => body.isLarge;

/** `limit`: most bytes. `from`: whose share of the budget the body takes. */
type BodyLimits = { limit: number; budget: BodyBudget; from: string };

/** A body that was read. */
export type ReadBody = {
  bytes: Buffer;
  /** Gives the memory of `bytes` back, which are empty from then on. What is kept of them still counts. */
  free: () => void;
  /** Says how many bytes are kept of it from now on. Throws BodyRefused where that does not fit. */
  keep: (bytes: number) => void;
  /** Gives its bytes back to the budget, and ends what its request waits for. */
  release: () => void;
  /** Waits for something. Meanwhile the body may be given up: the signal then aborts with a BodyRefused. */
  whileWaiting: <T>(wait: (signal: AbortSignal) => Promise<T>) => Promise<T>;
};

/** Reads a request's body. Rejects with BodyRefused. */
export async function readRequestBody(
  request: IncomingMessage,
  { limit, budget, from }: BodyLimits,
): Promise<ReadBody> {
  const refused = Promise.withResolvers<never>();
  const body = budget.open(from, () => refused.reject(new BodyRefused("no_room", limit)));
  const arrival = new Arrival(request, limit, (size, piece) => {
    budget.arrive(body, size);
    if (body.isLarge) body.client.pace.take(request, piece);
  });
  let bytes: Buffer;
  try {
    bytes = await Promise.race([arrival.whole, refused.promise]);
    // Rejected meanwhile, or not at all.
    await Promise.race([refused.promise, Promise.resolve()]);
  } catch (error) {
    budget.close(body);
    arrival.discard();
    throw error;
  }
  body.isWhole = true;
  body.refuse = null;
  // Made when the request waits: most never do.
  let waiting: AbortController | null = null;
  let isReleased = false;
  return {
    bytes,
    free: () => arrival.free(),
    keep: (size) => {
      let fits = true;
      body.refuse = () => {
        fits = false;
      };
      budget.resize(body, size);
      body.refuse = null;
      if (!fits) throw new BodyRefused("no_room", limit);
    },
    release: () => {
      budget.close(body);
      arrival.free();
      isReleased = true;
      waiting?.abort(new BodyRefused("broken_off", limit));
    },
    whileWaiting: async (wait) => {
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
    },
  };
}

/** A body as it comes, copied into one buffer: a client chooses how small the pieces are, and each would cost memory of its own. */
class Arrival {
  /** All of it. Rejects with BodyRefused. */
  readonly whole: Promise<Buffer>;
  readonly #request: IncomingMessage;
  #buffer: Buffer<ArrayBuffer> = Buffer.from(new ArrayBuffer(0));
  #size = 0;

  /** `onPiece` is told how many bytes are held with a new piece, before they are, and how many the piece counts. */
  constructor(request: IncomingMessage, limit: number, onPiece: (size: number, piece: number) => void) {
    this.#request = request;
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    this.whole = promise;
    const refuse = (fault: BodyFault) => reject(new BodyRefused(fault, limit));
    // No client of an OpenAI API was found that compresses its requests (docs/decisions.md, 145).
    if ((request.headers["content-encoding"]?.trim().toLowerCase() ?? "identity") !== "identity") {
      refuse("compressed");
      return;
    }
    if (Number(request.headers["content-length"]) > limit) {
      refuse("too_large");
      return;
    }
    const add = (piece: Buffer) => {
      const size = this.#size + piece.length;
      if (size > limit) return refuse("too_large");
      onPiece(size, counted(piece));
      this.#add(piece, limit);
    };
    const breakOff = () => refuse("broken_off");
    request.on("data", add).on("error", breakOff).on("close", breakOff);
    request.once("end", () => {
      resolve(this.#buffer.subarray(0, this.#size));
      // The request outlives its body, and would keep it.
      request.off("data", add).off("error", breakOff).off("close", breakOff);
    });
  }

  #add(piece: Buffer, limit: number): void {
    const size = this.#size + piece.length;
    // `transfer` frees the smaller buffer at once: garbage of this size would wait for seconds.
    if (size > this.#buffer.length)
      this.#buffer = Buffer.from(
        this.#buffer.buffer.transfer(Math.min(limit, Math.max(size, 2 * this.#buffer.length))),
      );
    piece.copy(this.#buffer, this.#size);
    this.#size = size;
  }

  /** Gives the memory back at once. The bytes that were handed out are empty from then on. */
  free(): void {
    this.#buffer = Buffer.from(this.#buffer.buffer.transfer(0));
    this.#size = 0;
  }

  /** Forgets what came. The request lives on until its connection ends. */
  discard(): void {
    this.free();
    this.#request.removeAllListeners("data");
    discardBody(this.#request);
  }
}

/** Receives what is still to come of a body that nobody reads, slowly, and not without an end. */
export function discardBody(request: IncomingMessage): void {
  let received = 0;
  // Reads the bytes that have come already. Of a request that was never read, Node would receive the rest at once when its answer is
  // sent.
  request.read();
  request.on("data", (piece: Buffer) => {
    received += counted(piece);
    if (received > MOST_DISCARDED) request.destroy();
    else discardPace.take(request, counted(piece));
  });
  request.resume();
}
