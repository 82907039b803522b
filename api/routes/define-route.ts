/** One declaration of an endpoint: its request, its answers and its handler. The router and the OpenAPI document are both made from it. */
import type { Request, RequestHandler, Response, Router } from "express";
import { z } from "zod";
import type { ZodOpenApiOperationObject } from "zod-openapi";
import type { IndexWatch } from "../chain/index-watch.ts";
import { takeBody } from "./json-body.ts";
import { AUTHENTICATED, type Headers, INDEXED } from "./openapi/headers.ts";
import { type ErrorCase, errorResponses } from "./openapi/responses.ts";
import { type Client, clientOf, validate, validateQuery } from "./request.ts";

/** The groups of operations, in the order in which the reference shows them. */
export const TAGS = {
  Chat: "Generated replies, plain or streamed.",
  Models: "What can be asked, and what it costs.",
  Jobs: "Every request as a job, with its transactions.",
  Account: "The balance.",
  Webhooks: "Endpoints of yours that receive events.",
  Events: "What those endpoints receive.",
};

/** The parts of an operation that go into the OpenAPI document as they are. */
type Documented = Required<Pick<ZodOpenApiOperationObject, "operationId" | "summary">> &
  Pick<ZodOpenApiOperationObject, "description" | "parameters"> & {
    tag: keyof typeof TAGS;
  };

type Success = {
  /** Default 200. */
  status?: number;
  description: string;
  headers?: Headers;
};

/** A validated request. */
type Received<Query extends z.ZodObject, Body extends z.ZodType> = {
  client: Client;
  /** The parameters of the path, decoded. */
  params: Record<string, string>;
  query: z.output<Query>;
  body: z.output<Body>;
  request: Request;
};

type Definition<Parts, Query extends z.ZodObject, Body extends z.ZodType, Answer extends z.ZodType> = Documented & {
  method: "get" | "post" | "delete";
  /** As OpenAPI writes it: `/v1/jobs/{job_id}`. */
  path: `/v1/${string}`;
  /** `params` describes those of the path. A query with a parameter that `query` does not have is refused. */
  request?: { params?: z.ZodObject; query?: Query; body?: Body };
  /** The answer of a request that succeeds. */
  response: Success & { schema: Answer };
  /** Codes that the operation has beside those of every route. */
  errors?: readonly ErrorCase[];
  /** True if the headers of its answers name the job that they concern. */
  aboutJob?: boolean;
  /** True if its answers come from the index of the chain, which can be behind: then they say up to when. */
  isIndexed?: boolean;
  /** Runs before the request is read, for example to bound how many are read at once. */
  before?: () => RequestHandler;
  /** Reads the request, calls one function of the parts it takes, and returns the body of the answer. */
  handler: (
    parts: Parts,
  ) => (received: Received<Query, Body>, response: Response) => z.input<Answer> | Promise<z.input<Answer>>;
};

/** An endpoint. `handlers` makes its Express handlers from the parts of a running gateway. */
export type Route<Parts> = {
  method: "get" | "post" | "delete";
  path: `/v1/${string}`;
  operation: ZodOpenApiOperationObject;
  isIndexed: boolean;
  handlers: (parts: Parts) => RequestHandler[];
};

/** The parts of a running gateway that several endpoints need together. */
export type PartsOf<Routes extends readonly Route<never>[]> = Routes extends readonly Route<infer Parts>[]
  ? Parts
  : never;

/**
 * An endpoint that takes and returns JSON. Its handler gets a validated request; what it returns is the body of the answer.
 *
 * @example
 * export const getAccount = defineRoute({
 *   method: "get",
 *   path: "/v1/account",
 *   operationId: "getAccount",
 *   tag: "Account",
 *   summary: "Get the account",
 *   response: { description: "The account of the key's wallet.", schema: accountSchema },
 *   handler: ({ balances }: { balances: Balances }) => async ({ client }) => account(balances, client.wallet),
 * });
 */
export function defineRoute<
  Parts,
  Answer extends z.ZodType,
  Query extends z.ZodObject = z.ZodObject<Record<never, never>>,
  Body extends z.ZodType = z.ZodUndefined,
>(definition: Definition<Parts, Query, Body, Answer>): Route<Parts> {
  const { method, path, request: schemas = {}, response: success, errors, aboutJob = false } = definition;
  const { isIndexed = false, before, handler } = definition;
  const { status = 200, description, headers = AUTHENTICATED, schema } = success;
  const operation = describe(definition, {
    responses: {
      [String(status)]: {
        description,
        headers: isIndexed ? { ...headers, ...INDEXED } : headers,
        content: { "application/json": { schema } },
      },
      ...errorResponses(errors, aboutJob),
    },
    ...(schemas.body && { requestBody: { required: true, content: { "application/json": { schema: schemas.body } } } }),
    requestParams: {
      ...(schemas.params && { path: schemas.params }),
      ...(schemas.query && { query: schemas.query }),
    },
  });
  const handlers = (parts: Parts): RequestHandler[] => {
    const answer = handler(parts);
    const handle: RequestHandler = async (request, response) => {
      const body = schemas.body && takeBody(request, (given) => validate(schemas.body as Body, given));
      const query = schemas.query && validateQuery(schemas.query, request.query);
      const received = { client: clientOf(request), params: request.params, query, body, request };
      const result = await answer(received as Received<Query, Body>, response);
      response.status(status).json(result);
    };
    return before === undefined ? [handle] : [before(), handle];
  };
  return { method, path, operation, isIndexed, handlers };
}

/** An endpoint that reads its body and writes its answer itself, because it streams. `operation` describes both. */
export function defineStreamingRoute<Parts>({
  method,
  path,
  handlers,
  ...definition
}: Documented &
  Pick<Route<Parts>, "method" | "path" | "handlers"> &
  Pick<ZodOpenApiOperationObject, "requestBody" | "responses">): Route<Parts> {
  const { requestBody, responses } = definition;
  const operation = describe(definition, { responses, ...(requestBody && { requestBody }) });
  return { method, path, operation, isIndexed: false, handlers };
}

function describe(
  { tag, operationId, summary, description, parameters }: Documented,
  rest: ZodOpenApiOperationObject,
): ZodOpenApiOperationObject {
  return {
    operationId,
    summary,
    tags: [tag],
    ...(description !== undefined && { description }),
    ...(parameters !== undefined && { parameters }),
    ...rest,
  };
}

/** A parameter of a path, as the reference shows it. */
export const pathParameter = (description: string, example: string) =>
  z.string().meta({ description, param: { example } });

/**
 * Adds `routes` to a router that is mounted at `/v1`, or where another API offers the same endpoints. `index` says how far the index of the chain
 * is behind.
 */
export function mount<Parts>(
  router: Router,
  routes: readonly Route<Parts>[],
  parts: Parts,
  index?: Pick<IndexWatch, "indexedUntil">,
): void {
  for (const { method, path, isIndexed, handlers } of routes) {
    const pattern = path.slice("/v1".length).replaceAll(/\{(\w+)\}/g, ":$1");
    const first = isIndexed && index !== undefined ? [tellIndexLag(index)] : [];
    router[method](pattern, ...first, ...handlers(parts));
  }
}

/**
 * Says on answers that come from the index what they lack: `indexed-until` is there while the index is behind, with the time
 * up to which the chain is in it. Of what came later such an answer has only what this service did itself.
 */
function tellIndexLag(index: Pick<IndexWatch, "indexedUntil">): RequestHandler {
  return (_request, response, next) => {
    const { indexedUntil } = index;
    if (indexedUntil !== null) response.setHeader("indexed-until", indexedUntil);
    next();
  };
}
