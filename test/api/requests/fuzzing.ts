import fc from "fast-check";
import { Pool } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ERROR_CODES } from "../../../api/errors.ts";
import { eventually } from "../../support/api-client.ts";
import { type Shot, shot } from "./hostile-requests.ts";
import { credits, type World } from "./world.ts";

const SHOTS = 20_000;
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

/** Property-based: whatever is sent, the answer is a proper one, says nothing of the inside, and nothing is charged. */
export function fuzzing(world: World): void {
  let pool: Pool;
  let before: Awaited<ReturnType<typeof state>>;

  // By id: jobs that the index has just got take the chain's order among themselves.
  const state = async () => {
    const { data, ...list } = (await world.api.get("/v1/jobs?limit=100")).body as {
      data: { id: string; status: string }[];
    };
    return { credits: await credits(world), list, jobs: data.toSorted((a, b) => (a.id < b.id ? -1 : 1)) };
  };

  beforeAll(async () => {
    pool = new Pool(world.stack.info.base_url, { connections: SALVO, headersTimeout: HUNG_MS, bodyTimeout: HUNG_MS });
    // What the files before this one started has its time to end.
    before = await eventually(state, ({ credits: { escrowed }, jobs }) => {
      return escrowed === 0 && jobs.every(({ status }) => /settled|failed/.test(status));
    });
  });
  afterAll(() => pool?.close());

  async function fire({ method, path, headers, body }: Shot): Promise<void> {
    const authorization = `Bearer ${world.stack.info.demo?.api_key}`;
    const answer = await pool.request({
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
    if (text.includes(world.stack.info.demo?.api_key as string)) return "an answer with the key in it";
    if (status < 400) return null;
    const leak = LEAKS.find((pattern) => pattern.test(text));
    if (leak) return `an answer that leaks ${leak}`;
    return method === "HEAD" || isErrorBody(text) ? null : "no error body";
  }

  describe("whatever is sent", () => {
    it("gets no 5xx, no hang, no leak, always the error body", { timeout: 180_000 }, async () => {
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
  });
}

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
