import fc from "fast-check";
import { LARGE_MODEL, MODEL } from "./world.ts";

/** One request as it goes on the wire. `valid`: it may well be answered with 200. */
export type Shot = { method: string; path: string; headers: Record<string, string>; body?: string };

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

/** A valid body with one thing wrong in it: never to be answered, let alone charged. */
const wrong = fc
  .oneof(
    fc
      .tuple(
        fc.constantFrom("temperature", "top_p", "frequency_penalty", "presence_penalty"),
        fc.oneof(
          fc.double({ min: 2.001, noNaN: true, noDefaultInfinity: true }),
          fc.double({ max: -2.001, noNaN: true, noDefaultInfinity: true }),
          nasty,
          fc.boolean(),
          fc.array(fc.integer()),
          fc.object(),
        ),
      )
      .map(([field, value]) => ({ ...base, [field]: value })),
    fc
      .tuple(
        fc.constantFrom("max_tokens", "max_completion_tokens"),
        fc.oneof(fc.integer({ max: 0 }), fc.constant(0.5), nasty, fc.boolean(), fc.object()),
      )
      .map(([field, value]) => ({ ...base, [field]: value })),
    fc
      .tuple(fc.constantFrom("stream", "seed", "stream_options"), fc.oneof(nasty, fc.constant(0.5), fc.array(nasty)))
      .map(([field, value]) => ({ ...base, [field]: value })),
    fc
      .oneof(
        fc.integer(),
        fc.object(),
        fc.array(fc.oneof(fc.integer(), fc.constant(null)), { minLength: 1 }),
        fc.boolean(),
      )
      .map((stop) => ({ ...base, stop })),
    fc
      .oneof(
        nasty,
        fc.integer(),
        fc.object(),
        fc.constant([]),
        fc.array(fc.oneof(nasty, fc.integer(), fc.constant(null)), { minLength: 1 }),
      )
      .map((messages) => ({ ...base, messages })),
    fc
      .oneof(
        nasty.filter((role) => !["system", "user", "assistant"].includes(role)),
        fc.integer(),
        fc.constant(null),
      )
      .map((role) => ({ ...base, messages: [user, { role, content: "x" }] })),
    fc
      .oneof(
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.constant([]),
        fc.array(fc.oneof(fc.integer(), nasty), { minLength: 1 }),
      )
      .map((content) => ({ ...base, messages: [{ role: "user", content }] })),
    fc
      .tuple(
        fc.constantFrom("n", "tools", "response_format", "logprobs", "logit_bias", "functions", "audio"),
        fc.oneof(
          fc.integer({ min: 2 }),
          nasty.filter((text) => text.length > 0),
        ),
      )
      .map(([field, value]) => ({ ...base, [field]: value })),
    fc
      .oneof(
        nasty.filter((model) => model !== MODEL && model !== LARGE_MODEL),
        fc.integer(),
        fc.constant(null),
        fc.object(),
      )
      .map((model) => ({ ...base, model })),
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

const JSON_HEADERS = { "content-type": "application/json" };
const post =
  (path: string) =>
  (body: string): Shot => ({ method: "POST", path, headers: JSON_HEADERS, body });
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
      headers: method === "POST" ? JSON_HEADERS : {},
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
  .map(
    ([name, value, body]): Shot => ({ method: "POST", path: CHAT, headers: { ...JSON_HEADERS, [name]: value }, body }),
  );

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
export const shot: fc.Arbitrary<Shot> = fc.oneof(
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
