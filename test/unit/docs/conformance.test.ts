/**
 * The conformance tables in test/conformance/: what the specification says with the tests that show it. Every link must lead to
 * a test that exists, and nothing that the API has may be without a row.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "../../../api/errors.ts";
import { chatBodySchema } from "../../../api/routes/chat-request.ts";
import { jobsQuerySchema } from "../../../api/routes/jobs.ts";
import { HEADERS } from "../../../api/routes/openapi/headers.ts";
import { ROUTES } from "../../../api/routes/routes.ts";
import { accountSchema, jobSchema, modelSchema } from "../../../api/schemas/resources.ts";
import { JOB_STATES } from "../../../protocol/job-status.ts";
import { EVENT_NAMES } from "../../../webhooks/events.ts";
import { webhookSchema } from "../../../webhooks/receivers.ts";

const FOLDER = join(import.meta.dirname, "../../conformance");
const files = readdirSync(FOLDER).filter((name) => name.endsWith(".md"));
const rows = files.flatMap((file) =>
  readFileSync(join(FOLDER, file), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| ---") && !line.startsWith("| specification"))
    .map((line) => {
      const [what = "", tests = ""] = line.slice(2, -2).split(" | ");
      const links = [...tests.matchAll(/\[((?:[^\]]|\](?!\())+)\]\(([^)]+)\)/g)].map(([, title = "", path = ""]) => ({
        title: title.replaceAll("&#91;", "[").replaceAll("&#93;", "]"),
        path: join(FOLDER, path),
      }));
      return { file, what, links };
    }),
);
/** "Job: `id`, `status`" says "Job `id`; Job `status`". */
const spelledOut = (what: string) =>
  what.replace(/([^;]+): (`[^`]+`(?:, `[^`]+`)*)(?=;|$)/g, (_, subject: string, names: string) =>
    names
      .split(", ")
      .map((name) => `${subject.trim()} ${name}`)
      .join("; "),
  );
const text = rows.map(({ what }) => spelledOut(what)).join("\n");

/** Names that must be in a row: read from the code, so that what is added is missed here. */
const REQUIRED: [kind: string, names: string[]][] = [
  ["Job field", fieldsOf(jobSchema, "Job")],
  ["Account field", Object.keys(accountSchema.shape).map((name) => `Account \`${name}\``)],
  ["Model field", fieldsOf(modelSchema, "Model")],
  ["Webhook field", [...Object.keys(webhookSchema.shape), "secret"].map((name) => `Webhook \`${name}\``)],
  [
    "completion field",
    ["id", "object", "created", "model", "choices", "usage"].map((name) => `Chat completion \`${name}\``),
  ],
  ["job state", JOB_STATES.map((state) => `State \`${state}\``)],
  ["error code", ERROR_CODES.map((code) => `Code \`${code}\``)],
  [
    "status",
    ["400", "401", "402", "403", "404", "409", "422", "429", "500", "503", "504"].map((each) => `Status ${each}`),
  ],
  ["event", EVENT_NAMES.map((name) => `Event \`${name}\``)],
  [
    "header",
    Object.keys(HEADERS)
      .filter((name) => name.startsWith("x-service"))
      .map((name) => `Header \`${name}\``),
  ],
  ["endpoint", ROUTES.map(({ method, path }) => `${method.toUpperCase()} ${path}`)],
  ["list filter", Object.keys(jobsQuerySchema.shape).map((name) => `GET /v1/jobs \`${name}\``)],
  [
    "body field",
    Object.keys(chatBodySchema.shape)
      .filter((name) => !["stream_options", "max_completion_tokens"].includes(name))
      .map((name) => `POST /v1/chat/completions body \`${name}\``),
  ],
];

function fieldsOf(schema: { shape: Record<string, unknown> }, resource: string): string[] {
  return Object.entries(schema.shape).flatMap(([name, field]) => {
    const inner = (field as { shape?: Record<string, unknown> }).shape;
    return inner ? Object.keys(inner).map((each) => `${resource} \`${name}.${each}\``) : [`${resource} \`${name}\``];
  });
}

describe("the conformance tables", () => {
  it("have a row for everything that the specification's tables name and the code has", () => {
    for (const [kind, names] of REQUIRED) {
      expect(
        names.filter((name) => !text.includes(name)),
        kind,
      ).toEqual([]);
    }
  });

  it("link every row to tests that exist", () => {
    const contents = new Map<string, string>();
    const read = (path: string) => {
      if (!contents.has(path)) contents.set(path, existsSync(path) ? readFileSync(path, "utf8") : "");
      return contents.get(path) as string;
    };
    const broken = rows.flatMap(({ file, what, links }) => {
      if (links.length === 0) return [`${file}: ${what}: no test`];
      return links
        .filter(({ title, path }) => !read(path).includes(title))
        .map(({ title, path }) => `${file}: ${what}: ${path} has no "${title}"`);
    });
    expect(broken).toEqual([]);
  });
});
