/** What becomes of an error on its way to the client. */
import express from "express";
import { pino } from "pino";
import { beforeEach, describe, expect, it } from "vitest";
import { RpcUnreachable } from "../../../../api/chain/rpc.ts";
import { ApiError, ERROR_CODES } from "../../../../api/errors.ts";
import { errorHandler, notFound } from "../../../../api/routes/errors.ts";
import { serve } from "../../support/serve.ts";

const THROWN: Record<string, unknown> = {
  bug: new TypeError("cannot read 'x' of undefined at /srv/api/secret.ts:12"),
  text: "just a text",
  nothing: undefined,
  sql: Object.assign(new Error('syntax error at or near "DROP"'), { code: "42601" }),
  nul: Object.assign(new Error("invalid byte sequence"), { code: "22021" }),
  database: Object.assign(new Error("connect ECONNREFUSED 10.0.0.7:5432"), { code: "ECONNREFUSED" }),
  "database's host": Object.assign(new Error("connect EHOSTUNREACH 10.0.0.7:5432"), { code: "EHOSTUNREACH" }),
  "database's name": Object.assign(new Error("getaddrinfo EAI_AGAIN db.internal:"), { code: "EAI_AGAIN" }),
  "database's password": Object.assign(new Error('password authentication failed for "x"'), { code: "28P01" }),
  "database that is a replica": Object.assign(new Error("in a read-only transaction"), { code: "25006" }),
  "database without room for its own files": Object.assign(new Error("could not write init file"), {
    code: "XX000",
    severity: "FATAL",
  }),
  chain: new RpcUnreachable("eth_call", new Error("http://user:password@node.internal:8545")),
};

let url: string;
const lines: string[] = [];

beforeEach(async () => {
  const app = express();
  app.get("/:what", (request) => {
    throw THROWN[request.params.what];
  });
  app.use(notFound, errorHandler("https://docs.test", pino({ level: "trace" }, { write: (line) => lines.push(line) })));
  url = await serve(app);
});

async function ask(what: string) {
  const response = await fetch(`${url}/${encodeURIComponent(what)}`);
  const text = await response.text();
  return {
    status: response.status,
    text,
    error: JSON.parse(text).error,
    retryAfter: response.headers.get("retry-after"),
  };
}

describe("an error", () => {
  it.each(["bug", "text", "sql"])(
    "a fault of ours: 500 internal_error, which says nothing of the inside (%s)",
    async (what) => {
      const { status, text, error } = await ask(what);
      expect(status).toBe(500);
      expect(error).toMatchObject({
        code: "internal_error",
        type: "api_error",
        docs: "https://docs.test/errors#internal_error",
      });
      expect(text).not.toMatch(/secret|syntax|DROP|just a text|TypeError|\.ts/);
      // The operator gets all of it.
      expect(lines.at(-1)).toContain('"level":50');
    },
  );

  it.each([
    "database",
    "database's host",
    "database's name",
    "database's password",
    "database that is a replica",
    "database without room for its own files",
    "chain",
  ])("of the %s: 503 service_unavailable with when to come back, and no address", async (what) => {
    const { status, text, error, retryAfter } = await ask(what);
    expect(status).toBe(503);
    expect(error).toMatchObject({ code: "service_unavailable", type: "capacity_error", details: { retry_after: 5 } });
    expect(retryAfter).toBe("5");
    expect(text).not.toMatch(/10\.0\.0\.7|password|internal:/);
  });

  it("of a NUL in a value is the client's: 400 invalid_request", async () => {
    expect(await ask("nul")).toMatchObject({ status: 400, error: { code: "invalid_request" } });
  });

  it("each code has its status and type", () => {
    const rows = ERROR_CODES.map((code) => new ApiError(code, "x")).map(({ code, status, type }) => [
      code,
      status,
      type,
    ]);
    expect(rows).toEqual([
      ["invalid_request", 400, "invalid_request_error"],
      ["model_not_found", 400, "invalid_request_error"],
      ["context_length_exceeded", 400, "invalid_request_error"],
      ["missing_api_key", 401, "authentication_error"],
      ["invalid_api_key", 401, "authentication_error"],
      ["insufficient_credits", 402, "payment_error"],
      ["daily_limit_reached", 402, "payment_error"],
      ["key_suspended", 403, "permission_error"],
      ["spending_frozen", 403, "permission_error"],
      ["operator_not_chosen", 403, "permission_error"],
      ["authorization_required", 403, "permission_error"],
      ["authorization_invalid", 403, "permission_error"],
      ["job_not_found", 404, "not_found_error"],
      ["output_not_found", 404, "not_found_error"],
      ["webhook_not_found", 404, "not_found_error"],
      ["route_not_found", 404, "not_found_error"],
      ["conflict", 409, "conflict_error"],
      ["job_not_settled", 409, "conflict_error"],
      ["dispute_already_open", 409, "conflict_error"],
      ["unprocessable", 422, "invalid_request_error"],
      ["request_failed_at_model", 422, "invalid_request_error"],
      ["dispute_window_expired", 422, "invalid_request_error"],
      ["rate_limited", 429, "rate_limit_error"],
      ["internal_error", 500, "api_error"],
      ["answer_withheld", 500, "api_error"],
      ["no_workers_available", 503, "capacity_error"],
      ["service_unavailable", 503, "capacity_error"],
      ["job_timeout", 504, "timeout_error"],
    ]);
  });
});
