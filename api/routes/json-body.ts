/** Reads the JSON body of a request: within bounds of bytes, of values, and of the time that it may take from everybody else. */
import { createHash } from "node:crypto";
import type { Request, RequestHandler, Response } from "express";
import { canonicalHash } from "../../shared/canonical-json.ts";
import { jsonShapeFault } from "../../shared/json-shape.ts";
import { BodyBudget, BodyRefused, type ReadBody, readRequestBody, SMALL_BODY } from "../../shared/request-body.ts";
import { Turns } from "../../shared/turns.ts";
import type { Balances } from "../chain/balances.ts";
import type { Directory } from "../chain/directory.ts";
import { ApiError } from "../errors.ts";
import { AUTHORIZATION_HEADER } from "../jobs/authorization.ts";
import { insufficientCredits, tooManyBalances } from "../jobs/refusals.ts";
import { clientOf, onceAnswered, ownerOf } from "./request.ts";

declare global {
  namespace Express {
    interface Request {
      /** Set with a chat request's body: SHA-256 of its bytes where an authorization signs them, else of its canonical JSON, by which a repetition is known. */
      bodyHash: Buffer;
      /** Set with the body: how many bytes are kept of it, a wait during which it may be given up, and until when at least it counts. */
      kept: Pick<ReadBody, "keep" | "whileWaiting"> & { until: (over: Promise<unknown>) => void };
    }
  }
}

/** The largest chat request. */
const BODY_LIMIT = 4 * 1024 * 1024;
/** The largest body of any other route: a sign-in with the signature of a contract wallet. */
export const FORM_LIMIT = 32 * 1024;
/** Bytes of all bodies that a gateway holds at once, and of one wallet's while others need them. */
const BODIES_LIMIT = 32 * BODY_LIMIT;
const WALLET_LIMIT = BODIES_LIMIT / 8;
/** Bytes a second of one wallet's large bodies. */
const WALLET_RATE = 16 * 1024 * 1024;
/** A parsed body takes at most so many times its bytes: two for each character, and what each value costs. */
const PARSED = 3;

/** A body of at most so many bytes and values is parsed, hashed and looked at within a millisecond. */
const QUICK = { bytes: SMALL_BODY, values: 1_000 };

/** A body of more bytes or values is long: it takes over ten milliseconds to parse and hash. */
const LONG = { bytes: 512 * 1024, values: 5_000 };

/** The memory and the parsing time that all request bodies of a gateway share. */
export class Bodies {
  readonly budget = new BodyBudget(BODIES_LIMIT, WALLET_LIMIT, WALLET_RATE);
  /**
   * Bodies that are not quick are parsed one at a time, in a quarter of the event loop's time, for wallets that can pay. Long bodies have turns of
   * their own, in an eighth of it: a wallet with a body of 100 kB would otherwise wait while many others have theirs of 4 MiB parsed.
   */
  readonly #turns = { middle: new Turns(3), long: new Turns(7) };

  turnsFor(body: Buffer): Turns {
    return isWithin(LONG, body) ? this.#turns.middle : this.#turns.long;
  }
}

/** Without this, a body of another type would be skipped and the answer would complain about a missing one. */
function refuseOtherTypes(request: Request): void {
  const { "content-length": length, "content-type": type = "none" } = request.headers;
  if (request.method === "POST" && length !== "0" && request.is("application/json") === false) {
    throw new ApiError("invalid_request", `Content-Type: must be application/json, not '${type.slice(0, 100)}'`, {
      param: "Content-Type",
    });
  }
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(type)?.[1];
  if (charset !== undefined && !/^(utf-?8|us-ascii)$/i.test(charset)) {
    const message = `Content-Type: the charset must be utf-8, not '${charset.slice(0, 40)}'; send JSON as UTF-8.`;
    throw new ApiError("invalid_request", message, { param: "Content-Type" });
  }
}

/** How large a request's body may be. `refusal`: the error for a larger one; without it, the error says that the body is too large. */
type BodyLimit = { bytes: number; refusal?: ApiError };
/** `isSmall`: whether a request may send it without credits; by default if it announces a small body. */
type LimitBody = (request: Request, isSmall?: boolean) => Promise<BodyLimit>;

/**
 * A large body is read, and one of many values parsed, only for a wallet that can pay for a request of the cheapest model: nobody else can do anything
 * with it. Which model it asks is not known: the refusal names the dearest price, which is enough for each.
 */
export function limitByCredits(
  directory: Pick<Directory, "models">,
  balances: Pick<Balances, "known" | "bounded">,
): LimitBody {
  return async (request, isSmall = Number(request.headers["content-length"]) <= SMALL_BODY) => {
    const models = directory.models().toSorted((a, b) => a.creditsPerRequest - b.creditsPerRequest);
    const [cheapest, dearest] = [models[0], models.at(-1)];
    if (cheapest === undefined || dearest === undefined || isSmall) return { bytes: BODY_LIMIT };
    const free = await freeCredits(balances, request, cheapest.creditsPerRequest);
    if (free === null) return { bytes: SMALL_BODY, refusal: tooManyBalances() };
    if (free >= cheapest.creditsPerRequest) return { bytes: BODY_LIMIT };
    return { bytes: SMALL_BODY, refusal: insufficientCredits(free, dearest.creditsPerRequest, dearest) };
  };
}

/**
 * The wallet's credits. If they are less than `least`, the chain is asked again, because the wallet may have deposited a second ago. Null where too
 * many wallets ask. Infinite where the chain is out of reach: the body is then read, and the route gives the error.
 */
async function freeCredits(
  balances: Pick<Balances, "known" | "bounded">,
  request: Request,
  least: number,
): Promise<number | null> {
  const { wallet } = clientOf(request);
  const known = balances.known(wallet);
  if (known !== null && known.free >= least) return known.free;
  try {
    return (await balances.bounded(wallet, request.receivedAt))?.free ?? null;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/**
 * Reads a chat request: JSON of at most `limit` bytes. What cannot be read is `invalid_request`. Refuses bodies whose parts are so many or so
 * deep that looking at them would hold up everybody else.
 */
export function readChat(bodies: Bodies, limit: LimitBody): RequestHandler {
  return async (request, response, next) => {
    refuseOtherTypes(request);
    if (request.is("application/json")) {
      const { bytes, free, keep, whileWaiting } = await receive(bodies, request, response, await limit(request));
      const parse = () => {
        keep(bytes.length * PARSED);
        const value = parseChatJson(bytes);
        const isAuthorized = request.headers[AUTHORIZATION_HEADER] !== undefined;
        request.bodyHash = isAuthorized ? sha256(bytes) : canonicalHash(value);
        free();
        return value;
      };
      const from = ownerOf(request);
      if (isWithin(QUICK, bytes)) request.body = parse();
      else {
        // Anybody can have any number of wallets without credits: they would take the turns of those who pay.
        const { refusal } = await limit(request, false);
        if (refusal !== undefined) throw refusal;
        const turns = bodies.turnsFor(bytes);
        response.once("finish", () => {
          // A repetition gets the answer that was paid before.
          if (response.statusCode === 200 && !response.hasHeader("idempotent-replayed")) turns.earned(from);
        });
        request.body = await whileWaiting((signal) => turns.run(from, signal, parse));
      }
    }
    next();
  };
}

const isWithin = (bound: { bytes: number; values: number }, body: Buffer): boolean =>
  body.length <= bound.bytes && jsonShapeFault(body, bound.values) === null;

/** Reads the body of any other route, as `readChat` does: JSON of at most `FORM_LIMIT` bytes, and of so few values that it is quick to parse. */
export function readForm(bodies: Bodies): RequestHandler {
  return async (request, response, next) => {
    refuseOtherTypes(request);
    if (request.is("application/json")) {
      const { bytes, keep } = await receive(bodies, request, response, { bytes: FORM_LIMIT });
      keep(bytes.length * PARSED);
      request.body = parseJson(bytes, QUICK.values);
    }
    next();
  };
}

/** Parses a request's body with `read`. The body itself is forgotten and its memory no longer counted, because the route may wait for long. */
export function takeBody<T>(request: Request, read: (body: unknown) => T): T {
  try {
    return read(request.body);
  } finally {
    request.body = undefined;
    // A request without a body has nothing to keep.
    request.kept?.keep(0);
  }
}

/** Receives a body. It counts in the budget until its request is answered and its job is over, which can be after the client hung up. */
async function receive(
  bodies: Bodies,
  request: Request,
  response: Response,
  { bytes: limit, refusal }: BodyLimit,
): Promise<ReadBody> {
  const limits = { limit, budget: bodies.budget, from: ownerOf(request) };
  const read = await readRequestBody(request, limits).catch((error) => {
    throw refusal !== undefined && error instanceof BodyRefused && error.fault === "too_large" ? refusal : error;
  });
  let over: Promise<unknown> = Promise.resolve();
  onceAnswered(response, () => {
    request.body = undefined;
    over.then(read.release, read.release);
  });
  const { keep, whileWaiting } = read;
  request.kept = {
    keep,
    whileWaiting,
    until: (promise) => {
      over = promise;
    },
  };
  return read;
}

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest();

/** As `parseJson`, with all digits of a `seed`. */
export function parseChatJson(bytes: Buffer): unknown {
  return withExactSeed(parseJson(bytes), bytes);
}

/** Throws `invalid_request` that says where the text is no JSON, or what there is too much of. */
function parseJson(bytes: Buffer, maxValues?: number): unknown {
  const reason = jsonShapeFault(bytes, maxValues);
  if (reason !== null) throw new ApiError("invalid_request", `The body ${reason}.`);
  if (bytes.length === 0) return {};
  const text = new TextDecoder().decode(bytes);
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser's message quotes the body; of it, only the place is passed on.
    const found = / at position (\d+)/.exec((error as Error).message)?.[1];
    const where = found === undefined ? "" : ` at ${placeIn(text, Number(found))}`;
    throw new ApiError(
      "invalid_request",
      `The body is not valid JSON${where}: check its quotes, commas and brackets, and that it is not cut off.`,
    );
  }
}

/** Reads a text again where its `seed` is an integer that a double cannot hold: that becomes a bigint with all of its digits. */
function withExactSeed(value: unknown, text: Buffer): unknown {
  const { seed } = Object(value);
  if (!Number.isInteger(seed) || Number.isSafeInteger(seed)) return value;
  const seeds = new Map<unknown, bigint>();
  const note = function (this: unknown, key: string, one: unknown, { source }: { source: string }) {
    if (key === "seed" && Number.isInteger(one))
      seeds.set(this, BigInt(/^-?\d+$/.test(source) ? source : (one as number)));
    return one;
  };
  const again = JSON.parse(new TextDecoder().decode(text), note as Parameters<typeof JSON.parse>[1]);
  return { ...again, seed: seeds.get(again) };
}

/** `line 3, column 7`. */
function placeIn(text: string, end: number): string {
  let line = 1;
  let start = 0;
  for (let at = text.indexOf("\n"); at !== -1 && at < end; at = text.indexOf("\n", start)) {
    line += 1;
    start = at + 1;
  }
  return `line ${line}, column ${end - start + 1}`;
}
