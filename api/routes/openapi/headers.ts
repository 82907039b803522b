import { z } from "zod";
import { createSchema } from "zod-openapi";
import { address, count, jobId, txHash } from "../../schemas/primitives.ts";
import { tidy } from "./tidy.ts";

const header = (description: string, schema: z.ZodType) => ({
  description,
  schema: createSchema(schema, { opts: { override: tidy } }).schema,
});
const text = z.string();

/** Every response header of the API, by name (specification, "Response headers"). */
export const HEADERS: Record<string, ReturnType<typeof header>> = {
  "x-request-id": header("Names this request in the service's logs: quote it when you report a fault.", z.uuid()),
  "x-service-credits-remaining": header(
    "Free credits after the request; on every answer to a valid key. Up to a second old; what other jobs give back can be missing until " +
      "their settlements are mined. While very many wallets ask, it can be older or missing. `GET /v1/account` reads the chain.",
    count("Credits."),
  ),
  "x-service-job-id": header("The job that the answer concerns; present from its escrow on.", jobId),
  "x-service-tx-hash": header("Transaction that locked the job's credits.", txHash),
  "x-service-settlement-tx": header(
    "Transaction that settled the job, once it is sent. A stream carries it as an HTTP trailer after `[DONE]`.",
    txHash,
  ),
  "x-service-worker": header("Address of the worker that has, or had, the job.", address),
  "Indexed-Until": header(
    "Only while the index of the chain is behind: the time (ISO 8601) up to which the chain is in this answer, or `never`. Of what came " +
      "later it has what this service did itself; not, for example, deposits and rulings.",
    text,
  ),
  RateLimit: header("What is left of the burst limit, as in the IETF draft.", text),
  "RateLimit-Policy": header("The burst limit: requests in a window of seconds.", text),
  "Retry-After": header("Seconds to wait before a repetition.", z.int().min(0)),
  "WWW-Authenticate": header("`Bearer`: how to send a key; with `error` when one was sent.", text),
  "Server-Timing": header(
    "Milliseconds the request spent in `prepare`, `queue` (for a place at a worker), `lock` (the chain) and `first-token`, and before a plain reply in `answer` (the rest of it), " +
      "`record` (writing it down) and `settlement` (until its transaction is signed); not on replays.",
    text,
  ),
  "Idempotent-Replayed": header("`true` when an earlier answer is given again; nothing is charged.", z.literal("true")),
};

/** Headers of an answer, by name: references to `HEADERS`. */
export type Headers = Record<string, { $ref: string }>;

const ref = (name: string) => ({ $ref: `#/components/headers/${name}` });
const refs = (...names: string[]): Headers => Object.fromEntries(names.map((name) => [name, ref(name)]));

/** On every answer below `/v1`. */
export const COMMON = refs("x-request-id", "RateLimit", "RateLimit-Policy");
/** On every answer to a valid key. */
export const AUTHENTICATED = { ...COMMON, ...refs("x-service-credits-remaining") };
/** On answers that concern one job. */
export const JOB = {
  ...AUTHENTICATED,
  ...refs("x-service-job-id", "x-service-tx-hash", "x-service-settlement-tx", "x-service-worker"),
};
/** On answers that are read from the index of the chain. */
export const INDEXED = refs("Indexed-Until");
export const some = refs;
