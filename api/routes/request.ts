import type { Request, RequestHandler, Response } from "express";
import { ipKeyGenerator } from "express-rate-limit";
import { getAddress } from "viem";
import type { z } from "zod";
import { IPV6_CLIENT_BITS } from "../../shared/connections.ts";
import { sleep } from "../../shared/sleep.ts";
import type { Theme } from "../../shared/web-paths.ts";
import type { Keys } from "../account/keys.ts";
import type { Balances } from "../chain/balances.ts";
import { ApiError, type ErrorCode, quoted } from "../errors.ts";
import type { JobObject } from "../jobs/job-reader.ts";

export type Client = { wallet: `0x${string}`; keyCreatedAt: Date };

declare global {
  namespace Express {
    interface Request {
      /** Set by the request-id middleware. */
      requestId: string;
      /** When it arrived, `performance.now()`. */
      receivedAt: number;
      /** The same as a time. */
      arrivedAt: Date;
      /** Set by authentication; absent before it. */
      client?: Client;
    }
  }
}

/** The authenticated client of a request; a route that asks without authentication is a programming error. */
export function clientOf(request: Request): Client {
  if (request.client === undefined) throw new Error(`${request.path} is not behind authentication`);
  return request.client;
}

/** Light or dark where the reader has chosen one (`web/src/ui/theme.tsx`), else `system`. */
export const themeOf = ({ headers }: Request): Theme =>
  (/(?:^|; *)theme=(light|dark)(?:;|$)/.exec(headers.cookie ?? "")?.[1] as Theme | undefined) ?? "system";

/** Writes the chosen theme into a page, so that it never shows the other one first. */
export function inTheme(page: string, theme: Theme): string {
  const marked = page.replace(`data-chosen="${theme}"`, 'aria-current="true"');
  if (theme === "system") return marked;
  return marked
    .replace("<html", `<html data-theme="${theme}"`)
    .replace('content="light dark"', `content="${theme}"`)
    .replaceAll(/\(prefers-color-scheme: (\w+)\)/g, (_, one) => (one === theme ? "all" : "not all"));
}

/** The response headers of the specification; undefined ones are left out. */
type ServiceHeaders = {
  jobId?: string;
  escrowTx?: string | null;
  settlementTx?: string | null;
  worker?: string | null;
  creditsRemaining?: number | undefined;
};

export function setServiceHeaders(response: Response, headers: ServiceHeaders): void {
  const { jobId, escrowTx, settlementTx, worker, creditsRemaining } = headers;
  if (jobId) response.setHeader("x-service-job-id", jobId);
  if (escrowTx) response.setHeader("x-service-tx-hash", escrowTx);
  if (settlementTx) response.setHeader("x-service-settlement-tx", settlementTx);
  if (worker) response.setHeader("x-service-worker", getAddress(worker));
  if (creditsRemaining !== undefined) response.setHeader("x-service-credits-remaining", String(creditsRemaining));
}

export function setJobHeaders(response: Response, { id, on_chain, worker_address }: JobObject): void {
  const { escrow_tx: escrowTx, settlement_tx: settlementTx } = on_chain;
  setServiceHeaders(response, { jobId: id, escrowTx, settlementTx, worker: worker_address });
}

/** Calls back when a request has an answer, or its client has left. The answer itself can wait in its connection for minutes, behind earlier ones. */
export function onceAnswered(response: Response, callBack: () => void): void {
  if (response.closed || response.writableEnded) return callBack();
  const end = response.end.bind(response) as (...parts: unknown[]) => Response;
  response.end = (...parts: unknown[]) => {
    callBack();
    return end(...parts);
  };
  response.on("close", callBack);
}

/** A signal that aborts when the client has its answer, or has left. */
export function untilClosed(response: Response): AbortSignal {
  if (response.closed) return AbortSignal.abort();
  const closed = new AbortController();
  response.once("close", () => closed.abort());
  return closed.signal;
}

// ---------------------------------------------------------------- parameters

/** `["messages", 2, "role"]` → `messages[2].role`. */
function paramName(path: readonly PropertyKey[]): string {
  return path.reduce<string>((name, part) => {
    if (typeof part === "number") return `${name}[${part}]`;
    return name === "" ? String(part) : `${name}.${String(part)}`;
  }, "");
}

/** Parses `value` or throws an `invalid_request` that names the first offending field, what it must be and what it is. */
export function validate<T extends z.ZodType>(
  schema: T,
  value: unknown,
  code: ErrorCode = "invalid_request",
): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = deepest(result.error.issues[0] as z.core.$ZodIssue);
  const param = paramName(issue.path);
  const given = issue.path.reduce<unknown>((part, name) => Object(part)[name], value);
  const message = `${issue.message} (it is ${described(given, issue.code === "invalid_value")})`;
  throw new ApiError(
    code,
    param === "" ? `The body ${message}` : `${param}: ${message}`,
    param === "" ? {} : { param },
  );
}

/**
 * Parses the query of a list as `validate` does. Throws also for a parameter that the list does not have: a client that pages with another API's
 * (`starting_after`) would get the first page for ever.
 */
export function validateQuery<T extends z.ZodObject>(schema: T, query: Request["query"]): z.output<T> {
  const names = Object.keys(schema.shape);
  const unknown = Object.keys(query).find((name) => !names.includes(name));
  if (unknown === undefined) return validate(schema, query);
  const known = names.length === 0 ? "it takes none" : `it takes ${names.join(", ")}`;
  throw new ApiError("invalid_request", `This list has no query parameter ${quoted(unknown)}; ${known}.`, {
    param: unknown.slice(0, QUOTED),
  });
}

const QUOTED = 40;

/** Describes a value for an error message. A text is quoted only if it should be one of a few words: other texts may be secret. */
function described(value: unknown, isWord: boolean): string {
  if (value === undefined) return "missing";
  if (typeof value === "string") {
    return isWord && value.length <= QUOTED ? `'${value}'` : `a text of ${value.length} characters`;
  }
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** In a union the branch that came furthest, or that has the right type, tells more than "no branch matched". */
function deepest(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "invalid_union") return issue;
  const isRightType = (one: z.core.$ZodIssue) => Number(one.code !== "invalid_type");
  const order = (a: z.core.$ZodIssue, b: z.core.$ZodIssue) =>
    b.path.length - a.path.length || isRightType(b) - isRightType(a);
  const inner = issue.errors.flat().toSorted(order)[0];
  if (inner === undefined || (inner.path.length === 0 && !isRightType(inner))) return issue;
  return { ...deepest(inner), path: [...issue.path, ...inner.path] };
}

/** Longest path that is logged or quoted, characters. Those of the API are shorter. */
const LONGEST_PATH = 200;

/** A request's path, or its beginning, without the query: cursors and filters are the client's business. */
export function pathOf({ originalUrl }: Pick<Request, "originalUrl">): string {
  const path = originalUrl.split("?", 1)[0] as string;
  return path.length > LONGEST_PATH ? `${path.slice(0, LONGEST_PATH)}…` : path;
}

/** Whom a request is from. Of an IPv6 address only what a client does not choose. */
export function addressOf({ ip = "unknown" }: Pick<Request, "ip">): string {
  return ipKeyGenerator(ip, IPV6_CLIENT_BITS);
}

/** Whose share a request takes of what all share: its wallet's, or its address's where nobody has authenticated. */
export const ownerOf = (request: Request): string => request.client?.wallet ?? addressOf(request);

// ---------------------------------------------------------------- the key

type KnownBalances = Pick<Balances, "bounded" | "known">;

/**
 * `Authorization: Bearer <API_KEY>` on every request below it (specification, "Authentication"). The key is looked up each
 * time, so that a revocation holds for the very next request on every gateway.
 */
export function authenticate(keys: Pick<Keys, "owner">, balances: KnownBalances): RequestHandler {
  return async (request, response, next) => {
    const header = request.headers.authorization;
    if (header === undefined || header.trim() === "") {
      throw new ApiError("missing_api_key", "No API key: send 'Authorization: Bearer <API_KEY>'.");
    }
    const [scheme, key, ...rest] = header.trim().split(/\s+/);
    if (scheme?.toLowerCase() !== "bearer" || key === undefined || rest.length > 0) {
      throw new ApiError("invalid_api_key", "The Authorization header must be 'Bearer <API_KEY>'.");
    }
    const owner = await keys.owner(key);
    if (owner === null) {
      throw new ApiError(
        "invalid_api_key",
        "The API key does not exist or was revoked; create one in the web application's Settings.",
      );
    }
    if (owner.suspended)
      throw new ApiError(
        "key_suspended",
        "The API key is suspended for a policy violation; ask the operator of this service.",
      );
    request.client = { wallet: getAddress(owner.wallet), keyCreatedAt: owner.createdAt };
    // A first value for every answer, errors included; routes that change the balance set it again.
    setServiceHeaders(response, { creditsRemaining: await remaining(balances, owner.wallet) });
    next();
  };
}

/** A header is not worth a longer wait. */
const BALANCE_WAIT_MS = 500;

/**
 * The balance, or nothing while the chain cannot be read or is read for too many headers: the routes that need the balance read it, and say so where
 * they cannot.
 */
async function remaining(balances: KnownBalances, wallet: string): Promise<number | undefined> {
  try {
    const balance = await Promise.race([balances.bounded(wallet), sleep(BALANCE_WAIT_MS).then(() => undefined)]);
    return (balance ?? balances.known(wallet))?.free;
  } catch {
    // The head's own watch logs the outage, once an interval and not once a request.
    return balances.known(wallet)?.free;
  }
}
