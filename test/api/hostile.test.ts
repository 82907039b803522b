/** Clients that mean harm: whatever they send, the gateway stays up, serves the others, gives nothing away and charges nothing. */
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import fc from "fast-check";
import { Pool } from "undici";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { ERROR_CODES } from "../../api/errors.ts";
import { chat, eventually, JSON_TYPE } from "../support/api-client.ts";
import { chainReader } from "../support/chain-reader.ts";
import { LARGE_MODEL, MODEL } from "../support/service-stack.ts";
import { openService } from "./support/service.ts";

const { stack, client } = await openService(10_000);
/** What was in the gateway's log before. */
const logged = readFileSync(join(stack.dataDir, "logs", "api.log"), "utf8").length;

describe("a client", () => {
  afterEach(async () => {
    // Every test leaves a gateway that serves.
    expect((await client.api.post("/v1/chat/completions", chat(MODEL, "Hello"))).status).toBe(200);
  });

  it("of HTTP/1.0 gets its stream, without trailers", async () => {
    const body = JSON.stringify(chat(MODEL, "Hello", { stream: true }));
    const head = `POST /v1/chat/completions HTTP/1.0\r\nauthorization: Bearer ${client.apiKey}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
    const { port, hostname } = new URL(stack.info.base_url);
    const socket = connect(Number(port), hostname, () => socket.write(head + body));
    const text = await textOf(socket);
    expect(text).toMatch(/^HTTP\/1\.[01] 200/);
    expect(text).toContain("data: [DONE]");
  });

  it("with a path that is no text gets 400", async () => {
    const { status, body } = await client.api.get("/v1/jobs/%E0%A4%A");
    expect([status, body.error.code]).toEqual([400, "invalid_request"]);
  });
});

/** HOSTILE_REQUESTS chooses another number, for a long run. */
const SHOTS = Number(process.env["HOSTILE_REQUESTS"] ?? 1_500);
/** Requests at a time, over as many kept connections. */
const SALVO = 50;
/** A request without an answer after this is taken for hung. */
const HUNG_MS = 60_000;

/** Of an answer, what tells about the inside of the service: stack traces, SQL, paths, addresses of its parts. */
const LEAKS = [
  /\n\s+at /,
  /\.ts:\d/,
  /node_modules/,
  /node:internal/,
  /syntax error at/i,
  /relation "/,
  /invalid byte sequence/i,
  /violates/,
  /postgres(ql)?:\/\//,
  /ECONN|ENOENT/,
  /gateway\.(job|api_key)/,
  /ZodError|TypeError|RangeError|SyntaxError/,
  /Unexpected token|JSON at position/,
];

// By id: jobs that the index has just got take the chain's order among themselves.
const state = async () => {
  const { data, ...list } = (await client.api.get("/v1/jobs?limit=100")).body as {
    data: { id: string; status: string }[];
  };
  const { free, escrowed } = await chainReader(stack).account(client.account.address);
  return { free, escrowed, list, jobs: data.toSorted((a, b) => (a.id < b.id ? -1 : 1)) };
};

let before: Awaited<ReturnType<typeof state>>;

/** Connections that are kept, as many as there are requests at a time. */
const connections = new Pool(stack.info.base_url, {
  connections: SALVO,
  headersTimeout: HUNG_MS,
  bodyTimeout: HUNG_MS,
});
afterAll(() => connections.close());

async function fire({ method, path, headers, body }: Shot): Promise<void> {
  const authorization = `Bearer ${client.apiKey}`;
  const answer = await connections.request({
    method: method as "GET",
    path,
    headers: { authorization, ...headers },
    ...(body === undefined ? {} : { body }),
  });
  const text = await answer.body.text();
  const problem = judge(method, answer.statusCode, answer.headers, text);
  if (problem !== null) {
    const sent = JSON.stringify({ method, path, headers, body: body?.slice(0, 1_000) });
    throw new Error(`${problem}\nsent: ${sent}\ngot: ${answer.statusCode} ${text.slice(0, 1_000)}`);
  }
}

function judge(method: string, status: number, headers: Record<string, unknown>, text: string): string | null {
  if (status >= 500) return "a 5xx";
  if (headers["x-request-id"] === undefined) return "an answer without request id";
  if (text.includes(client.apiKey)) return "an answer with the key in it";
  if (status < 400) return null;
  const leak = LEAKS.find((pattern) => pattern.test(text));
  if (leak) return `an answer that leaks ${leak}`;
  return method === "HEAD" || isErrorBody(text) ? null : "no error body";
}

describe("whatever is sent", () => {
  it("gets no 5xx, no hang, no leak, always the error body", { timeout: 600_000 }, async () => {
    // What the tests before this one started has its time to end.
    before = await eventually(state, ({ escrowed, jobs }) => {
      return escrowed === 0 && jobs.every(({ status }) => /settled|failed/.test(status));
    });
    await fc.assert(
      fc.asyncProperty(fc.array(shot, { minLength: SALVO, maxLength: SALVO }), async (salvo) => {
        await Promise.all(salvo.map(fire));
      }),
      // A failure names its request; shrinking salvos would only take time.
      { numRuns: SHOTS / SALVO, endOnFailure: true },
    );
  });

  it("charges nothing and leaves no job behind", async () => {
    expect(await state()).toEqual(before);
  });

  it("brings about no error of the gateway's own", () => {
    const lines = readFileSync(join(stack.dataDir, "logs", "api.log"), "utf8")
      .slice(logged)
      .split("\n");
    const levels = lines.filter((line) => line.startsWith("{")).map((line) => /"level":(\d+)/.exec(line)?.[1]);
    expect(levels.length).toBeGreaterThan(0);
    expect(levels.filter((level) => Number(level) >= 50)).toEqual([]);
  });
});

function isErrorBody(text: string): boolean {
  try {
    const { error, ...rest } = JSON.parse(text);
    const { code, message, type, param, docs, details: _, ...more } = error;
    const strings = [message, type, docs].every((value) => typeof value === "string" && value !== "");
    const known = ERROR_CODES.includes(code) && docs.endsWith(`#${code}`);
    const nothingElse = Object.keys(rest).length === 0 && Object.keys(more).length === 0;
    return strings && known && nothingElse && (param === null || typeof param === "string");
  } catch {
    // Not JSON, or not of this shape: that is the finding.
    return false;
  }
}

/** One request as it goes on the wire. `valid`: it may well be answered with 200. */
type Shot = { method: string; path: string; headers: Record<string, string>; body?: string };

/** Text that breaks parsers, query builders, paths and templates. */
const NASTY = [
  "",
  " ",
  "null",
  "undefined",
  "NaN",
  "-1",
  "1e309",
  "' OR 1=1 --",
  '"; DROP TABLE job; --',
  "\\",
  "%00",
  "%",
  "../../../../etc/passwd",
  "..%2f..%2fetc%2fpasswd",
  "<script>alert(1)</script>",
  "#{7*7}",
  "{{7*7}}",
  "__proto__",
  "constructor",
  "toString",
  "job_",
  `job_${"0".repeat(32)}`,
  `job_${"f".repeat(32)}`,
  "wh_0",
  "\u0000",
  "\u202e\u0000\uffff",
  "\ud800",
  "💥".repeat(50),
  "a".repeat(3_000),
  "٣",
  MODEL,
];
const nasty = fc.oneof(fc.constantFrom(...NASTY), fc.string({ unit: "binary", maxLength: 40 }));
/** The same as part of a path or query. */
const encoded = nasty.map((text) => encodeURIComponent(text.toWellFormed()));
/** What Node lets into a header. */
const headerText = nasty.map((text) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, "?"));

const user = { role: "user", content: "Hello" };
const base = { model: MODEL, messages: [user] };

/** A valid body in which one of these fields has a value of these. */
const withWrong = (fields: string[], ...values: fc.Arbitrary<unknown>[]) =>
  fc.tuple(fc.constantFrom(...fields), fc.oneof(...values)).map(([field, value]) => ({ ...base, [field]: value }));
const outside = { noNaN: true, noDefaultInfinity: true };
const empty = fc.constant([]);
const nothing = fc.constant(null);
const listOf = (...entries: fc.Arbitrary<unknown>[]) => fc.array(fc.oneof(...entries), { minLength: 1 });
const anotherRole = nasty.filter((role) => !["system", "user", "assistant"].includes(role));
const anotherModel = nasty.filter((model) => model !== MODEL && model !== LARGE_MODEL);

/** A valid body with one thing wrong in it: never to be answered, let alone charged. */
const wrong = fc
  .oneof(
    withWrong(
      ["temperature", "top_p", "frequency_penalty", "presence_penalty"],
      fc.double({ min: 2.001, ...outside }),
      fc.double({ max: -2.001, ...outside }),
      nasty,
      fc.boolean(),
      fc.array(fc.integer()),
      fc.object(),
    ),
    withWrong(
      ["max_tokens", "max_completion_tokens"],
      fc.integer({ max: 0 }),
      fc.constant(0.5),
      nasty,
      fc.boolean(),
      fc.object(),
    ),
    withWrong(["stream", "seed", "stream_options"], nasty, fc.constant(0.5), fc.array(nasty)),
    withWrong(["stop"], fc.integer(), fc.object(), listOf(fc.integer(), nothing), fc.boolean()),
    withWrong(["messages"], nasty, fc.integer(), fc.object(), empty, listOf(nasty, fc.integer(), nothing)),
    fc.oneof(anotherRole, fc.integer(), nothing).map((role) => ({ ...base, messages: [user, { role, content: "x" }] })),
    fc
      .oneof(fc.integer(), fc.boolean(), nothing, empty, listOf(fc.integer(), nasty))
      .map((content) => ({ ...base, messages: [{ role: "user", content }] })),
    withWrong(
      ["n", "tools", "response_format", "logprobs", "logit_bias", "functions", "audio"],
      fc.integer({ min: 2 }),
      nasty.filter((text) => text.length > 0),
    ),
    withWrong(["model"], anotherModel, fc.integer(), nothing, fc.object()),
  )
  .map((body) => JSON.stringify(body));

/** Bodies that are no request at all. */
const noRequest = fc.oneof(
  fc.json(),
  nasty,
  fc.nat(60).map((cut) => JSON.stringify(base).slice(0, cut)),
  fc.integer({ min: 1, max: 400 }).map((depth) => "[".repeat(depth * 100)),
  fc.integer({ min: 1, max: 400 }).map((depth) => `{"model":${"[".repeat(depth)}${"]".repeat(depth)}}`),
  fc.constant('{"model":"a","model":"b","__proto__":{"x":1},"constructor":{"prototype":{}}}'),
);

const post =
  (path: string) =>
  (body: string): Shot => ({ method: "POST", path, headers: JSON_TYPE, body });
const CHAT = "/v1/chat/completions";

const queries = fc
  .array(
    fc.tuple(
      fc.constantFrom("limit", "before", "after", "status", "model", "x", "limit[]", "limit[a]", "__proto__"),
      encoded,
    ),
    { maxLength: 5 },
  )
  .map(
    (pairs): Shot => ({
      method: "GET",
      path: `/v1/jobs?${pairs.map(([name, value]) => `${name}=${value}`).join("&")}`,
      headers: {},
    }),
  );

const paths = fc
  .tuple(
    fc.constantFrom("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"),
    fc.constantFrom(
      "/v1/jobs/*",
      "/v1/jobs/*/output",
      "/v1/jobs/*/dispute",
      "/v1/models/*",
      "/v1/webhooks/*",
      "/v1/*",
      "/v1/*/*",
      "/*",
      "/docs/*",
    ),
    encoded,
  )
  .map(
    ([method, path, id]): Shot => ({
      method,
      path: path.replaceAll("*", id),
      headers: method === "POST" ? JSON_TYPE : {},
      ...(method === "POST" ? { body: "{}" } : {}),
    }),
  );

const headers = fc
  .tuple(
    fc.constantFrom(
      "content-type",
      "content-encoding",
      "idempotency-key",
      "x-forwarded-for",
      "accept",
      "accept-encoding",
      "origin",
      "x-request-id",
      "cookie",
      "forwarded",
    ),
    fc.oneof(
      headerText,
      fc.constantFrom(
        "application/json; charset=utf-99",
        "gzip",
        "br, gzip",
        "deflate",
        "text/event-stream",
        "[::1]",
        "203.0.113.9, 10.0.0.1",
      ),
    ),
    wrong,
  )
  // Only refused bodies: whatever the header does, nothing may be run.
  .map(([name, value, body]): Shot => ({ method: "POST", path: CHAT, headers: { ...JSON_TYPE, [name]: value }, body }));

const keys = fc
  .tuple(
    fc.constantFrom("", "Bearer ", "bearer\t", "Basic ", "Bearer svc_live_", "Bearer Bearer "),
    headerText,
    fc.constantFrom("/v1/account", "/v1/models", "/v1/jobs"),
  )
  .map(
    ([scheme, key, path]): Shot => ({
      method: "GET",
      path,
      headers: { authorization: `${scheme}${key}`.trim() || "x" },
    }),
  );

const disputes = fc
  .tuple(
    encoded,
    fc.oneof(
      noRequest,
      nasty.map((hash) => JSON.stringify({ received_output_hash: hash })),
    ),
  )
  .map(([id, body]) => post(`/v1/jobs/${id}/dispute`)(body));

const hooks = fc
  .record({
    url: fc.oneof(nasty, fc.constantFrom("http://a.test", "https://127.0.0.1", "https://[::1]", "ftp://x")),
    events: fc.oneof(fc.array(nasty), nasty),
    secret: nasty,
  })
  .map((body) => post("/v1/webhooks")(JSON.stringify(body)));

const oversized = fc
  .constantFrom("messages", "stop", "user")
  .map((field) => post(CHAT)(JSON.stringify({ ...base, [field]: "x".repeat(4_300_000) })));

/** Any of them; the large ones rarely. */
const shot: fc.Arbitrary<Shot> = fc.oneof(
  { weight: 120, arbitrary: wrong.map(post(CHAT)) },
  { weight: 60, arbitrary: noRequest.map(post(CHAT)) },
  { weight: 60, arbitrary: queries },
  { weight: 60, arbitrary: paths },
  { weight: 40, arbitrary: headers },
  { weight: 40, arbitrary: keys },
  { weight: 20, arbitrary: disputes },
  { weight: 20, arbitrary: hooks },
  { weight: 1, arbitrary: oversized },
);
