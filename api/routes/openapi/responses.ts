import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from "zod-openapi";
import { ERROR_GUIDE } from "../../docs/error-guide.ts";
import { ApiError, ERROR_CODES, type ErrorCode } from "../../errors.ts";
import { detailsExample, errorSchema } from "../../schemas/error.ts";
import { AUTHENTICATED, COMMON, JOB, some } from "./headers.ts";

/** The address of the documentation in examples. */
const EXAMPLE_DOCS = "http://127.0.0.1:4000/docs";

/** A code, or one of its statuses. */
export type ErrorCase = ErrorCode | { code: ErrorCode; status: number };

/** The errors that every authenticated route can answer. */
const ALWAYS: ErrorCode[] = [
  "invalid_request",
  "missing_api_key",
  "invalid_api_key",
  "key_suspended",
  "rate_limited",
  "internal_error",
  "service_unavailable",
];

/** The error responses of an operation: its own and those of every route, one entry a status. */
export function errorResponses(cases: readonly ErrorCase[] = [], aboutJob = false): ZodOpenApiResponsesObject {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const each of [...cases, ...ALWAYS]) {
    const code = typeof each === "string" ? each : each.code;
    const status = typeof each === "string" ? new ApiError(code, "").status : each.status;
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const errors = [...byStatus]
    .toSorted(([a], [b]) => a - b)
    .map(([status, codes]) => [status, answer(status, codes, aboutJob)]);
  return Object.fromEntries(errors);
}

function answer(status: number, codes: ErrorCode[], aboutJob: boolean): ZodOpenApiResponseObject {
  // A suspended key is refused before its wallet's balance is known; what a wallet itself forbids is not.
  const unknown = status === 401 || status === 429 || codes.every((code) => code === "key_suspended");
  const known = unknown ? COMMON : aboutJob && status >= 404 ? JOB : AUTHENTICATED;
  const retry = codes.some((code) => RETRIED.includes(code)) ? some("Retry-After") : {};
  const examples = Object.fromEntries(
    codes.map((code) => [code, { $ref: `#/components/examples/${exampleName(code, status)}` }]),
  );
  return {
    description: codes.map((code) => `\`${code}\`: ${ERROR_GUIDE[code].cause}`).join("\n\n"),
    headers: { ...known, ...retry, ...(status === 401 ? some("WWW-Authenticate") : {}) },
    content: { "application/json": { schema: errorSchema, examples } },
  };
}

const PARAMS: Partial<Record<ErrorCode, string>> = {
  invalid_request: "messages[2].role",
  model_not_found: "model",
  context_length_exceeded: "messages",
  authorization_invalid: "x-service-authorization",
};

/** Codes whose answers can say when to come back. */
const RETRIED = ERROR_CODES.filter((code) => detailsExample(code)?.["retry_after"] !== undefined);

/** `model_not_found` has two statuses. */
const exampleName = (code: ErrorCode, status: number) =>
  status === new ApiError(code, "").status ? code : `${code}_${status}`;

/** An example body for each code that an operation can answer with. */
export function errorExamples(): Record<string, { summary: string; value: unknown }> {
  // Only what is no operation is not found.
  const codes = ERROR_CODES.filter((code) => code !== "route_not_found");
  const cases = codes.map((code): [ErrorCode, number] => [code, new ApiError(code, "").status]);
  return Object.fromEntries(
    [...cases, ["model_not_found", 404] as [ErrorCode, number]].map(([code, status]) => [
      exampleName(code, status),
      { summary: `${status} ${code}`, value: example(code, status) },
    ]),
  );
}

function example(code: ErrorCode, status: number): object {
  const param = status === 404 && code === "model_not_found" ? "model_id" : PARAMS[code];
  const details = detailsExample(code);
  const error = new ApiError(code, ERROR_GUIDE[code].cause.replaceAll("`", ""), {
    status,
    ...(param === undefined ? {} : { param }),
    ...(details === undefined ? {} : { details }),
  });
  return error.body(EXAMPLE_DOCS);
}
